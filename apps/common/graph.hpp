// A directed graph with lengths in compressed sparse rows: the data that graph applications read, generate
// and walk.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace rubato::apps {

struct Arc {
  std::uint32_t head;
  std::uint32_t length;
  bool operator==(const Arc&) const = default;
};

inline constexpr std::uint64_t kMaxVertices = std::numeric_limits<std::uint32_t>::max() - 1;
inline constexpr std::uint64_t kMaxArcs = std::numeric_limits<std::uint32_t>::max() - 1;
inline constexpr std::uint64_t kMaxLength = std::numeric_limits<std::uint32_t>::max();

/// The arcs of vertex v are arcs[first_arc[v]] to arcs[first_arc[v + 1] - 1], in the order of the input.
/// first_arc.size() == vertices + 1; every head < vertices.
struct Graph {
  std::vector<std::uint32_t> first_arc{0};
  std::vector<Arc> arcs;
  std::uint32_t first_id = 1;  ///< how the input counts: vertex 0 is called this

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(first_arc.size() - 1); }
};

/// Position of a vertex, in units of the input; both ways at most kMaxCoordinate from 0.
struct Point {
  std::int32_t x;
  std::int32_t y;
  bool operator==(const Point&) const = default;
};
inline constexpr std::int32_t kMaxCoordinate = 1 << 30;

/// An arc on its way into a graph.
struct Edge {
  std::uint32_t tail;
  std::uint32_t head;
  std::uint32_t length;
};

/// Sorts by tail (counting sort: stable, so arcs keep their order). Every tail and head < vertices.
Graph make_graph(std::uint32_t vertices, const std::vector<Edge>& edges, std::uint32_t first_id);

}  // namespace rubato::apps
