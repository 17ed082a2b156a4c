// A static RISC-V executable that runs sequences one after another and writes what each leaves to standard
// output: start-up code, sequences, their start records and room for results in one ELF file, made without an
// assembler.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/chip/isa/fuzz/generator.hpp"

namespace rubato::chip::isa::test {

struct Image {
  std::uint64_t text_address, data_address, entry;
  std::vector<std::uint8_t> text, data;    ///< data: start records; behind it as many result records, zero
  std::uint64_t data_bytes;                ///< including results and variables
  std::vector<std::uint64_t> sequence_at;  ///< address of each sequence's first instruction

  std::vector<std::uint8_t> elf() const;
};

/// Each sequence with its first `items_used` items (all if larger than there are).
Image make_image(std::span<const Sequence> sequences, std::size_t items_used = ~std::size_t{0});

}  // namespace rubato::chip::isa::test
