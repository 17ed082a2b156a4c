// Interpolation between the two keys that bound a node: the task tree's nodes and its peers' are searched so.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb {

/// Estimated position of `key` among `entries` entries that are spread evenly from `low` to `high`; low <=
/// key < high. 0 for the bounds of a reader that loses.
inline unsigned interpolate(Key low, Key high, Key key, unsigned entries) {
  // Halved, differences fit signed integers, which convert to floating point in one instruction.
  const auto part = static_cast<double>(static_cast<std::int64_t>((key - low) >> 1));
  const auto whole = static_cast<double>(static_cast<std::int64_t>((high - low) >> 1));
  const double fraction = part / whole;
  return fraction >= 0 && fraction < 1 ? static_cast<unsigned>(static_cast<int>(fraction * entries)) : 0;
}

}  // namespace rubato::apps::ycsb
