// The serial reference of mis: the greedy algorithm, vertex by vertex in the order of the turns.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"

namespace rubato::apps {

/// 1 for the vertices of the set that takes every vertex, in order, which has no neighbour in it; else 0.
std::vector<std::uint8_t> serial_mis(const Adjacency& graph, const PriorityOrder& priorities);

}  // namespace rubato::apps
