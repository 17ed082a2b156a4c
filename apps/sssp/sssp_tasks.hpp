// Single-source shortest paths as ordered tasks (Espresso, Listing 1 and Sec. II-A): a task visits one vertex
// at its distance from the source; the first visit sets the distance and creates the visits of the
// neighbours.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"
#include "apps/common/vertex_lines.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// Searches of one graph, which outlives it, one after another: all in the same memory.
class ShortestPaths {
 public:
  explicit ShortestPaths(const Graph& graph);

  /// Distances from `source`, computed by tasks of one type; kUnset where there is no path. source <
  /// vertices.
  std::vector<std::uint64_t> from(std::uint32_t source, TaskType type);

 private:
  const Graph& graph_;
  std::vector<VertexLine> vertices_;
};

}  // namespace rubato::apps
