// The heap of ready tasks against a sorted list.
// SPDX-License-Identifier: MIT
#include "chip/task/ready_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/rng.hpp"

namespace rubato::chip {
namespace {

TEST(ReadyHeap, AgreesWithASortedListUnderRandomPushPopRemoveAndSweep) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::unique_ptr<Task>> tasks;
    std::vector<Task*> sorted;
    ReadyHeap heap;
    const auto before = [](const Task* a, const Task* b) { return a->before(*b); };
    for (int step = 0; step < 300; ++step) {
      const std::uint64_t action = rng.below(10);
      if (action < 5 || sorted.empty()) {
        Task* task = tasks.emplace_back(std::make_unique<Task>()).get();
        task->order = rng.below(20);
        task->tie = tasks.size();
        heap.push(task);
        sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), task, before), task);
      } else if (action < 8) {
        ASSERT_EQ(heap.pop(), sorted.front());
        ASSERT_FALSE(sorted.front()->is_ready);
        sorted.erase(sorted.begin());
      } else if (action < 9) {
        const auto any = sorted.begin() + static_cast<std::ptrdiff_t>(rng.below(sorted.size()));
        heap.remove(*any);
        ASSERT_FALSE((*any)->is_ready);
        sorted.erase(any);
      } else {  // every other one of the later ones
        const std::size_t first = rng.below(sorted.size());
        const OrderedTask from{sorted[first]->order, sorted[first]->tie, sorted[first]};
        for (std::size_t i = first; i < sorted.size(); ++i) {
          sorted[i]->is_ready = false;
          sorted.erase(sorted.begin() + static_cast<std::ptrdiff_t>(i));
        }
        heap.sweep(from);
      }
      ASSERT_EQ(heap.top(), sorted.empty() ? nullptr : sorted.front());
    }
    for (Task* task : sorted) ASSERT_EQ(heap.pop(), task);
    ASSERT_TRUE(heap.empty());
  }
}

}  // namespace
}  // namespace rubato::chip
