// The references against published numbers.
// SPDX-License-Identifier: MIT
#include "apps/savina/reference/reference.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "apps/savina/fixed_point.hpp"
#include "apps/savina/random.hpp"

namespace rubato::apps::savina::reference {
namespace {

using ::testing::ElementsAre;

TEST(Reference, FibonacciNumbers) {
  EXPECT_EQ(fibonacci(1), 1u);
  EXPECT_EQ(fibonacci(2), 1u);
  EXPECT_EQ(fibonacci(25), 75'025u);
}

TEST(Reference, PrimesBelow) {
  EXPECT_EQ(primes_below(3), 1u);
  EXPECT_EQ(primes_below(4), 2u);
  EXPECT_EQ(primes_below(100'000), 9'592u);
}

TEST(Reference, QueensOfFourAndEightRows) {
  EXPECT_THAT(queen_placements(4), ElementsAre(1, 4, 6, 4, 2));
  EXPECT_EQ(queen_placements(8).back(), 92u);
  EXPECT_EQ(queen_placements(12).back(), 14'200u);
}

TEST(Reference, TheSuitesIntegral) { EXPECT_NEAR(trapezoids(1, 4e-6, 1'000'000), .271080751953, 1e-9); }

TEST(Reference, ShortestPathsTakeAWayRound) {
  EXPECT_THAT(shortest_paths({0, 1, 9, 1, 0, 2, 9, 2, 0}, 3), ElementsAre(0, 1, 3, 1, 0, 2, 3, 2, 0));
}

/// Published for the generator of Java.
TEST(Reference, OverRelaxationAsPublished) {
  const auto sum = [](std::size_t size) {
    JavaRandom random(10'101'010);
    std::vector<double> grid(size * size);
    for (double& value : grid) value = random.fraction() * 1e-6;
    return over_relaxation(std::move(grid), size, 100, 1.25);
  };
  EXPECT_NEAR(sum(20), 3.189420084871275e-06, 1e-15);
  EXPECT_NEAR(sum(80), .001846644602759566, 1e-12);
}

TEST(Reference, OverRelaxationOfTheSuitesNumbers) {
  SuiteRandom random(10'101'010);
  std::vector<double> grid(400);
  for (double& value : grid) value = random.fraction() * 1e-6;
  EXPECT_NEAR(over_relaxation(std::move(grid), 20, 100, 1.25), 4.162686342e-10, 1e-18);
}

TEST(Reference, ShortestPathsOfTheSuitesGraph) {
  constexpr std::size_t kVertices = 300;
  SuiteRandom random(kVertices);
  std::vector<std::uint64_t> graph(kVertices * kVertices, 0);
  for (std::size_t i = 0; i < kVertices; ++i) {
    for (std::size_t j = i + 1; j < kVertices; ++j)
      graph[i * kVertices + j] = graph[j * kVertices + i] = random.below(100) + 1;
  }
  const std::vector<std::uint64_t> lengths = shortest_paths(std::move(graph), kVertices);
  EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}), 401'700u);
}

TEST(Reference, DigitsOfPi) {
  EXPECT_EQ(pi_digits(30), "314159265358979323846264338327");
  EXPECT_EQ(pi_digits(1'001).substr(991), "2164201989");  // decimal places 991 to 1000
}

TEST(FixedPoint, ShiftsByWholeWordsAndParts) {
  FixedPoint value(3, 64);
  value.shift_right(33);
  value *= 1u << 31;
  value *= 4;
  EXPECT_EQ(value.digits(2), "300");
  EXPECT_FALSE(value.is_zero());
  EXPECT_TRUE(value.shift_right(66).is_zero());
}

/// The sums that the suite's sorts end with.
TEST(SuiteRandom, SumsOfTheSuitesNumbers) {
  const auto sum = [](unsigned count) {
    SuiteRandom random(2'048);
    std::uint64_t total = 0;
    for (unsigned i = 0; i < count; ++i) total += random.next();
    return total;
  };
  EXPECT_EQ(sum(100'000), 3'275'789'328u);
  EXPECT_EQ(sum(4'096), 135'063'552u);
}

}  // namespace
}  // namespace rubato::apps::savina::reference
