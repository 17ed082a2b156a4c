// Vertices that tasks visit, each a cache line: conflicts between tasks are found line by line, so visits of
// different vertices never meet in one (Swarm, Sec. V-A), and a line moves only when its vertex is visited.
// The rest of the line holds arcs, so that most visits need no other line.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

inline constexpr std::size_t kLineBytes = 64;

struct alignas(kLineBytes) VertexLine {
  static constexpr std::uint32_t kOwnArcs = 6;

  tracked<std::uint64_t> state = 0;  ///< what visits change; nothing else changes
  std::uint32_t arc_count = 0;
  std::uint32_t first_arc = 0;  ///< in the graph, of a vertex with more than kOwnArcs
  Arc own_arcs[kOwnArcs] = {};

  /// `arcs`: those of the graph. Up to first_of() + arc_count.
  const Arc* first_of(const Arc* arcs) const { return arc_count <= kOwnArcs ? own_arcs : arcs + first_arc; }
};
static_assert(sizeof(VertexLine) == kLineBytes);

inline std::vector<VertexLine> vertex_lines(const Graph& graph, std::uint64_t initial_state) {
  std::vector<VertexLine> lines(graph.vertices());
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    VertexLine& line = lines[v];
    line.state = initial_state;
    line.first_arc = graph.first_arc[v];
    line.arc_count = graph.first_arc[v + 1] - graph.first_arc[v];
    if (line.arc_count > VertexLine::kOwnArcs) continue;
    for (std::uint32_t a = 0; a < line.arc_count; ++a) line.own_arcs[a] = graph.arcs[line.first_arc + a];
  }
  return lines;
}

}  // namespace rubato::apps
