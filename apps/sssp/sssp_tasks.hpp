// Single-source shortest paths as ordered tasks (Espresso, Listing 1 and Sec. II-A): a task visits one vertex
// at its distance from the source; the first visit sets the distance and creates the visits of the
// neighbours.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// Distances from `source`, computed by tasks of one type; kUnset where there is no path. source < vertices.
std::vector<std::uint64_t> sssp(const Graph& graph, std::uint32_t source, TaskType type);

}  // namespace rubato::apps
