// How much storage a home has for entries, and what flask's filter takes of it (K55): rows of 16 bytes, as
// many in each way. A row is an entry of a directory (tag, sharers, owner) or a bucket of a filter.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "chip/config/config.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

inline constexpr std::uint32_t kEntryBytes = 16;

/// Rows of a way: entries for `capacity` times the lines that a tile may hold.
inline std::uint64_t entry_rows_of(const Config& config) {
  const bool is_exclusive = config.l2.inclusion == "exclusive";
  const std::uint64_t bytes = config.l2.size + (is_exclusive ? config.l1i.size + config.l1d.size : 0);
  const auto entries =
      static_cast<std::uint64_t>(config.coherence.capacity * static_cast<double>(bytes / kLineBytes));
  return std::bit_floor(std::max<std::uint64_t>(entries / config.coherence.ways, 1));
}

}  // namespace rubato::chip
