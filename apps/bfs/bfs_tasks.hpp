// Breadth-first search as ordered tasks (Espresso, Table III): a task visits one vertex at its level, which
// is the task's timestamp; the first visit sets the level and creates the visits of the neighbours one level
// on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// Levels from `source`, computed by tasks of one type; kUnreached where there is no path. source < vertices.
/// The lengths of arcs mean nothing.
std::vector<std::uint64_t> bfs(const Graph& graph, std::uint32_t source, TaskType type);

}  // namespace rubato::apps
