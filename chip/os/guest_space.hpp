// The memory of a process that another process has made, and the code that was decoded from it. The first
// process of a program has the program's own memory instead.
//
// Invariant: two spaces that are in use at a time have different numbers, and no number is the program's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/block_cache.hpp"
#include "chip/memory/address_space.hpp"

namespace rubato::chip {

struct GuestSpace {
  GuestSpace(std::uint32_t its_number, std::uint64_t bytes) : number(its_number), memory(bytes) {}

  const std::uint32_t number;  ///< above the bits of its lines in the memory system (K81)
  AddressSpace memory;
  isa::BlockCache blocks{memory};
};

}  // namespace rubato::chip
