// The initial stack of a program: argc, argv, envp and the auxiliary vector.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/rng.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/elf_loader.hpp"
#include "chip/os/process.hpp"

namespace rubato::chip {

/// Fills the top of the stack [low, high); returns the initial sp, 16-byte aligned.
/// @throws UsageError if arguments and environment need more than a quarter of the stack.
Addr build_initial_stack(const ProcessOptions& options, const LoadedProgram& program, AddressSpace& memory,
                         Addr low, Addr high, Rng& rng);

}  // namespace rubato::chip
