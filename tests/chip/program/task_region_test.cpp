// When a task region may begin, who serves it, and what becomes of workers and their stacks (C7).
// SPDX-License-Identifier: MIT
#include "chip/program/task_region.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace rubato::chip {
namespace {

using Is = TaskRegion::Entry::Is;
using ::testing::HasSubstr;

constexpr Addr kStacks = 0x100000;
constexpr std::uint64_t kStackBytes = 2 * AddressSpace::kPageBytes;

struct Forgetful final : MemorySystem {
  std::vector<std::pair<LineAddr, LineAddr>> forgotten;
  AccessResult access(CoreId, LineAddr, AccessKind, Cycle) override { return {}; }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr first, LineAddr last) override { forgotten.emplace_back(first, last); }
};

/// Four cores on two tiles, two workers to spare a tile: eight workers are wanted.
struct RegionRig {
  RegionRig() {
    config.chip.cores = 4;
    config.chip.cores_per_tile = 2;
    config.task.spare_workers = 2;
    memory.map(kStacks, 64 * AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  }
  /// A thread at a region instruction, with a stack of its own.
  Thread& thread() {
    threads.push_back(std::make_unique<Thread>());
    Thread& made = *threads.back();
    made.tid = static_cast<int>(threads.size());
    made.regs.pc = 0x1000;
    made.regs.x[reg::a0] = kStacks + (threads.size() - 1) * kStackBytes;
    made.regs.x[reg::sp] = made.regs.x[reg::a0] + kStackBytes;
    return made;
  }
  void add_workers(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) region.add_worker(thread());
  }
  TaskRegion::Entry enter(Thread& thread, bool is_in_detail = true, std::uint64_t now = 0) {
    return region.enter(thread, threads, is_in_detail, Cycle{now});
  }

  Config config;
  AddressSpace memory;
  Forgetful caches;
  TaskRegion region{config, memory, caches};
  TaskRegion::Threads threads;
};

TEST(TaskRegion, IsDueWhenAllOtherThreadsServeItOrAreBlocked) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(7);
  rig.thread().state = ThreadState::blocked;
  rig.thread().state = ThreadState::exited;
  EXPECT_EQ(rig.region.wanted_workers(), 8u);
  EXPECT_EQ(rig.enter(owner).is, Is::due);
  EXPECT_EQ(rig.region.entering(), nullptr);
}

TEST(TaskRegion, WaitsForThreadsThatMayStillBecomeWorkers) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(6);
  Thread& late = rig.thread();
  const TaskRegion::Entry entry = rig.enter(owner, true, 500'000);
  EXPECT_EQ(entry.is, Is::waiting);
  EXPECT_EQ(rig.region.entering(), &owner);
  EXPECT_FALSE(entry.retry_at);  // it has all the time that it needs
  rig.region.add_worker(late);
  EXPECT_EQ(rig.enter(owner).is, Is::due);
  EXPECT_EQ(rig.region.entering(), nullptr);
}

TEST(TaskRegion, GivesOthersTimeToBlockInDetailAndThenRefuses) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(7);
  Thread& other = rig.thread();
  const TaskRegion::Entry first = rig.enter(owner, true, 1000);
  EXPECT_EQ(first.is, Is::waiting);
  EXPECT_EQ(first.retry_at, Cycle{101'000});
  const TaskRegion::Entry second = rig.enter(owner, true, 100'999);
  EXPECT_EQ(second.is, Is::waiting);
  EXPECT_FALSE(second.retry_at);  // one event is enough
  const TaskRegion::Entry last = rig.enter(owner, true, 101'000);
  EXPECT_EQ(last.is, Is::refused);
  EXPECT_THAT(last.why, HasSubstr("thread " + std::to_string(other.tid) + " is runnable"));
  EXPECT_EQ(rig.region.entering(), nullptr);
}

TEST(TaskRegion, GivesOthersAThousandTurnsInFastForward) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(7);
  rig.thread();
  for (int turn = 1; turn < 1000; ++turn) {
    ASSERT_EQ(rig.enter(owner, false).is, Is::waiting_in_fast_forward) << turn;
    ASSERT_EQ(rig.region.entering(), nullptr);  // it enters again by itself
  }
  EXPECT_EQ(rig.enter(owner, false).is, Is::refused);
}

TEST(TaskRegion, NeedsAWorkerForEachCore) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(2);
  const TaskRegion::Entry entry = rig.enter(owner);
  EXPECT_EQ(entry.is, Is::refused);
  EXPECT_THAT(entry.why, HasSubstr("each of 4 cores, the program started 3"));
  rig.add_workers(1);
  EXPECT_EQ(rig.enter(owner).is, Is::due);
}

TEST(TaskRegion, SeatsItsOwnerAndWorkersInOrderAndSparesTheRest) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(7);
  rig.region.begin(owner, true, false);
  EXPECT_TRUE(rig.region.is_running());
  ASSERT_EQ(rig.region.workers().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rig.region.workers()[i].thread, rig.threads[i].get());
    EXPECT_EQ(rig.threads[i]->core, i);
  }
  EXPECT_EQ(rig.region.spare_workers(), 2u);
  EXPECT_EQ(rig.region.stacks().size(), 8u);
  // The last one of a tile is taken first.
  EXPECT_EQ(rig.region.take(TileId{0}).thread, rig.threads[5].get());
  EXPECT_EQ(rig.region.take(TileId{0}).thread, rig.threads[4].get());
  EXPECT_EQ(rig.region.take(TileId{1}).thread, rig.threads[7].get());
}

TEST(TaskRegion, HasAsManySpareWorkersAsEachTileCanHave) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(6);  // three beyond the cores: one for each of two tiles
  rig.region.begin(owner, true, false);
  EXPECT_EQ(rig.region.spare_workers(), 1u);
  EXPECT_EQ(rig.region.take(TileId{1}).thread, rig.threads[5].get());
}

TEST(TaskRegion, MarksStacksAndForgetsTheirLinesWhereTheyMayBeCached) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(3);
  rig.threads[2]->regs.x[reg::a0] = 0;  // no usable stack: page 0 is not mapped
  rig.region.begin(owner, true, false);
  EXPECT_TRUE(rig.memory.is_in_worker_stack(kStacks));
  EXPECT_EQ(rig.caches.forgotten.size(), 3u);
  EXPECT_EQ(rig.caches.forgotten.front(), (std::pair{line_of(kStacks), line_of(kStacks + kStackBytes - 1)}));
  EXPECT_EQ(rig.region.workers()[2].stack_low, rig.region.workers()[2].stack_high);
  rig.region.end();
  EXPECT_FALSE(rig.memory.is_in_worker_stack(kStacks));
}

TEST(TaskRegion, ThatBeginsInFastForwardFindsNoStackInCaches) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(3);
  rig.region.begin(owner, false, true);
  EXPECT_TRUE(rig.caches.forgotten.empty());
  EXPECT_FALSE(rig.region.is_within_detail());
  EXPECT_TRUE(rig.region.is_within_roi());
}

TEST(TaskRegion, GivesThreadsTheirRegistersBackAndItsOwnerGoesOnBehindRun) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(3);
  rig.region.begin(owner, true, false);
  for (const auto& thread : rig.threads) thread->regs = {};  // tasks have used them
  EXPECT_EQ(&rig.region.end(), &owner);
  EXPECT_FALSE(rig.region.is_running());
  EXPECT_FALSE(owner.is_worker);
  EXPECT_EQ(owner.regs.pc, 0x1008u);
  EXPECT_TRUE(rig.threads[1]->is_worker);
  EXPECT_EQ(rig.threads[1]->regs.pc, 0x1000u);
}

TEST(TaskRegion, WaitsAnewForEachRegion) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(7);
  Thread& other = rig.thread();
  rig.enter(owner, true, 1000);
  other.state = ThreadState::blocked;
  EXPECT_EQ(rig.enter(owner, true, 2000).is, Is::due);
  rig.region.begin(owner, true, false);
  rig.region.end();
  other.state = ThreadState::runnable;
  const TaskRegion::Entry again = rig.enter(owner, true, 200'000);
  EXPECT_EQ(again.is, Is::waiting);
  EXPECT_EQ(again.retry_at, Cycle{300'000});
}

TEST(TaskRegion, KeepsSuspendedRunsByThreadAndInterruptsDoomedOnesOnce) {
  RegionRig rig;
  Thread& owner = rig.thread();
  rig.add_workers(7);
  rig.region.begin(owner, true, false);
  rig.caches.forgotten.clear();
  SuspendedTask task;
  task.worker = rig.region.workers()[1];
  task.tile = TileId{0};
  const std::uint64_t first = rig.region.suspend(task);
  EXPECT_EQ(rig.caches.forgotten.size(), 1u);  // its worker's stack
  task.worker = rig.region.workers()[2];
  task.tile = TileId{1};
  const std::uint64_t second = rig.region.suspend(task);
  EXPECT_NE(first, second);
  ASSERT_NE(rig.region.suspended_on(*rig.threads[1]), nullptr);
  EXPECT_EQ(rig.region.suspended_on(*rig.threads[1])->task.run, first);
  EXPECT_EQ(rig.region.suspended_on(owner), nullptr);
  const auto second_is_doomed = [&](TileId tile, std::uint64_t run) {
    return tile == TileId{1} && run == second;
  };
  EXPECT_EQ(rig.region.interrupt_doomed(second_is_doomed), (std::vector<Thread*>{rig.threads[2].get()}));
  EXPECT_TRUE(rig.region.interrupt_doomed(second_is_doomed).empty());
  EXPECT_EQ(rig.region.resume(second).worker.thread, rig.threads[2].get());
  EXPECT_EQ(rig.region.suspended_on(*rig.threads[2]), nullptr);
}

}  // namespace
}  // namespace rubato::chip
