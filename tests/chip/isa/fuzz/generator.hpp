// Random instruction sequences (C5). A sequence starts from given registers, fcsr and scratch memory,
// runs forward only, touches nothing but the scratch memory, and never traps: what it leaves must be the same
// everywhere.
//
// Not generated, since the manual leaves it open or qemu 7.2 decides it by other means: stores between lr and
// sc, counters, reserved rounding modes.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"

namespace rubato::chip::isa::test {

/// State from which a sequence starts, and the state that it leaves, as they lie in guest memory.
struct Record {
  static constexpr unsigned kScratchWords = 32;
  std::array<std::uint64_t, 32> x, f;
  std::uint64_t fcsr;
  std::array<std::uint64_t, kScratchWords> scratch;
  std::array<std::uint64_t, 31> unused;
  bool operator==(const Record&) const = default;
};
static_assert(sizeof(Record) == 1024);

/// Registers that sequences read but never write: kBase points to the middle of the scratch memory (as do sp
/// and s0, which compressed instructions need), kLink to where the sequence began.
inline constexpr unsigned kBase = 30, kLink = 31;
inline constexpr unsigned kScratchMiddle = 128;  ///< bytes before and behind what the base registers point to

/// Instructions that stay together (an address and the access it is for); branches go to starts of items
/// only.
struct Item {
  std::vector<std::uint8_t> code;
  /// For a branch or jump over the next `skip` items: how to encode it for a distance in bytes.
  unsigned skip = 0;
  std::uint32_t (*encode)(std::uint32_t choice, std::int32_t distance) = nullptr;
  std::uint32_t choice = 0;
};

struct Sequence {
  Record start;
  std::vector<Item> items;

  /// The instructions of the first `items_used` items, jumps resolved.
  std::vector<std::uint8_t> code(std::size_t items_used) const;
};

/// Sequence `index` of `seed`: the same on every machine.
Sequence generate(std::uint64_t seed, std::uint64_t index);

}  // namespace rubato::chip::isa::test
