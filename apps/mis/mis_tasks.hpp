// Maximal independent set in priority order, as ordered tasks (Espresso, Table III): at its turn, which is
// the task's timestamp, a vertex joins the set unless a neighbour excluded it before; then it excludes its
// later neighbours.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// 1 for every vertex of the set, else 0, computed by tasks of one type. Equals serial_mis().
std::vector<std::uint8_t> mis(const Adjacency& graph, const PriorityOrder& priorities, TaskType type);

}  // namespace rubato::apps
