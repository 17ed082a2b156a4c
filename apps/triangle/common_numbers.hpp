// The inner loop of triangle counting, for tasks and threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "apps/common/priority_order.hpp"

namespace rubato::apps {

/// How many numbers are in both. Both ascend.
inline std::uint64_t common_numbers(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  std::uint64_t count = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint32_t left = a[i], right = b[j];
    count += left == right ? 1 : 0;
    i += left <= right ? 1 : 0;
    j += right <= left ? 1 : 0;
  }
  return count;
}

/// The triangles of vertex v with two of its later neighbours.
inline std::uint64_t triangles_at(const Adjacency& later, std::uint32_t v) {
  std::uint64_t count = 0;
  const auto neighbours = later.of(v);
  for (const std::uint32_t other : neighbours) count += common_numbers(neighbours, later.of(other));
  return count;
}

}  // namespace rubato::apps
