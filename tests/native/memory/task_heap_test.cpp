// R8: three levels, LIFO, batches that keep consumers from hoarding, blocks that never overlap.
// SPDX-License-Identifier: MIT
#include "native/memory/task_heap.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "native/topology/topology.hpp"

namespace {

using rubato::native::Batch;
using rubato::native::BatchBag;
using rubato::native::TaskHeap;
using rubato::native::WorkerHeap;

std::uintptr_t number(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }

TEST(TaskHeap, HandsOutTheLastBlockFreedFirst) {
  TaskHeap heap;
  WorkerHeap worker(heap, 0);
  void* const a = worker.allocate<64>();
  void* const b = worker.allocate<64>();
  worker.free<64>(a);
  worker.free<64>(b);
  EXPECT_EQ(worker.allocate<64>(), b);
  EXPECT_EQ(worker.allocate<64>(), a);
}

TEST(TaskHeap, AlignsBlocksToLinesAndKeepsThemApart) {
  TaskHeap heap;
  WorkerHeap worker(heap, 0);
  std::set<std::uintptr_t> lines;
  for (int i = 0; i < 40'000; ++i) {  // more than a slab of 2 MB
    void* const task = worker.allocate<64>();
    void* const extended = worker.allocate<128>();
    ASSERT_EQ(number(task) % 64, 0u);
    ASSERT_EQ(number(extended) % 64, 0u);
    std::memset(task, 1, 64);
    std::memset(extended, 2, 128);
    ASSERT_TRUE(lines.insert(number(task)).second);
    ASSERT_TRUE(lines.insert(number(extended)).second);
    ASSERT_TRUE(lines.insert(number(extended) + 64).second);
  }
}

TEST(TaskHeap, TakesNoMoreMemoryInSteadyState) {
  TaskHeap heap;
  WorkerHeap worker(heap, 0);
  std::vector<void*> blocks(10'000);
  std::size_t after_first = 0;
  for (int round = 0; round < 20; ++round) {
    for (void*& block : blocks) block = worker.allocate<64>();
    for (void* block : blocks) worker.free<64>(block);
    if (round == 0) after_first = heap.bytes();
  }
  EXPECT_GE(after_first, blocks.size() * 64);
  EXPECT_EQ(heap.bytes(), after_first);
}

// A worker that only frees must feed the one that only allocates: what is in use at once is 1,000 blocks (64
// kB).
TEST(TaskHeap, DoesNotHoardAtAConsumer) {
  TaskHeap heap;
  WorkerHeap producer(heap, 0);
  WorkerHeap consumer(heap, 0);
  std::vector<void*> blocks(1'000);
  for (int round = 0; round < 1'000; ++round) {
    for (void*& block : blocks) block = producer.allocate<64>();
    for (void* block : blocks) consumer.free<64>(block);
  }
  EXPECT_EQ(heap.bytes(), std::size_t{2} << 20) << "one slab";
}

TEST(TaskHeap, DoesNotHoardInACoreGroupOfConsumers) {
  TaskHeap heap({.group_nodes = {0, 0}});
  WorkerHeap producer(heap, 0);
  WorkerHeap consumer(heap, 1);
  std::vector<void*> blocks(1'000);
  for (int round = 0; round < 1'000; ++round) {
    for (void*& block : blocks) block = producer.allocate<128>();
    for (void* block : blocks) consumer.free<128>(block);
  }
  EXPECT_EQ(heap.bytes(), std::size_t{2} << 20) << "one slab: the group keeps 32 batches, 256 kB, at most";
}

TEST(TaskHeap, KeepsNodesApart) {
  TaskHeap heap({.group_nodes = {0, 1}});
  WorkerHeap near(heap, 0);
  WorkerHeap far(heap, 1);
  const std::uintptr_t slab_of_near = number(near.allocate<64>()) >> 21;
  for (int i = 0; i < 1'000; ++i) EXPECT_NE(number(far.allocate<64>()) >> 21, slab_of_near);
}

// A made-up machine: CPUs 0 and 1 share a cache, 2 and 3 another, 4 and 5 are on a second NUMA node.
TEST(TaskHeap, FollowsTheCoreGroupsOfAMachine) {
  rubato::native::Topology machine;
  machine.groups = 3;
  machine.allowed = {{0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {3, 1, 0}, {4, 2, 1}, {5, 2, 1}};
  TaskHeap heap({.group_nodes = machine.group_nodes()});
  ASSERT_EQ(heap.groups(), 3u);
  std::vector<std::unique_ptr<WorkerHeap>> workers;
  for (unsigned w = 0; w < 6; ++w) workers.push_back(std::make_unique<WorkerHeap>(heap, machine.group_of(w)));

  // Worker 0 frees more than it keeps, but no more than its group keeps.
  std::set<void*> freed;
  std::vector<void*> blocks(8 * Batch::kBlocks);
  for (void*& block : blocks) block = workers[0]->allocate<64>();
  for (void* block : blocks) workers[0]->free<64>(block);
  freed.insert(blocks.begin(), blocks.end());
  const auto reused_by = [&](unsigned worker) {
    std::size_t reused = 0;
    for (std::size_t i = 0; i < Batch::kBlocks; ++i) reused += freed.count(workers[worker]->allocate<64>());
    return reused;
  };
  EXPECT_EQ(reused_by(2), 0u) << "another core group";
  EXPECT_EQ(reused_by(4), 0u) << "another node";
  EXPECT_EQ(reused_by(1), Batch::kBlocks) << "the same core group";

  // Blocks that overflow a group are for the groups of its node, never for another node.
  std::vector<void*> many((BatchBag::kSlots + 8) * Batch::kBlocks);
  for (void*& block : many) block = workers[0]->allocate<64>();
  for (void* block : many) workers[0]->free<64>(block);
  freed.insert(many.begin(), many.end());
  EXPECT_EQ(reused_by(5), 0u);
  EXPECT_EQ(reused_by(3), Batch::kBlocks) << "from the node's level";
}

TEST(TaskHeap, InheritsTheBlocksOfWorkersThatEnd) {
  TaskHeap heap;
  for (int i = 0; i < 100; ++i) {
    WorkerHeap worker(heap, 0);
    std::vector<void*> blocks(500);
    for (void*& block : blocks) block = worker.allocate<64>();
    for (void* block : blocks) worker.free<64>(block);
  }
  EXPECT_EQ(heap.bytes(), std::size_t{2} << 20);
}

TEST(TaskHeap, CanUseMallocForComparison) {
  TaskHeap heap({.uses_malloc = true});
  WorkerHeap worker(heap, 0);
  for (int i = 0; i < 1'000; ++i) {
    void* const a = worker.allocate<64>();
    void* const b = worker.allocate<64>();
    EXPECT_EQ(number(a) % 64, 0u);
    EXPECT_NE(a, b);
    worker.free<64>(a);
    worker.free<64>(b);
  }
  EXPECT_EQ(heap.bytes(), 0u);
}

TEST(TaskHeap, RefusesGroupsThatDoNotExist) {
  EXPECT_THROW(TaskHeap({.group_nodes = {}}), std::invalid_argument);
  TaskHeap heap({.group_nodes = {0, 0}});
  EXPECT_THROW(WorkerHeap(heap, 2), std::invalid_argument);
}

TEST(BatchBag, IsBoundedAndReturnsTheLastFirst) {
  std::vector<Batch> batches(BatchBag::kSlots + 1);
  BatchBag bag;
  EXPECT_EQ(bag.take(), nullptr);
  for (unsigned i = 0; i < BatchBag::kSlots; ++i) EXPECT_TRUE(bag.put(&batches[i]));
  EXPECT_FALSE(bag.put(&batches.back()));
  for (unsigned i = BatchBag::kSlots; i-- > 0;) EXPECT_EQ(bag.take(), &batches[i]);
  EXPECT_EQ(bag.take(), nullptr);
}

// Each block carries its current owner; two owners at once would overwrite each other's mark.
TEST(TaskHeapStress, GivesEachBlockToOneOwner) {
  for (const unsigned threads : {2u, 4u, 8u}) {
    TaskHeap heap({.group_nodes = {0, 0}});
    constexpr unsigned kMailboxes = 64;
    std::vector<std::atomic<std::uint64_t*>> mailboxes(kMailboxes);
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::thread> crew;
    for (unsigned t = 0; t < threads; ++t) {
      crew.emplace_back([&, t] {
        WorkerHeap worker(heap, t % 2);
        std::uint64_t random = t + 1;
        std::vector<std::uint64_t*> mine;
        for (unsigned step = 0; step < 100'000; ++step) {
          random = random * 6364136223846793005u + 1442695040888963407u;
          // Bursts in both directions, so that batches travel.
          if (mine.size() < ((random >> 40) % 512)) {
            auto* const block = static_cast<std::uint64_t*>(worker.allocate<64>());
            for (int i = 0; i < 8; ++i) block[i] = number(block) + t;
            mine.push_back(block);
            continue;
          }
          if (mine.empty()) continue;
          std::uint64_t* block = mine.back();
          mine.pop_back();
          for (int i = 0; i < 8; ++i) wrong += block[i] != number(block) + t;
          // Every other block changes hands before it is freed.
          block[0] = number(block);
          if ((random >> 20 & 1) != 0) {
            block = mailboxes[(random >> 30) % kMailboxes].exchange(block, std::memory_order_acq_rel);
            if (block == nullptr) continue;
            wrong += block[0] != number(block);
          }
          worker.free<64>(block);
        }
        for (std::uint64_t* block : mine) worker.free<64>(block);
      });
    }
    for (std::thread& thread : crew) thread.join();
    EXPECT_EQ(wrong.load(), 0u);
  }
}

#if defined(RUBATO_POISONS_MEMORY)
TEST(TaskHeapDeathTest, PoisonsFreedBlocks) {
  TaskHeap heap;
  WorkerHeap worker(heap, 0);
  auto* const block = static_cast<volatile std::uint64_t*>(worker.allocate<64>());
  block[7] = 1;
  worker.free<64>(const_cast<std::uint64_t*>(block));
  EXPECT_DEATH(block[7] = 2, "use-after-poison");
}
#endif

}  // namespace
