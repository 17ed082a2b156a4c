// The serial reference of bfs: breadth-first search with a first-in, first-out queue.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

inline constexpr std::uint64_t kUnreached = std::numeric_limits<std::uint64_t>::max();

/// The least number of arcs from `source` to every vertex; kUnreached where there is no path.
/// source < vertices.
std::vector<std::uint64_t> serial_bfs(const Graph& graph, std::uint32_t source);

}  // namespace rubato::apps
