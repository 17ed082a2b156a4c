// Greedy vertex colouring by threads: the software-only version, after Jones and Plassmann with a counter a
// vertex (Hasenplaugh, Kaler, Schardl and Leiserson, SPAA 2014).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"

namespace rubato::apps {

/// The colour of every vertex, from 0. Equals serial_coloring(). threads >= 1.
std::vector<std::uint32_t> color_threads(const Adjacency& graph, const PriorityOrder& priorities,
                                         std::uint32_t threads);

}  // namespace rubato::apps
