// Shortest paths by threads: the software-only version, delta-stepping (Meyer and Sanders, 2003), the
// work-efficient form of Bellman-Ford.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

/// Distances from `source`, as dijkstra(). threads >= 1.
std::vector<std::uint64_t> sssp_threads(const Graph& graph, std::uint32_t source, std::uint32_t threads);

}  // namespace rubato::apps
