// Triangle counting as tasks without timestamps (Espresso, Sec. VI-B and Table III): a task a vertex. How
// long tasks are differs by orders of magnitude, and all may run at once: there is nothing to speculate on,
// and a long task that speculates keeps those after it from committing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// For every vertex the triangles in which it has the first turn, counted by tasks of one type. Equals
/// serial_triangles().
std::vector<std::uint64_t> triangles(const Adjacency& graph, const PriorityOrder& priorities, TaskType type);

}  // namespace rubato::apps
