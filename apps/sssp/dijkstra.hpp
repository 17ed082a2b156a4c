// The serial reference of sssp: Dijkstra's algorithm with a binary heap.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

inline constexpr std::uint64_t kUnset = std::numeric_limits<std::uint64_t>::max();

/// The length of a shortest path from `source` to every vertex; kUnset where there is none. source <
/// vertices.
std::vector<std::uint64_t> dijkstra(const Graph& graph, std::uint32_t source);

}  // namespace rubato::apps
