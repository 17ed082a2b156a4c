// R9: the monotone priority structure, against a sorted container, with random monotone sequences.
// SPDX-License-Identifier: MIT
#include "native/order/radix_heap.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace {

using rubato::engine::Task;
using rubato::native::Chain;
using rubato::native::RadixHeap;

std::unique_ptr<Task> task_at(std::uint64_t at, std::uint64_t number) {
  auto task = std::make_unique<Task>();
  task->handle = rubato::engine::handle::kTimestamped;
  task->words[0] = number;
  task->words[rubato::engine::kInlineWords - 1] = at;
  return task;
}

TEST(RadixHeap, PopsTimestampsInOrderAndTasksOfOneInTheOrderOfTheirInsertion) {
  std::mt19937_64 random(7);
  for (const std::uint64_t spread : {3u, 100u, 1'000'000'000u}) {
    RadixHeap heap;
    std::vector<std::unique_ptr<Task>> tasks;
    std::map<std::uint64_t, std::vector<std::uint64_t>> expected;
    std::uint64_t now = 0;
    const auto push = [&] {
      const std::uint64_t at = now + random() % spread;
      tasks.push_back(task_at(at, tasks.size()));
      expected[at].push_back(tasks.size() - 1);
      heap.push(tasks.back().get(), at);
    };
    for (int i = 0; i < 100; ++i) push();
    while (!heap.is_empty()) {
      ASSERT_EQ(heap.min(), expected.begin()->first);
      ASSERT_GE(heap.min_size_bound(), expected.begin()->second.size());
      now = heap.min();
      Chain chain = heap.pop_min();
      ASSERT_EQ(chain.size, expected.begin()->second.size());
      for (const std::uint64_t number : expected.begin()->second) ASSERT_EQ(chain.take()->words[0], number);
      expected.erase(expected.begin());
      if (tasks.size() < 2000) {
        for (std::uint64_t i = 0; i < 1 + random() % 2; ++i) push();
      }
    }
    EXPECT_TRUE(expected.empty());
    EXPECT_EQ(heap.size(), 0u);
  }
}

TEST(RadixHeap, TakesTheSmallestAndTheLargestTimestamp) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  RadixHeap heap;
  const auto last = task_at(kLargest, 0), first = task_at(0, 1), before_last = task_at(kLargest - 1, 2);
  heap.push(last.get(), kLargest);
  heap.push(first.get(), 0);
  EXPECT_EQ(heap.min(), 0u);
  EXPECT_EQ(heap.pop_min().first, first.get());
  heap.push(before_last.get(), kLargest - 1);
  EXPECT_EQ(heap.pop_min().first, before_last.get());
  EXPECT_EQ(heap.min(), kLargest);
  EXPECT_EQ(heap.pop_min().first, last.get());
  EXPECT_TRUE(heap.is_empty());
}

TEST(RadixHeap, BeginsAnewAfterReset) {
  RadixHeap heap;
  const auto late = task_at(1000, 0), early = task_at(3, 1);
  heap.push(late.get(), 1000);
  static_cast<void>(heap.pop_min());
  heap.reset();
  heap.push(early.get(), 3);
  EXPECT_EQ(heap.min(), 3u);
}

}  // namespace
