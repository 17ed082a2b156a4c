// Properties of generated graphs: the shape of a road network, the same graph from the same seed.
// SPDX-License-Identifier: MIT
#include "apps/common/graph_generator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "apps/common/input_error.hpp"
#include "apps/sssp/dijkstra.hpp"

namespace rubato::apps {
namespace {

TEST(RoadGenerator, MakesTwoToFourRoadsAtEachJunctionBothWaysOfOneLength) {
  for (const auto& [width, height] : {std::pair{2u, 2u}, {2u, 9u}, {40u, 30u}}) {
    const Graph g = generate_road(width, height, 5);
    ASSERT_EQ(g.vertices(), width * height);
    for (std::uint32_t v = 0; v < g.vertices(); ++v) {
      const std::uint32_t degree = g.first_arc[v + 1] - g.first_arc[v];
      EXPECT_GE(degree, 2u);
      EXPECT_LE(degree, 4u);
      for (std::uint32_t a = g.first_arc[v]; a != g.first_arc[v + 1]; ++a) {
        const Arc arc = g.arcs[a];
        EXPECT_GT(arc.length, 0u);
        const auto back = std::count(g.arcs.begin() + g.first_arc[arc.head],
                                     g.arcs.begin() + g.first_arc[arc.head + 1], Arc{v, arc.length});
        EXPECT_EQ(back, 1);
      }
    }
  }
}

// A subgraph of a grid whose junctions moved by less than half a square: roads meet only at junctions.
TEST(RoadGenerator, IsPlanarSinceItJoinsOnlyNeighboursOfTheGrid) {
  const std::uint32_t width = 50;
  const Graph g = generate_road(width, 40, 6);
  for (std::uint32_t v = 0; v < g.vertices(); ++v) {
    for (std::uint32_t a = g.first_arc[v]; a != g.first_arc[v + 1]; ++a) {
      const std::uint32_t low = std::min(v, g.arcs[a].head), high = std::max(v, g.arcs[a].head);
      EXPECT_TRUE(high - low == width || (high - low == 1 && high % width != 0));
    }
  }
}

TEST(RoadGenerator, IsConnectedAndHasAtLeastHalfAsManyDistancesAsVertices) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Graph g = generate_road(300, 300, seed);
    std::vector<std::uint64_t> distances = dijkstra(g, 0);
    EXPECT_EQ(std::count(distances.begin(), distances.end(), kUnset), 0);
    const std::set<std::uint64_t> distinct(distances.begin(), distances.end());
    EXPECT_GE(2 * distinct.size(), g.vertices());
  }
}

TEST(RoadGenerator, HasAboutAsManyRoadsAsARealNetwork) {
  const Graph g = generate_road(100, 100, 1);
  const double roads_per_junction = static_cast<double>(g.arcs.size()) / g.vertices();
  EXPECT_GT(roads_per_junction, 2.6);
  EXPECT_LT(roads_per_junction, 3.2);
}

TEST(RmatGenerator, MakesBothDirectionsAndAFewVerticesOfHighDegree) {
  const Graph g = generate_rmat(12, 8, 3);
  EXPECT_EQ(g.vertices(), 4096u);
  EXPECT_EQ(g.arcs.size(), 2u * 8 * 4096);
  std::uint32_t highest = 0;
  for (std::uint32_t v = 0; v < g.vertices(); ++v)
    highest = std::max(highest, g.first_arc[v + 1] - g.first_arc[v]);
  EXPECT_GT(highest, 20u * 16);
  for (const Arc& arc : g.arcs) {
    EXPECT_GE(arc.length, 1u);
    EXPECT_LE(arc.length, 255u);
  }
}

TEST(BandGenerator, KeepsEdgesWithinTheBandAndDegreesWithoutHubs) {
  const std::uint32_t width = 300, degree = 9;
  const Graph g = generate_band(5000, degree, width, 3);
  EXPECT_EQ(g.vertices(), 5000u);
  EXPECT_NEAR(static_cast<double>(g.arcs.size()) / g.vertices(), degree, 0.5);
  for (std::uint32_t v = 0; v < g.vertices(); ++v) {
    EXPECT_LT(g.first_arc[v + 1] - g.first_arc[v], 4 * degree);
    for (std::uint32_t a = g.first_arc[v]; a < g.first_arc[v + 1]; ++a) {
      const std::uint32_t head = g.arcs[a].head;
      EXPECT_LE(head > v ? head - v : v - head, width);
      EXPECT_NE(head, v);
    }
  }
}

TEST(BandGenerator, HasAboutWidthVerticesAtEachNumberOfHops) {
  const std::uint32_t vertices = 20'000, width = 2000;
  const Graph g = generate_band(vertices, 16, width, 1);
  std::vector<std::uint32_t> frontier{0}, hops_of(vertices, vertices);
  hops_of[0] = 0;
  std::uint32_t hops = 0, reached = 1;
  while (!frontier.empty()) {
    ++hops;
    std::vector<std::uint32_t> next;
    for (const std::uint32_t v : frontier) {
      for (std::uint32_t a = g.first_arc[v]; a < g.first_arc[v + 1]; ++a) {
        if (std::exchange(hops_of[g.arcs[a].head], std::min(hops_of[g.arcs[a].head], hops)) == vertices)
          next.push_back(g.arcs[a].head);
      }
    }
    reached += static_cast<std::uint32_t>(next.size());
    frontier = std::move(next);
  }
  EXPECT_EQ(reached, vertices);
  EXPECT_GE(hops, vertices / width);
  EXPECT_LE(hops, 2 * vertices / width);
}

TEST(GraphGenerator, MakesTheSameGraphFromTheSameSeedOnly) {
  EXPECT_EQ(generate_road(20, 20, 1).arcs, generate_road(20, 20, 1).arcs);
  EXPECT_NE(generate_road(20, 20, 1).arcs, generate_road(20, 20, 2).arcs);
  EXPECT_EQ(generate_rmat(8, 4, 1).arcs, generate_rmat(8, 4, 1).arcs);
  EXPECT_NE(generate_rmat(8, 4, 1).arcs, generate_rmat(8, 4, 2).arcs);
  EXPECT_EQ(generate_band(80, 4, 9, 1).arcs, generate_band(80, 4, 9, 1).arcs);
  EXPECT_NE(generate_band(80, 4, 9, 1).arcs, generate_band(80, 4, 9, 2).arcs);
}

TEST(GraphGenerator, UnderstandsItsOption) {
  EXPECT_EQ(generate_graph("road:30x20", 1).vertices(), 600u);
  EXPECT_EQ(generate_graph("rmat:10:4", 1).vertices(), 1024u);
  for (const char* wrong : {"",
                            "road",
                            "road:",
                            "road:10",
                            "road:10x",
                            "road:1x9",
                            "road:9x1",
                            "road:10x10x",
                            "road:-1x5",
                            "road:99999x99999",
                            "road:99999999999x2",
                            "rmat:0:4",
                            "rmat:31:1",
                            "rmat:10:0",
                            "rmat:30:9",
                            "rmat:10",
                            "tree:5",
                            "band:1:4:1",
                            "band:10:1:5",
                            "band:10:4:0",
                            "band:10:4:10",
                            "band:10:4",
                            "band:4000000000:4:9"}) {
    EXPECT_THROW(generate_graph(wrong, 1), InputError) << wrong;
  }
}

}  // namespace
}  // namespace rubato::apps
