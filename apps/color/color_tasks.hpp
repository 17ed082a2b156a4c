// Greedy vertex colouring, largest degree first, as ordered tasks (Welsh and Powell, 1967; Espresso, Table
// III): in its turn a vertex takes the least colour that no earlier neighbour reported, and reports it to its
// later neighbours.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// The timestamp of the task that colours a vertex.
enum class ColorOrder : std::uint32_t {
  turns,    ///< its turn, which no other has
  degrees,  ///< the class of its degree; the last report of an earlier neighbour has it coloured
};

/// The colour of every vertex, from 0, computed by tasks of one type. Equals serial_coloring().
/// @param priorities  the largest degree first
std::vector<std::uint32_t> color(const Adjacency& graph, const PriorityOrder& priorities, TaskType type,
                                 ColorOrder order);

}  // namespace rubato::apps
