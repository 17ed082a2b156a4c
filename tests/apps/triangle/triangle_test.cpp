// triangle by tasks against the serial algorithm, and that against graphs whose triangles are known.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "apps/common/graph_generator.hpp"
#include "apps/triangle/serial_triangles.hpp"
#include "apps/triangle/triangle_tasks.hpp"
#include "apps/triangle/triangle_threads.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;

// A square 0 1 2 3 with the diagonal 0 - 2, which stands twice, a loop, and 4 at the end of a path.
const std::vector<Edge> kSquare = {{0, 1, 1}, {1, 2, 1}, {2, 3, 1}, {3, 0, 1},
                                   {0, 2, 1}, {2, 0, 1}, {1, 1, 1}, {3, 4, 1}};

Adjacency complete(std::uint32_t vertices) {
  std::vector<Edge> edges;
  for (std::uint32_t a = 0; a < vertices; ++a) {
    for (std::uint32_t b = a + 1; b < vertices; ++b) edges.push_back({a, b, 1});
  }
  return undirected(make_graph(vertices, edges, 1));
}

TEST(SmallestDegreeFirst, TakesTheVertexWithMostNeighboursLast) {
  const PriorityOrder priorities = smallest_degree_first(undirected(make_graph(5, kSquare, 1)));
  EXPECT_THAT(priorities.order, ElementsAre(4, 1, 3, 2, 0));
  EXPECT_THAT(priorities.turn, ElementsAre(4, 1, 3, 2, 0));
}

TEST(SerialTriangles, CountsEachWhereItsFirstTurnIs) {
  const Adjacency g = undirected(make_graph(5, kSquare, 1));
  EXPECT_THAT(serial_triangles(g, smallest_degree_first(g)), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(serial_triangles(g, {.order = {0, 1, 2, 3, 4}, .turn = {0, 1, 2, 3, 4}}),
              ElementsAre(2, 0, 0, 0, 0));
}

TEST(Triangles, OfACompleteGraphAreAllTriples) {
  const Adjacency g = complete(40);
  const auto counts = triangles(g, smallest_degree_first(g), mayspec);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), 40u * 39 * 38 / 6);
}

TEST(Triangles, AgreeWithTheSerialCountForEveryTypeAndSeed) {
  for (const Graph& graph : {make_graph(5, kSquare, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    const Adjacency g = undirected(graph);
    const PriorityOrder priorities = smallest_degree_first(g);
    for (const std::uint64_t seed : {1, 2, 3}) {
      serial::set_seed(seed);
      for (const TaskType type : {spec, nonspec, mayspec}) {
        EXPECT_EQ(triangles(g, priorities, type), serial_triangles(g, priorities));
      }
    }
  }
}

TEST(TrianglesByThreads, AgreeWithTheSerialCountForEveryNumberOfThreads) {
  for (const Graph& graph : {make_graph(5, kSquare, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    const Adjacency g = undirected(graph);
    const PriorityOrder priorities = smallest_degree_first(g);
    for (const std::uint32_t threads : {1, 2, 5}) {
      EXPECT_EQ(triangles_threads(g, priorities, threads), serial_triangles(g, priorities));
    }
  }
}

}  // namespace
}  // namespace rubato::apps
