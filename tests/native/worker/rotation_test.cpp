// R5: of the best priority that waits, from one source after the other; a lower one after 64 tasks of
// higher.
// SPDX-License-Identifier: MIT
#include "native/worker/rotation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace {

using rubato::native::Ring;
using rubato::native::Rotation;
using rubato::native::Slot;
using rubato::native::Source;
using rubato::native::Waiting;
namespace policy = rubato::native::policy;

constexpr unsigned kHigh = 0, kNormal = 1, kLow = 2;

/// Sources with so many tasks each; takes are recorded, and run at once.
class RotationTest : public testing::Test {
 protected:
  using Key = std::pair<unsigned, unsigned>;  // source, rank

  /// Takes a turn: @returns its source and rank, and how many.
  std::pair<Key, std::uint64_t> turn() {
    std::pair<Key, std::uint64_t> from{{0, 0}, 0};
    Waiting waiting;
    for (const auto& [key, size] : sizes)
      if (size != 0) waiting.add(key.second, key.first);
    rotation.take_next(ring, waiting, kLow, [&](unsigned source, unsigned rank, std::uint64_t limit) {
      std::uint64_t& left = sizes[{source, rank}];
      const std::uint64_t taken = std::min<std::uint64_t>(left, limit);
      for (std::uint64_t i = 0; i < taken; ++i) ring.push(Slot(&task));
      left -= taken;
      if (taken != 0) from = {{source, rank}, taken};
      return left != 0;
    });
    while (!ring.is_empty()) ring.pop();
    return from;
  }

  std::map<Key, std::uint64_t> sizes;
  Ring ring;
  Rotation rotation;
  rubato::engine::TaskCode code{nullptr, nullptr, nullptr, false, true, 0, rubato::engine::kNoPointer};
  rubato::engine::Task task{};

  void SetUp() override { task.code = &code; }
};

TEST_F(RotationTest, TakesNothingWhereNothingWaits) { EXPECT_EQ(turn().second, 0u); }

TEST_F(RotationTest, TakesABatchOfTheBestPriority) {
  sizes = {{{Source::kPrivate, kNormal}, 100}, {{Source::kPrivate, kHigh}, 17}};
  EXPECT_EQ(turn(), std::pair(Key(Source::kPrivate, kHigh), std::uint64_t{policy::kBatch}));
  EXPECT_EQ(turn(), std::pair(Key(Source::kPrivate, kHigh), std::uint64_t{1}));
  EXPECT_EQ(turn(), std::pair(Key(Source::kPrivate, kNormal), std::uint64_t{policy::kBatch}));
}

TEST_F(RotationTest, LetsOneOfLowerPriorityRunAfter64OfHigher) {
  sizes = {{{Source::kPrivate, kHigh}, 1000}, {{Source::kPrivate, kLow}, 1000}};
  for (int round = 0; round < 3; ++round) {
    std::uint64_t before = 0;
    for (auto t = turn(); t.first.second == kHigh; t = turn()) before += t.second;
    EXPECT_EQ(before, policy::kPassLimit);  // the turn that ended the loop took one
  }
  EXPECT_EQ(sizes[Key(Source::kPrivate, kLow)], 1000u - 3);
}

TEST_F(RotationTest, SourcesOfOnePriorityTakeTurns) {
  sizes = {{{Source::kReady, kNormal}, 100},
           {{Source::kPinned, kNormal}, 100},
           {{Source::kPrivate, kNormal}, 100}};
  std::vector<unsigned> order;
  for (int i = 0; i < 6; ++i) order.push_back(turn().first.first);
  EXPECT_EQ(order, (std::vector<unsigned>{Source::kReady, Source::kPinned, Source::kPrivate, Source::kReady,
                                          Source::kPinned, Source::kPrivate}));
}

TEST_F(RotationTest, TheCurrentTimestampGoesFirstForARowOfBatchesBetweenTurns) {
  sizes = {{{Source::kCurrent, kNormal}, 10'000}, {{Source::kPrivate, kNormal}, 10'000}};
  const auto turns_until_private = [&] {
    unsigned turns = 1;
    while (turn().first.first != Source::kPrivate) ++turns;
    return turns;
  };
  // Between two rows every source has its turn, the current timestamp's tasks are one of them.
  constexpr unsigned kBetween = 2 * (policy::kCurrentRow + 1);
  EXPECT_EQ(turns_until_private(), kBetween);
  EXPECT_EQ(turns_until_private(), kBetween);
  for (unsigned i = 0; i < 10; ++i) turn();
  rotation.begin_row();
  EXPECT_EQ(turns_until_private(), kBetween) << "the row begins anew";
}

TEST_F(RotationTest, ASourceThatGivesNothingLeavesTheTurnToTheNextPriority) {
  Waiting waiting;
  waiting.add(kHigh, Source::kReady);
  waiting.add(kNormal, Source::kPrivate);
  std::vector<unsigned> asked;
  const bool has_taken =
      rotation.take_next(ring, waiting, kLow, [&](unsigned source, unsigned, std::uint64_t) {
        asked.push_back(source);
        if (source == Source::kPrivate) ring.push(Slot(&task));
        return false;
      });
  EXPECT_TRUE(has_taken);
  EXPECT_EQ(asked, (std::vector<unsigned>{Source::kReady, Source::kPrivate}));
  EXPECT_EQ(waiting.of(kHigh), 0u);
  EXPECT_EQ(waiting.of(kNormal), 0u);
}

TEST_F(RotationTest, LooksAtNoPriorityBehindTheLast) {
  Waiting waiting;
  waiting.add(kLow, Source::kPrivate);
  EXPECT_FALSE(rotation.take_next(ring, waiting, kNormal, [](unsigned, unsigned, std::uint64_t) {
    ADD_FAILURE();
    return false;
  }));
}

}  // namespace
