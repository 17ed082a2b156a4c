// Result of a route search, and its serial reference: A* with a binary heap.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "apps/astar/heuristic.hpp"
#include "apps/common/graph.hpp"

namespace rubato::apps {

inline constexpr std::uint64_t kNotSettled = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint32_t kNoTarget = std::numeric_limits<std::uint32_t>::max();

/// The distance g from `source` of every vertex settled, else kNotSettled. Settled are the vertices with g +
/// h at most the target's distance that are reached on paths not through the target. Without a target all
/// reachable ones are. The set does not depend on the order among equals. P. E. Hart, N. J.
/// Nilsson, B. Raphael, "A formal basis for the heuristic determination of minimum cost paths", 1968.
std::vector<std::uint64_t> serial_search(const Graph& graph, const Heuristic& estimate, std::uint32_t source,
                                         std::uint32_t target);

/// Every arc turned round.
Graph reversed(const Graph& graph);

}  // namespace rubato::apps
