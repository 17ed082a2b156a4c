// cf by tasks against the serial algorithm; that converges, and its first step is done by hand.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "apps/cf/cf_tasks.hpp"
#include "apps/cf/cf_threads.hpp"
#include "apps/cf/serial_cf.hpp"
#include "apps/common/graph_generator.hpp"

namespace rubato::apps {
namespace {

// Users 0 and 1 rate item 1 (participant 4): 1/2 and 1. User 2 rates nothing, items 0 and 2 have no rating.
const std::vector<Edge> kTwo = {{0, 1, 3}, {1, 1, 6}};

TEST(Ratings, AreLengthsRelativeToTheLargest) {
  const auto ratings = ratings_of(make_graph(3, kTwo, 1)).ratings;
  ASSERT_EQ(ratings.size(), 2u);
  EXPECT_EQ(ratings[0].user, 0u);
  EXPECT_EQ(ratings[0].item, 4u);
  EXPECT_EQ(ratings[0].value, kOne / 2);
  EXPECT_EQ(ratings[1].value, kOne);
}

TEST(SerialCf, TakesUsersFirstThenItems) {
  const auto ratings = ratings_of(make_graph(3, kTwo, 1)).ratings;
  std::vector<Features> features(6);
  features[0][0] = kOne;  // predicts 1/4, the error is 1/4
  features[4][0] = kOne / 4;
  const auto users = serial_cf(ratings, features, 1);
  EXPECT_EQ(users[0][0], kOne + kOne / 32 - kOne / 64);  // 1/4 of 1/4, half of it
  EXPECT_EQ(users[1][0], kOne / 8);                      // 1 of 1/4, half of it
  EXPECT_EQ(users[4], features[4]);
  const auto items = serial_cf(ratings, features, 2);
  EXPECT_EQ(items[0], users[0]);
  EXPECT_NE(items[4], users[4]);
  EXPECT_EQ(items[2], Features{});
  EXPECT_EQ(items[3], Features{});
}

TEST(SerialCf, ReducesTheError) {
  const auto ratings = ratings_of(generate_rmat(9, 16, 1)).ratings;
  const auto first = first_features(1024, 1);
  double before = mean_squared_error(ratings, first);
  for (const std::uint32_t steps : {2, 8, 32}) {
    const double after = mean_squared_error(ratings, serial_cf(ratings, first, steps));
    EXPECT_LT(after, 0.99 * before) << steps;
    before = after;
  }
}

TEST(Cf, AgreesWithTheSerialAlgorithmForEveryTypeAndSeed) {
  for (const Graph& graph : {make_graph(3, kTwo, 1), generate_road(12, 10, 1), generate_rmat(7, 8, 1)}) {
    const RatingSet set = ratings_of(graph);
    for (const std::uint64_t seed : {1, 2}) {
      serial::set_seed(seed);
      const auto first = first_features(2 * graph.vertices(), seed);
      for (const std::uint32_t steps : {0, 1, 2, 5}) {
        for (const TaskType type : {spec, nonspec, mayspec}) {
          EXPECT_EQ(cf(set, first, steps, type), serial_cf(set.ratings, first, steps));
        }
      }
    }
  }
}

TEST(CfByThreads, AgreesWithTheSerialAlgorithmForEveryNumberOfThreads) {
  for (const Graph& graph : {make_graph(3, kTwo, 1), generate_road(12, 10, 1), generate_rmat(7, 8, 1)}) {
    const RatingSet set = ratings_of(graph);
    const auto first = first_features(2 * graph.vertices(), 1);
    for (const std::uint32_t steps : {0, 1, 2, 5}) {
      for (const std::uint32_t threads : {1, 2, 5}) {
        EXPECT_EQ(cf_threads(set, first, steps, threads), serial_cf(set.ratings, first, steps));
      }
    }
  }
}

}  // namespace
}  // namespace rubato::apps
