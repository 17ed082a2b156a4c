// kmeans by tasks against the serial algorithm; that one's first iterations are done by hand.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "apps/kmeans/kmeans_tasks.hpp"
#include "apps/kmeans/serial_kmeans.hpp"

namespace rubato::apps::kmeans {
namespace {

// On a line: the centres begin at 0 and 10.
const Points kLine{5, 1, {0, 10, 2, 14, 6}};

TEST(SerialKmeans, MovesCentresIntoTheMiddleOfTheirPoints) {
  const Clustering one = serial_kmeans(kLine, {.centres = 2, .iterations = 1});
  // 6 is nearer to 10: {0, 2} and {10, 14, 6}.
  EXPECT_EQ(one.centre_of, (std::vector<std::uint32_t>{0, 1, 0, 1, 1}));
  EXPECT_EQ(one.centres, (std::vector<Fixed>{1, 10}));
  EXPECT_EQ(one.moved, 5u);
  // 1 and 10: 6 is still nearer to 10, nothing moves.
  const Clustering end = serial_kmeans(kLine, {.centres = 2, .iterations = 9, .few_percent = 0});
  EXPECT_EQ(end.iterations, 2u);
  EXPECT_EQ(end.moved, 0u);
  EXPECT_EQ(end.centre_of, one.centre_of);
}

TEST(SerialKmeans, AnEqualDistanceGoesToTheFirstCentre) {
  const Clustering found = serial_kmeans({3, 1, {0, 10, 5}}, {.centres = 2, .iterations = 1});
  EXPECT_EQ(found.centre_of[2], 0u);
}

TEST(SerialKmeans, EndsOnceFewerThanThePercentageMoved) {
  const Search search{.centres = 2, .iterations = 10, .few_percent = 20};
  EXPECT_TRUE(goes_on(search, 10, 1, 2));
  EXPECT_FALSE(goes_on(search, 10, 1, 1));
  EXPECT_TRUE(goes_on(search, 10, 9, 2));
  EXPECT_FALSE(goes_on(search, 10, 10, 2));
}

TEST(SerialKmeans, ReducesTheDistanceToTheCentres) {
  const Points points = scattered_points(600, 8, 6, 1);
  const auto distance = [&](std::uint32_t iterations) {
    return mean_squared_distance(points, serial_kmeans(points, {.centres = 6, .iterations = iterations}));
  };
  EXPECT_LT(distance(8), 0.98 * distance(1));
}

TEST(Kmeans, AgreesWithTheSerialAlgorithmForEveryTypeAndSeed) {
  for (const std::uint64_t seed : {1, 2}) {
    serial::set_seed(seed);
    const Points points = scattered_points(150, 5, 4, seed);
    for (const Search& search :
         {Search{.centres = 7, .iterations = 1}, Search{.centres = 150, .iterations = 3},
          Search{.centres = 4, .iterations = 30, .few_percent = 0}}) {
      for (const TaskType type : {spec, nonspec, mayspec}) {
        EXPECT_EQ(kmeans_by_tasks(points, search, type), serial_kmeans(points, search));
      }
    }
  }
}

}  // namespace
}  // namespace rubato::apps::kmeans
