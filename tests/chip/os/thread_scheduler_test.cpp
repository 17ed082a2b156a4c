// The thread scheduler: turns, homes, and starvation freedom.
// SPDX-License-Identifier: MIT
#include "chip/os/thread_scheduler.hpp"

#include <gtest/gtest.h>

#include <array>

namespace rubato::chip {
namespace {

struct Threads {
  std::array<Thread, 6> all;
  Threads() {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].tid = 1000 + static_cast<int>(i);
  }
};

TEST(ThreadScheduler, NewThreadsRunInOrderOfArrival) {
  Threads threads;
  ThreadScheduler scheduler(2);
  EXPECT_EQ(scheduler.pick(CoreId{0}), nullptr);
  scheduler.add(threads.all[0]);
  scheduler.add(threads.all[1]);
  EXPECT_TRUE(scheduler.has_waiting());
  EXPECT_EQ(scheduler.pick(CoreId{1}), &threads.all[0]);
  EXPECT_EQ(scheduler.pick(CoreId{0}), &threads.all[1]);
  EXPECT_FALSE(scheduler.has_waiting());
}

TEST(ThreadScheduler, AThreadReturnsToItsCore) {
  Threads threads;
  ThreadScheduler scheduler(2);
  for (unsigned i = 0; i < 2; ++i) {
    scheduler.add(threads.all[i]);
    scheduler.pick(CoreId{i});
  }
  scheduler.add(threads.all[0]);
  scheduler.add(threads.all[1]);
  EXPECT_EQ(scheduler.pick(CoreId{1}), &threads.all[1]);
  EXPECT_EQ(scheduler.pick(CoreId{0}), &threads.all[0]);
}

TEST(ThreadScheduler, EveryThreadGetsItsTurn) {
  Threads threads;
  ThreadScheduler scheduler(2);
  for (auto& thread : threads.all) scheduler.add(thread);
  std::array<int, 6> turns{};
  std::array<Thread*, 2> running{};
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint32_t core = static_cast<std::uint32_t>(round % 2);
    if (running[core] != nullptr) scheduler.add(*running[core]);
    running[core] = scheduler.pick(CoreId{core});
    ++turns[static_cast<std::size_t>(running[core]->tid - 1000)];
  }
  for (int count : turns) EXPECT_GE(count, kRounds / 6 / 3);
}

TEST(ThreadScheduler, AThreadIsGivenNoCoreThatItsAffinityLeavesOut) {
  Threads threads;
  ThreadScheduler scheduler(70);
  threads.all[0].affinity = {0, 1U << 5};  // core 69
  threads.all[1].affinity = {1U << 1 | 1U << 3, 0};
  scheduler.add(threads.all[0]);
  scheduler.add(threads.all[1]);
  EXPECT_TRUE(scheduler.has_waiting(CoreId{3}));
  EXPECT_FALSE(scheduler.has_waiting(CoreId{2}));
  EXPECT_EQ(scheduler.pick(CoreId{2}), nullptr);
  EXPECT_EQ(scheduler.pick(CoreId{5}), nullptr);
  EXPECT_EQ(scheduler.pick(CoreId{3}), &threads.all[1]);
  EXPECT_FALSE(scheduler.has_waiting(CoreId{3}));
  EXPECT_EQ(scheduler.pick(CoreId{69}), &threads.all[0]);
}

TEST(ThreadScheduler, AffinityWinsOverTheCoreOfTheLastTurn) {
  Threads threads;
  ThreadScheduler scheduler(2);
  scheduler.add(threads.all[0]);
  EXPECT_EQ(scheduler.pick(CoreId{0}), &threads.all[0]);
  threads.all[0].affinity = {2};
  scheduler.add(threads.all[0]);
  EXPECT_EQ(scheduler.pick(CoreId{0}), nullptr);
  EXPECT_EQ(scheduler.pick(CoreId{1}), &threads.all[0]);
}

TEST(ThreadScheduler, ARemovedThreadIsNotPicked) {
  Threads threads;
  ThreadScheduler scheduler(1);
  scheduler.add(threads.all[0]);
  scheduler.add(threads.all[1]);
  scheduler.remove(threads.all[0]);
  EXPECT_EQ(scheduler.waiting(), 1u);
  EXPECT_EQ(scheduler.pick(CoreId{0}), &threads.all[1]);
}

}  // namespace
}  // namespace rubato::chip
