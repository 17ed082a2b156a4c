// Route search as ordered tasks: a task visits a vertex at f = g + h, the length so far and the estimate of
// the rest (Espresso, Table III).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/astar/heuristic.hpp"
#include "apps/common/graph.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// As serial_search(), by tasks of one type. source, target < vertices; the estimate is consistent.
std::vector<std::uint64_t> astar(const Graph& graph, const Heuristic& estimate, std::uint32_t source,
                                 std::uint32_t target, TaskType type);

}  // namespace rubato::apps
