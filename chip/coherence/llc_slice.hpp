// A tile's slice of the last-level cache and, in its tags, the directory of the lines whose home the tile is
// (C20). Invariant: the slice is inclusive, so a line that any tile holds is here.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/cache/set_array.hpp"
#include "chip/coherence/array_accesses.hpp"
#include "chip/coherence/versions.hpp"

namespace rubato::chip {

/// Invariants: owned: exactly `owner` holds the line, exclusive or modified, and sharers is 0; otherwise the
/// tiles that `sharers` covers hold it shared (exactly they, if the vector is exact).
struct DirectoryEntry {
  Cycle busy{};               ///< the line's previous transaction completes here
  std::uint64_t sharers = 0;  ///< see SharerGroups
  std::uint32_t owner = 0;
  bool owned = false;
  bool dirty = false;  ///< newer than memory
};
static_assert(sizeof(DirectoryEntry) + sizeof(std::uint64_t) <= 32, "with its tag");

struct LlcCounters {
  std::uint64_t hits = 0, misses = 0, evictions = 0, recalls = 0, write_backs = 0, invalidations = 0,
                forwards = 0, busy_cycles = 0;
};

/// A place in a slice or a directory of a protocol that keeps what it knows of the line elsewhere.
struct TokenPlace {};

struct LlcSlice {
  LlcSlice(std::uint64_t bytes, std::uint32_t ways, Versions& versions, std::pmr::memory_resource* memory)
      : array(bytes, ways, memory), version(versions.add_cache(array.slots())) {}
  Versions::Place place(std::uint32_t slot) const { return {version, slot}; }

  SetArray<DirectoryEntry> array;
  std::uint32_t version;
  LlcCounters counters;
  ArrayAccesses accesses;
  DirectoryRows directory;  ///< a row is a line's sharers and owner, beside its tag
};

}  // namespace rubato::chip
