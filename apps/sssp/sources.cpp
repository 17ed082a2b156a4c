// SPDX-License-Identifier: MIT
#include "apps/sssp/sources.hpp"

#include <string>

#include "apps/common/input_error.hpp"
#include "apps/common/priority_order.hpp"

namespace rubato::apps {

std::vector<std::uint32_t> search_sources(const Graph& graph, std::uint32_t first, std::uint64_t count,
                                          std::uint64_t seed) {
  std::vector<std::uint32_t> sources = {first};
  if (count == 1) return sources;
  for (const std::uint32_t v : random_order(graph.vertices(), seed).order) {
    if (sources.size() == count) break;
    if (v != first && graph.first_arc[v] != graph.first_arc[v + 1]) sources.push_back(v);
  }
  if (sources.size() < count) {
    throw InputError("--searches " + std::to_string(count) + ": beside --source, only " +
                     std::to_string(sources.size() - 1) + " of the graph's vertices have arcs to start with");
  }
  return sources;
}

}  // namespace rubato::apps
