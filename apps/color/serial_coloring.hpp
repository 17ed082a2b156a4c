// The serial reference of color: the greedy algorithm, vertex by vertex in the order of the turns.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"

namespace rubato::apps {

/// Every vertex, in order, takes the least colour (from 0) that none of its neighbours has.
std::vector<std::uint32_t> serial_coloring(const Adjacency& graph, const PriorityOrder& priorities);

}  // namespace rubato::apps
