// The three ways to run an image of sequences: our two interpreters, and qemu-riscv64 as the reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "tests/chip/isa/fuzz/image.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::chip::isa::test {

/// Results of all sequences. @throws Error if the run does not get to its end.
std::vector<Record> run_functional(const Image& image);
/// By the core's pipeline, with a tiny L1, and a memory system that refuses, delays and interrupts at random
/// (by `seed`): so that instructions are left and executed again at every place where that may happen.
std::vector<Record> run_timed(const Image& image, std::uint64_t seed);
std::vector<Record> run_qemu(const Image& image, const TemporaryFolder& folder);
bool qemu_exists();

}  // namespace rubato::chip::isa::test
