// A line as signatures are asked for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// A line and, for Bloom filters, its H3::hash(): computed once for all tiles that are asked, and for the
/// later removal of the line from a set.
struct Probe {
  LineAddr line;
  std::uint64_t hash;
};

/// True if the line is one of them.
inline bool has_line(std::span<const Probe> set, LineAddr line) {
  return std::any_of(set.begin(), set.end(), [line](const Probe& p) { return p.line == line; });
}

}  // namespace rubato::chip
