// The serial reference of triangle: marks the neighbours of a vertex, and looks which of their neighbours are
// marked.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"

namespace rubato::apps {

/// For every vertex the triangles in which it has the first turn.
std::vector<std::uint64_t> serial_triangles(const Adjacency& graph, const PriorityOrder& priorities);

}  // namespace rubato::apps
