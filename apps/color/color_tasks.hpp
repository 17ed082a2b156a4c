// Greedy vertex colouring, largest degree first, as ordered tasks (Welsh and Powell, 1967; Espresso, Table
// III): at its turn, which is the task's timestamp, a vertex takes the least colour that no earlier neighbour
// reported, and reports it to its later neighbours.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// The colour of every vertex, from 0, computed by tasks of one type. Equals serial_coloring().
std::vector<std::uint32_t> color(const Adjacency& graph, const PriorityOrder& priorities, TaskType type);

}  // namespace rubato::apps
