// SPDX-License-Identifier: MIT
#include "chip/task/commit_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rubato::chip {
namespace {

void expect_agreement(const CommitQueue& queue) {
  ASSERT_EQ(queue.times().size(), queue.attempts().size());
  for (std::size_t i = 0; i < queue.times().size(); ++i)
    EXPECT_EQ(queue.times()[i], queue.attempts()[i]->virtual_time);
}

TEST(CommitQueue, KeepsEachAttemptsVirtualTimeInItsPlaceWhoeverLeaves) {
  std::array<Attempt, 4> attempts;
  CommitQueue queue(4);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    attempts[i].virtual_time = {10 * (i + 1), i};
    queue.add(&attempts[i]);
  }
  EXPECT_TRUE(queue.full());
  expect_agreement(queue);
  for (const std::size_t leaves : {1U, 3U, 0U}) {
    queue.remove(&attempts[leaves]);
    expect_agreement(queue);
  }
  ASSERT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.attempts()[0], &attempts[2]);
}

TEST(CommitQueue, VisitsTheAttemptsThatStopped) {
  std::array<Attempt, 3> attempts;
  attempts[0].state = Attempt::State::finished;
  attempts[1].state = attempts[2].state = Attempt::State::exceptioned;
  CommitQueue queue(0);
  const auto visited = [&] {
    std::vector<const Attempt*> result;
    queue.for_each_exceptioned([&](const Attempt* attempt) { result.push_back(attempt); });
    return result;
  };
  using Attempts = std::vector<const Attempt*>;
  for (Attempt& attempt : attempts) queue.add(&attempt);
  EXPECT_EQ(visited(), (Attempts{&attempts[1], &attempts[2]}));
  queue.remove(&attempts[0]);  // the last takes its place
  EXPECT_EQ(visited(), (Attempts{&attempts[2], &attempts[1]}));
  queue.remove(&attempts[1]);
  EXPECT_EQ(visited(), Attempts{&attempts[2]});
  queue.remove(&attempts[2]);
  EXPECT_EQ(visited(), Attempts{});
}

TEST(CommitQueue, GivesThoseBeforeATimeTheLastOnesFirst) {
  std::array<Attempt, 4> attempts;
  CommitQueue queue(0);
  const std::array<VirtualTime, 4> times{{{10, 3}, {20, 0}, {10, 1}, {20, 1}}};
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    attempts[i].virtual_time = times[i];
    queue.add(&attempts[i]);
  }
  std::vector<Attempt*> scratch;
  const auto before = [&](VirtualTime time) {
    const auto found = queue.before(time, scratch);
    return std::vector<const Attempt*>(found.begin(), found.end());
  };
  using Attempts = std::vector<const Attempt*>;
  EXPECT_EQ(before({10, 1}), Attempts{});
  EXPECT_EQ(before({10, 3}), Attempts{&attempts[2]});
  EXPECT_EQ(before({20, 1}), (Attempts{&attempts[2], &attempts[1], &attempts[0]}));
  queue.remove(&attempts[0]);
  EXPECT_EQ(before(kMaxVirtualTime), (Attempts{&attempts[2], &attempts[1], &attempts[3]}));
}

}  // namespace
}  // namespace rubato::chip
