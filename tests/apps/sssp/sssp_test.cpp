// sssp by tasks against Dijkstra, and both against known results.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>

#include "apps/common/graph_generator.hpp"
#include "apps/common/graph_reader.hpp"
#include "apps/common/input_error.hpp"
#include "apps/sssp/dijkstra.hpp"
#include "apps/sssp/sources.hpp"
#include "apps/sssp/sssp_tasks.hpp"
#include "apps/sssp/sssp_threads.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

//  0 -5-> 1 -1-> 2,  0 -9-> 2,  2 -0-> 3,  4 alone
const std::vector<Edge> kSmall = {{0, 1, 5}, {1, 2, 1}, {0, 2, 9}, {2, 3, 0}, {3, 0, 2}};

TEST(Dijkstra, FindsTheDistancesOfAGraphDoneByHand) {
  const Graph g = make_graph(5, kSmall, 1);
  EXPECT_THAT(dijkstra(g, 0), ElementsAre(0, 5, 6, 6, kUnset));
  EXPECT_THAT(dijkstra(g, 3), ElementsAre(2, 7, 8, 0, kUnset));
  EXPECT_THAT(dijkstra(g, 4), ElementsAre(kUnset, kUnset, kUnset, kUnset, 0));
}

TEST(Sssp, AgreesWithDijkstraForEveryTypeAndSeed) {
  for (const Graph& g : {make_graph(5, kSmall, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1)}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      serial::set_seed(seed);
      ShortestPaths paths(g);
      for (const TaskType type : {spec, nonspec, mayspec}) {
        EXPECT_EQ(paths.from(1, type), dijkstra(g, 1));
        EXPECT_EQ(paths.from(2, type), dijkstra(g, 2));
      }
    }
  }
}

TEST(SsspThreads, AgreeWithDijkstraForEveryNumberOfThreads) {
  const Graph unit = [] {
    Graph g = generate_rmat(9, 4, 2);
    for (Arc& arc : g.arcs) arc.length = 1;
    return g;
  }();
  const Graph far = make_graph(3, {{0, 1, 0xffffffff}, {1, 2, 0xffffffff}, {2, 0, 0}, {0, 2, 0xffffffff}}, 1);
  for (const Graph& g :
       {make_graph(5, kSmall, 1), generate_road(30, 20, 1), generate_rmat(9, 16, 1), unit, far}) {
    for (const std::uint32_t threads : {1, 2, 5}) {
      EXPECT_EQ(sssp_threads(g, 1, threads), dijkstra(g, 1));
      EXPECT_EQ(sssp_threads(g, g.vertices() - 1, threads), dijkstra(g, g.vertices() - 1));
    }
  }
}

TEST(SearchSources, AreTheFirstAndOthersThatHaveArcs) {
  const Graph g = make_graph(5, kSmall, 1);  // 0, 1, 2, 3 have arcs
  EXPECT_THAT(search_sources(g, 4, 1, 1), ElementsAre(4));
  const auto all = search_sources(g, 2, 4, 1);
  EXPECT_EQ(all.front(), 2u);
  EXPECT_THAT(all, UnorderedElementsAre(0, 1, 2, 3));
  EXPECT_EQ(all, search_sources(g, 2, 4, 1));
}

TEST(SearchSources, DependOnTheSeed) {
  const Graph g = generate_rmat(9, 16, 1);
  EXPECT_NE(search_sources(g, 0, 8, 1), search_sources(g, 0, 8, 2));
}

TEST(SearchSources, RefuseMoreThanThereAre) {
  const Graph g = make_graph(5, kSmall, 1);
  EXPECT_EQ(search_sources(g, 4, 5, 1).size(), 5u);
  EXPECT_THROW(search_sources(g, 4, 6, 1), InputError);
  EXPECT_THROW(search_sources(g, 0, 5, 1), InputError);
}

TEST(Sssp, FindsTheKnownDistancesOfTheCaliforniaRoadNetwork) {
  const char* const data = std::getenv("RUBATO_DATA");
  const std::filesystem::path file =
      std::filesystem::path(data != nullptr ? data : "../shared/data") / "california.gr";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
  const Graph g = read_graph(file.string(), {});
  const auto distances = ShortestPaths(g).from(0, mayspec);
  EXPECT_EQ(distances.size(), 21048u);
  EXPECT_EQ(std::count(distances.begin(), distances.end(), kUnset), 0);
  EXPECT_EQ(*std::max_element(distances.begin(), distances.end()), 14836895u);
  EXPECT_EQ(std::accumulate(distances.begin(), distances.end(), std::uint64_t{0}), 154519021678u);
}

}  // namespace
}  // namespace rubato::apps
