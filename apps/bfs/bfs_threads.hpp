// Breadth-first search by threads, level by level: the software-only version, as PBFS (Leiserson and Schardl,
// SPAA 2010), whose bags are lists of the threads here.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

/// Levels from `source`, as serial_bfs(). threads >= 1.
std::vector<std::uint64_t> bfs_threads(const Graph& graph, std::uint32_t source, std::uint32_t threads);

}  // namespace rubato::apps
