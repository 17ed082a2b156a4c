// color by tasks against the serial greedy algorithm, and that against graphs done by hand.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/color/color_tasks.hpp"
#include "apps/color/color_threads.hpp"
#include "apps/color/serial_coloring.hpp"
#include "apps/common/graph_generator.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;

// A triangle 0 1 2 with a tail 2 - 3 - 4, a loop and a repetition; 5 alone.
const std::vector<Edge> kSmall = {{0, 1, 1}, {1, 2, 1}, {2, 0, 1}, {2, 3, 1},
                                  {3, 2, 1}, {3, 4, 1}, {4, 4, 1}};

/// Complete graph, in which all vertices are neighbours: as many colours as vertices.
Graph complete(std::uint32_t vertices) {
  std::vector<Edge> edges;
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) edges.push_back({a, b, 1});
  }
  return make_graph(vertices, edges, 1);
}

TEST(SerialColoring, TakesTheLeastFreeColourInTheOrderOfTheTurns) {
  const Adjacency g = undirected(make_graph(6, kSmall, 1));
  const PriorityOrder priorities = largest_degree_first(g);
  EXPECT_THAT(priorities.order, ElementsAre(2, 0, 1, 3, 4, 5));
  EXPECT_THAT(serial_coloring(g, priorities), ElementsAre(1, 2, 0, 1, 0, 0));
}

TEST(Color, AgreesWithTheGreedyAlgorithmForEveryTypeAndSeed) {
  for (const Graph& graph : {make_graph(6, kSmall, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    const Adjacency g = undirected(graph);
    const PriorityOrder priorities = largest_degree_first(g);
    for (const std::uint64_t seed : {1, 2, 3}) {
      serial::set_seed(seed);
      for (const TaskType type : {spec, nonspec, mayspec}) {
        for (const ColorOrder order : {ColorOrder::turns, ColorOrder::degrees})
          EXPECT_EQ(color(g, priorities, type, order), serial_coloring(g, priorities));
      }
    }
  }
}

TEST(Color, NeedsAsManyColoursAsACompleteGraphHasVerticesAroundTheSizeOfAWord) {
  for (const std::uint32_t vertices : {1u, 2u, 63u, 64u, 65u, 66u, 128u, 129u, 130u}) {
    const Adjacency g = undirected(complete(vertices));
    for (const ColorOrder order : {ColorOrder::turns, ColorOrder::degrees}) {
      const auto colors = color(g, largest_degree_first(g), mayspec, order);
      for (std::uint32_t v = 0; v < vertices; ++v) EXPECT_EQ(colors[v], v);
    }
  }
}

TEST(SerialColoring, GivesNeighboursDifferentColours) {
  const Adjacency g = undirected(generate_rmat(9, 16, 1));
  const auto colors = serial_coloring(g, largest_degree_first(g));
  for (std::uint32_t v = 0; v < g.vertices(); ++v) {
    for (const std::uint32_t other : g.of(v)) EXPECT_NE(colors[v], colors[other]);
  }
}

TEST(ColorByThreads, AgreesWithTheGreedyAlgorithmForEveryNumberOfThreads) {
  for (const Graph& graph : {make_graph(6, kSmall, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    const Adjacency g = undirected(graph);
    const PriorityOrder priorities = largest_degree_first(g);
    for (const std::uint32_t threads : {1, 2, 5}) {
      EXPECT_EQ(color_threads(g, priorities, threads), serial_coloring(g, priorities));
    }
  }
}

}  // namespace
}  // namespace rubato::apps
