// An undirected graph whose vertices have turns: the graph of greedy algorithms (mis, color), and of
// triangle. Arcs of the input are edges whatever their direction; loops, repetitions and lengths mean
// nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

/// The neighbours of vertex v, each once and in ascending order, are neighbours[first[v]] to
/// neighbours[first[v + 1] - 1].
struct Adjacency {
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> neighbours;

  std::uint32_t vertices() const { return static_cast<std::uint32_t>(first.size() - 1); }
  std::span<const std::uint32_t> of(std::uint32_t v) const {
    return {neighbours.data() + first[v], first[v + 1] - first[v]};
  }
};

/// The edges of a graph in both directions. @throws InputError if they are more than kMaxArcs.
Adjacency undirected(const Graph& graph);

/// turn[order[i]] == i: both are permutations of the vertices.
struct PriorityOrder {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> turn;
};

/// Every order is equally likely.
PriorityOrder random_order(std::uint32_t vertices, std::uint64_t seed);
/// The vertex with the most neighbours first; of several the one that the input names first.
PriorityOrder largest_degree_first(const Adjacency& graph);
/// The other way round. No vertex has more later neighbours than the root of twice the number of edges.
PriorityOrder smallest_degree_first(const Adjacency& graph);

/// Only the neighbours whose turn comes later: the ones that a decision concerns. Each edge appears once.
Adjacency later_neighbours(const Adjacency& graph, const PriorityOrder& priorities);

}  // namespace rubato::apps
