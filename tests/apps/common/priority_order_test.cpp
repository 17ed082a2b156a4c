// Undirected graphs and orders, done by hand.
// SPDX-License-Identifier: MIT
#include "apps/common/priority_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rubato::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// 0 - 1 - 2 - 3 with a loop, a repetition and both directions; 4 alone.
const std::vector<Edge> kPath = {{0, 1, 1}, {1, 0, 1}, {2, 1, 1}, {2, 2, 1}, {2, 3, 1}, {2, 3, 7}};

TEST(Undirected, KeepsEveryEdgeOnceInBothDirectionsAndNoLoops) {
  const Adjacency g = undirected(make_graph(5, kPath, 1));
  EXPECT_THAT(g.first, ElementsAre(0, 1, 3, 5, 6, 6));
  EXPECT_THAT(g.neighbours, ElementsAre(1, 0, 2, 1, 3, 2));
}

TEST(LargestDegreeFirst, BreaksTiesByTheInputsOrder) {
  const PriorityOrder p = largest_degree_first(undirected(make_graph(5, kPath, 1)));
  EXPECT_THAT(p.order, ElementsAre(1, 2, 0, 3, 4));
  EXPECT_THAT(p.turn, ElementsAre(2, 0, 1, 3, 4));
}

TEST(LaterNeighbours, HasEachEdgeOnceFromTheEarlierTurn) {
  const Adjacency g = undirected(make_graph(5, kPath, 1));
  const Adjacency later = later_neighbours(g, largest_degree_first(g));
  EXPECT_THAT(later.first, ElementsAre(0, 0, 2, 3, 3, 3));
  EXPECT_THAT(later.neighbours, ElementsAre(0, 2, 3));
}

TEST(RandomOrder, IsAPermutationThatTheSeedDecides) {
  EXPECT_THAT(random_order(5, 1).order, UnorderedElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(random_order(100, 7).order, random_order(100, 7).order);
  EXPECT_NE(random_order(100, 7).order, random_order(100, 8).order);
}

}  // namespace
}  // namespace rubato::apps
