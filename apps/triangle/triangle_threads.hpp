// Triangle counting by threads: the software-only version, a parallel loop over the vertices as in Ligra
// (Shun and Blelloch, 2013).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"

namespace rubato::apps {

/// For every vertex the triangles in which it has the first turn. Equals serial_triangles(). threads >= 1.
std::vector<std::uint64_t> triangles_threads(const Adjacency& graph, const PriorityOrder& priorities,
                                             std::uint32_t threads);

}  // namespace rubato::apps
