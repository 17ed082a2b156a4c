// bfs by tasks against the serial search, and that against a graph done by hand.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/bfs/bfs_tasks.hpp"
#include "apps/bfs/bfs_threads.hpp"
#include "apps/bfs/serial_bfs.hpp"
#include "apps/common/graph_generator.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;

// 0 -> 1 -> 2, 0 -> 2 (twice), 2 -> 3, 3 -> 3, 3 -> 0, 4 alone. Lengths would lead elsewhere.
const std::vector<Edge> kSmall = {{0, 1, 1}, {1, 2, 1}, {0, 2, 9}, {0, 2, 9},
                                  {2, 3, 0}, {3, 3, 1}, {3, 0, 2}};

TEST(SerialBfs, FindsTheLevelsOfAGraphDoneByHand) {
  const Graph g = make_graph(5, kSmall, 1);
  EXPECT_THAT(serial_bfs(g, 0), ElementsAre(0, 1, 1, 2, kUnreached));
  EXPECT_THAT(serial_bfs(g, 1), ElementsAre(3, 0, 1, 2, kUnreached));
  EXPECT_THAT(serial_bfs(g, 4), ElementsAre(kUnreached, kUnreached, kUnreached, kUnreached, 0));
}

TEST(Bfs, AgreesWithTheSerialSearchForEveryTypeAndSeed) {
  for (const Graph& g : {make_graph(5, kSmall, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      serial::set_seed(seed);
      for (const TaskType type : {spec, nonspec, mayspec}) EXPECT_EQ(bfs(g, 1, type), serial_bfs(g, 1));
    }
  }
}

TEST(BfsThreads, AgreeWithTheSerialSearchForEveryNumberOfThreads) {
  for (const Graph& g : {make_graph(5, kSmall, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    for (const std::uint32_t threads : {1, 2, 5}) {
      EXPECT_EQ(bfs_threads(g, 1, threads), serial_bfs(g, 1));
      EXPECT_EQ(bfs_threads(g, 4, threads), serial_bfs(g, 4));
    }
  }
}

}  // namespace
}  // namespace rubato::apps
