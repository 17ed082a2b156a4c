// SPDX-License-Identifier: MIT
// Looks back at neighbours, where the tasks tell them: a mistake in one is not repeated in the other.
#include "apps/mis/serial_mis.hpp"

#include <algorithm>

namespace rubato::apps {

std::vector<std::uint8_t> serial_mis(const Adjacency& graph, const PriorityOrder& priorities) {
  std::vector<std::uint8_t> is_member(graph.vertices(), 0);
  for (const std::uint32_t v : priorities.order) {
    const auto neighbours = graph.of(v);
    const bool is_free = std::none_of(neighbours.begin(), neighbours.end(),
                                      [&](std::uint32_t other) { return is_member[other] != 0; });
    is_member[v] = is_free ? 1 : 0;
  }
  return is_member;
}

}  // namespace rubato::apps
