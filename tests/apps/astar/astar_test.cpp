// astar: the estimate, the coordinates' format, and tasks against serial searches.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/astar/astar_tasks.hpp"
#include "apps/astar/coordinates.hpp"
#include "apps/astar/heuristic.hpp"
#include "apps/astar/search.hpp"
#include "apps/common/graph_generator.hpp"
#include "apps/common/input_error.hpp"
#include "apps/sssp/dijkstra.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 0 at (0,0), 1 at (3,4), 2 at (6,8), 3 at (0,-30): straight 0-1 5, 1-2 5, 0-3 30. Least ratio: 10 / 5 = 2.
const std::vector<Point> kPlaces = {{0, 0}, {3, 4}, {6, 8}, {0, -30}};
const std::vector<Edge> kArcs = {{0, 1, 10}, {1, 2, 12}, {0, 2, 25}, {0, 3, 60}};

std::string error_of(const std::string& text) {
  const TemporaryFolder folder;
  try {
    read_coordinates(folder.write("test.co", text), 2);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Heuristic, IsTheStraightDistanceTimesTheLeastRatioOfAllArcs) {
  const Graph graph = make_graph(4, kArcs, 1);
  const Heuristic estimate(graph, kPlaces, 2);
  EXPECT_DOUBLE_EQ(estimate.scale(), 2);
  EXPECT_EQ(estimate(0), 20u);
  EXPECT_EQ(estimate(1), 10u);
  EXPECT_EQ(estimate(2), 0u);
  EXPECT_EQ(estimate(3), 76u);  // 2 * sqrt(36 + 1444) = 76.9
}

TEST(Heuristic, IsZeroWithoutCoordinatesOrWithAnArcOfLengthZeroThatLeadsElsewhere) {
  const Graph graph = make_graph(4, {{0, 1, 0}, {1, 2, 12}}, 1);
  EXPECT_EQ(Heuristic(graph, kPlaces, 2)(0), 0u);
  EXPECT_EQ(Heuristic(graph, {}, 2)(0), 0u);
}

TEST(Heuristic, NeverExceedsTheRealDistanceOnRoads) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<Point> points;
    const Graph graph = generate_road(30, 20, seed, &points);
    EXPECT_EQ(graph.arcs, generate_road(30, 20, seed).arcs);
    const Heuristic estimate(graph, points, 333);
    EXPECT_GT(estimate.scale(), 0.9);
    EXPECT_TRUE(estimate.is_consistent(graph));
    const auto rest = dijkstra(reversed(graph), 333);
    for (std::uint32_t v = 0; v < graph.vertices(); ++v) EXPECT_LE(estimate(v), rest[v]);
  }
}

TEST(Astar, SettlesWhatTheEstimateAllowsOfAGraphDoneByHand) {
  const Graph graph = make_graph(4, kArcs, 1);
  const Heuristic estimate(graph, kPlaces, 2);
  EXPECT_THAT(astar(graph, estimate, 0, 2, mayspec), ElementsAre(0, 10, 22, kNotSettled));  // f(3) = 136
  EXPECT_THAT(astar(graph, Heuristic(), 0, 3, mayspec), ElementsAre(0, 10, 22, 60));
  EXPECT_THAT(astar(graph, estimate, 0, 0, mayspec), ElementsAre(0, kNotSettled, kNotSettled, kNotSettled));
  EXPECT_THAT(astar(graph, estimate, 3, 2, mayspec),
              ElementsAre(kNotSettled, kNotSettled, kNotSettled, 0));  // no path
}

TEST(Astar, AgreesWithSerialSearchesForEveryTypeAndSeed) {
  for (const std::uint64_t graph_seed : {1, 2}) {
    std::vector<Point> points;
    const Graph graph = generate_road(30, 20, graph_seed, &points);
    const std::uint32_t target = 445;
    const Heuristic estimate(graph, points, target);
    const auto expected = serial_search(graph, estimate, 3, target);
    const auto shortest = dijkstra(graph, 3);
    EXPECT_EQ(expected[target], shortest[target]);
    EXPECT_EQ(serial_search(graph, Heuristic(), 3, kNoTarget), shortest);
    EXPECT_GT(std::count(expected.begin(), expected.end(), kNotSettled), 50)
        << "the search does not end early";
    for (const std::uint64_t seed : {1, 2, 3}) {
      serial::set_seed(seed);
      for (const TaskType type : {spec, nonspec, mayspec}) {
        EXPECT_EQ(astar(graph, estimate, 3, target, type), expected);
      }
    }
  }
}

TEST(Astar, VisitsMoreThanEightNeighbours) {
  const Graph graph = generate_rmat(8, 16, 1);
  serial::set_seed(1);
  EXPECT_EQ(astar(graph, Heuristic(), 0, 100, spec), serial_search(graph, Heuristic(), 0, 100));
}

TEST(Coordinates, AreReadWithTheirSigns) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("good.co", "c comment\np aux sp co 2\nv 2 -73530767 41085396\nv 1 0 -5\n");
  EXPECT_THAT(read_coordinates(path, 2), ElementsAre(Point{0, -5}, Point{-73530767, 41085396}));
}

TEST(Coordinates, NameFileAndLineOfWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("without a problem line"));
  EXPECT_THAT(error_of("p sp 2 1\n"), HasSubstr(".co:1: these are no coordinates"));
  EXPECT_THAT(error_of("p aux sp co 3\n"),
              HasSubstr(".co:1: coordinates of 3 vertices, but the graph has 2"));
  EXPECT_THAT(error_of("p aux sp co 2\nv 3 0 0\n"), HasSubstr(".co:2: vertex 3 is out of range"));
  EXPECT_THAT(error_of("p aux sp co 2\nv 1 0 0\nv 1 0 0\n"),
              HasSubstr(".co:3: vertex 1 appears a second time"));
  EXPECT_THAT(error_of("p aux sp co 2\nv 1 0\n"), HasSubstr(".co:2: the y coordinate is missing"));
  EXPECT_THAT(error_of("p aux sp co 2\nv 1 0 1.5\n"),
              HasSubstr(".co:2: the y coordinate is not a whole number"));
  EXPECT_THAT(error_of("p aux sp co 2\nv 1 0 9999999999\n"),
              HasSubstr(".co:2: the y coordinate is too large"));
  EXPECT_THAT(error_of("p aux sp co 2\nv 1 0 0\n"), HasSubstr("the file ends after 1 of 2 vertices"));
}

}  // namespace
}  // namespace rubato::apps
