// mis by tasks against the serial greedy algorithm, and that against a graph done by hand.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/common/graph_generator.hpp"
#include "apps/mis/mis_tasks.hpp"
#include "apps/mis/mis_threads.hpp"
#include "apps/mis/serial_mis.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;

// A path 0 - 1 - 2 - 3 with a loop, a repetition and both directions; 4 alone.
const std::vector<Edge> kPath = {{0, 1, 1}, {1, 0, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 3, 7}};

TEST(SerialMis, TakesVerticesInTheOrderOfTheirTurns) {
  const Adjacency g = undirected(make_graph(5, kPath, 1));
  EXPECT_THAT(serial_mis(g, {.order = {0, 1, 2, 3, 4}, .turn = {0, 1, 2, 3, 4}}), ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(serial_mis(g, {.order = {1, 0, 2, 3, 4}, .turn = {1, 0, 2, 3, 4}}), ElementsAre(0, 1, 0, 1, 1));
  EXPECT_THAT(serial_mis(g, {.order = {3, 0, 4, 2, 1}, .turn = {1, 4, 3, 0, 2}}), ElementsAre(1, 0, 0, 1, 1));
}

TEST(Mis, AgreesWithTheGreedyAlgorithmForEveryTypeAndSeed) {
  for (const Graph& graph : {make_graph(5, kPath, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    const Adjacency g = undirected(graph);
    for (const std::uint64_t seed : {1, 2, 3}) {
      serial::set_seed(seed);
      const PriorityOrder priorities = random_order(g.vertices(), seed);
      for (const TaskType type : {spec, nonspec, mayspec}) {
        EXPECT_EQ(mis(g, priorities, type), serial_mis(g, priorities));
      }
    }
  }
}

TEST(SerialMis, IsIndependentAndMaximal) {
  const Adjacency g = undirected(generate_rmat(9, 16, 1));
  const auto is_member = serial_mis(g, random_order(g.vertices(), 1));
  for (std::uint32_t v = 0; v < g.vertices(); ++v) {
    int neighbours = 0;
    for (const std::uint32_t other : g.of(v)) neighbours += is_member[other];
    EXPECT_EQ(neighbours == 0, is_member[v] == 1) << v;
  }
}

TEST(MisByThreads, AgreesWithTheGreedyAlgorithmForEveryNumberOfThreads) {
  for (const Graph& graph : {make_graph(5, kPath, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    const Adjacency g = undirected(graph);
    const PriorityOrder priorities = random_order(g.vertices(), 3);
    for (const std::uint32_t threads : {1, 2, 5}) {
      EXPECT_EQ(mis_threads(g, priorities, threads), serial_mis(g, priorities));
    }
  }
}

}  // namespace
}  // namespace rubato::apps
