// The input of ssca2: the edges of a directed graph of cliques, in random order. Vertices of a clique have
// edges to each other, some of them one-way and some of them several at once; cliques at distances 1, 2, 4
// ... are connected more and more rarely, as the benchmark describes its scalable data generator.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace rubato::apps::stamp::ssca2 {

using Vertex = std::uint32_t;

struct Edge {
  Vertex from;
  Vertex to;
  std::uint32_t weight;
};

struct GraphShape {
  std::uint64_t vertices;
  std::uint64_t largest_clique;
  std::uint64_t parallel;  ///< most edges from one vertex to another
  double one_way = 0.5;    ///< share of the pairs of a clique
  double between = 0.5;    ///< probability of an edge to the next clique
};

inline void shuffle(std::vector<auto>& things, Rng& rng) {
  for (std::size_t i = things.size(); i > 1; --i) std::swap(things[i - 1], things[rng.below(i)]);
}

inline std::vector<Edge> clique_edges(const GraphShape& shape, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Vertex> name(shape.vertices);  // so that a clique's vertices are not neighbours in memory
  std::iota(name.begin(), name.end(), Vertex{0});
  shuffle(name, rng);
  std::vector<Edge> edges;
  const auto connect = [&](std::uint64_t a, std::uint64_t b) {
    for (std::uint64_t copies = 1 + rng.below(shape.parallel); copies > 0; --copies)
      edges.push_back({name[a], name[b], static_cast<std::uint32_t>(1 + rng.below(shape.vertices))});
  };
  std::vector<std::uint64_t> first;  // of each clique
  for (std::uint64_t v = 0; v < shape.vertices; v += 1 + rng.below(shape.largest_clique)) first.push_back(v);
  first.push_back(shape.vertices);
  for (std::size_t c = 0; c + 1 < first.size(); ++c) {
    for (std::uint64_t a = first[c]; a < first[c + 1]; ++a) {
      for (std::uint64_t b = a + 1; b < first[c + 1]; ++b) {
        const bool is_one_way = rng.uniform() < shape.one_way, is_back = rng.uniform() < 0.5;
        if (!is_one_way || !is_back) connect(a, b);
        if (!is_one_way || is_back) connect(b, a);
      }
      double probability = shape.between;
      for (std::size_t distance = 1; c + distance + 1 < first.size(); distance *= 2, probability /= 2) {
        const std::size_t other = c + distance;
        if (rng.uniform() < probability)
          connect(a, first[other] + rng.below(first[other + 1] - first[other]));
      }
    }
  }
  shuffle(edges, rng);
  return edges;
}

}  // namespace rubato::apps::stamp::ssca2
