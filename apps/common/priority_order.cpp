// SPDX-License-Identifier: MIT
// Neighbours are sorted and made unique vertex by vertex, in place.
#include "apps/common/priority_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "apps/common/input_error.hpp"
#include "base/rng.hpp"

namespace rubato::apps {
namespace {

PriorityOrder with_turns(std::vector<std::uint32_t> order) {
  std::vector<std::uint32_t> turn(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) turn[order[i]] = i;
  return {std::move(order), std::move(turn)};
}

std::vector<std::uint32_t> in_input_order(std::uint32_t vertices) {
  std::vector<std::uint32_t> order(vertices);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace

Adjacency undirected(const Graph& graph) {
  if (graph.arcs.size() > kMaxArcs / 2) {
    throw InputError("the graph has " + std::to_string(graph.arcs.size()) +
                     " arcs: in both directions at most " + std::to_string(kMaxArcs / 2) + " are possible");
  }
  const std::uint32_t vertices = graph.vertices();
  std::vector<std::uint32_t> next(std::size_t{vertices} + 1, 0);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      ++next[std::size_t{v} + 1];
      ++next[std::size_t{graph.arcs[a].head} + 1];
    }
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  const std::vector<std::uint32_t> begin = next;
  Adjacency result;
  std::vector<std::uint32_t>& all = result.neighbours;
  all.resize(begin.back());
  for (std::uint32_t v = 0; v < vertices; ++v) {
    for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
      const std::uint32_t head = graph.arcs[a].head;
      all[next[v]++] = head;
      all[next[head]++] = v;
    }
  }
  std::uint32_t kept = 0;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    std::sort(all.begin() + begin[v], all.begin() + begin[v + 1]);
    const std::uint32_t first_kept = kept;
    for (std::uint32_t i = begin[v]; i != begin[v + 1]; ++i) {
      const std::uint32_t other = all[i];
      if (other == v || (kept != first_kept && all[kept - 1] == other)) continue;
      all[kept++] = other;
    }
    result.first.push_back(kept);
  }
  all.resize(kept);
  return result;
}

PriorityOrder random_order(std::uint32_t vertices, std::uint64_t seed) {
  std::vector<std::uint32_t> order = in_input_order(vertices);
  Rng rng(seed);
  for (std::uint32_t i = vertices; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return with_turns(std::move(order));
}

PriorityOrder largest_degree_first(const Adjacency& graph) {
  std::vector<std::uint32_t> order = in_input_order(graph.vertices());
  std::stable_sort(order.begin(), order.end(), [&graph](std::uint32_t a, std::uint32_t b) {
    return graph.of(a).size() > graph.of(b).size();
  });
  return with_turns(std::move(order));
}

PriorityOrder smallest_degree_first(const Adjacency& graph) {
  std::vector<std::uint32_t> order = largest_degree_first(graph).order;
  std::reverse(order.begin(), order.end());
  return with_turns(std::move(order));
}

Adjacency later_neighbours(const Adjacency& graph, const PriorityOrder& priorities) {
  Adjacency later;
  later.neighbours.reserve(graph.neighbours.size() / 2);
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    for (const std::uint32_t other : graph.of(v)) {
      if (priorities.turn[other] > priorities.turn[v]) later.neighbours.push_back(other);
    }
    later.first.push_back(static_cast<std::uint32_t>(later.neighbours.size()));
  }
  return later;
}

}  // namespace rubato::apps
