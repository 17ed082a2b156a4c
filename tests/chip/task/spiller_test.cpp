// Spills and refills of a tile: which tasks go to memory, what that reads and writes, and in which order
// they come back (C13).
// SPDX-License-Identifier: MIT
#include "chip/task/spiller.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tests/chip/task/tile_rig.hpp"

namespace rubato::chip {
namespace {

Config small_queues() {
  Config config = test::small_config(4, 2);
  config.task.task_queue = 8;  // sixteen entries, of which refills keep one; the threshold is fourteen
  config.task.spill_batch = 4;
  return config;
}

/// A tile of two cores with sixteen entries of the task queue. Tasks of timestamp 0 are the earliest.
struct SpillerRig : test::TileRig {
  SpillerRig() : TileRig(small_queues()) {}
  void fill(std::uint32_t tasks, std::int64_t first = 100) {
    for (std::uint32_t i = 0; i < tasks; ++i) put({.at = first + i});
  }
  /// Runs a spill on core 0. @returns the cycle of its last step.
  Cycle spill(Cycle now = {}) {
    spiller.start_spill();
    for (Cycle next = now; next != kNever; next = spiller.step_spill(state.core_of(0), now)) now = next;
    return now;
  }
  /// The refill runs on core 0 until it ends or yields. @returns the timestamps of the tasks that it read.
  std::vector<Timestamp> refill(Task* task) {
    const std::vector<Task*> before = all_idle();
    spiller.start_refill(task, 0);
    state.states.set(0, CoreState::internal);
    std::vector<Timestamp> read;
    bool is_read = false;
    for (Cycle now{}, next{}; next != kNever; now = next) {
      next = spiller.step_refill(state.core_of(0), next, is_read);
      if (!std::exchange(is_read, false)) continue;
      for (const Task* const idle : all_idle())
        if (std::find(before.begin(), before.end(), idle) == before.end() && seen.insert(idle->id).second)
          read.push_back(idle->order);
    }
    seen.clear();
    state.states.set(0, CoreState::busy);
    return read;
  }
  std::vector<Task*> all_idle() const {
    std::vector<Task*> all;
    for (const Lane lane : kAllLanes)
      state.queue.any_idle(lane, [&](const Task& task) {
        all.push_back(const_cast<Task*>(&task));
        return false;
      });
    return all;
  }
  std::set<std::uint64_t> seen;  // ids of tasks
  Admission admission{state};
  Spiller spiller{state, admission, 0x4000'0000, 1U << 24};
};

TEST(Spiller, SpillsFromTheThresholdOnAndSmallBatchesOnlyForAnEntryThatIsNeeded) {
  struct Row {
    std::uint32_t idle, active;
    bool can_spill;
  };
  // Attempts have entries, too, and leave fewer tasks to spill.
  for (const Row& row : {Row{12, 0, false}, Row{13, 0, true}, Row{8, 5, true}, Row{4, 9, false},
                         Row{4, 10, true}, Row{2, 12, true}, Row{0, 14, false}}) {
    SpillerRig rig;
    for (std::uint32_t i = 0; i < row.active; ++i) {
      rig.run(0, i + 1, true);
      rig.state.leave_core(0, CoreState::busy);  // it has finished, and keeps its entry
    }
    rig.fill(row.idle);
    EXPECT_EQ(rig.spiller.can_spill(), row.can_spill)
        << row.idle << " idle tasks, " << row.active << " attempts";
  }
}

TEST(Spiller, WritesTheLatestTasksInWholeLinesAndLeavesARefillForTheEarliestOfThem) {
  SpillerRig rig;
  rig.fill(13);
  rig.spill();
  EXPECT_EQ(rig.state.queue.idle(Lane::timestamped_nonspec), 9u);
  EXPECT_EQ(rig.spiller.spilled_tasks(), 4u);
  EXPECT_EQ(rig.state.counts.spilled, 4u);
  ASSERT_NE(rig.spiller.next_refill(), nullptr);
  EXPECT_EQ(rig.spiller.next_refill()->order, 109u);
  // Function, timestamp and one argument: 24 bytes each, so two lines.
  EXPECT_EQ(rig.memory.stores, 2u);
  EXPECT_EQ(rig.memory.loads, 0u);
  EXPECT_EQ(rig.state.queue.entries(), 10u);  // with that of the refill
}

TEST(Spiller, ReadsABatchBackInOrder) {
  SpillerRig rig;
  rig.fill(13);
  rig.spill();
  rig.state.queue.discard(rig.all_idle().front());  // there is room for four
  const std::vector<Timestamp> read = rig.refill(rig.spiller.next_refill());
  EXPECT_EQ(read, (std::vector<Timestamp>{109, 110, 111, 112}));
  EXPECT_EQ(rig.memory.loads, 2u);
  EXPECT_EQ(rig.spiller.spilled_tasks(), 0u);
  EXPECT_EQ(rig.spiller.next_refill(), nullptr);
  EXPECT_EQ(rig.state.queue.entries(), 12u);
}

TEST(Spiller, YieldsAtTheThresholdAndKeepsItsPlace) {
  SpillerRig rig;
  rig.fill(13);
  rig.spill();
  rig.fill(1, 20);  // so two of the four find room
  const std::vector<Timestamp> read = rig.refill(rig.spiller.next_refill());
  EXPECT_EQ(read, (std::vector<Timestamp>{109, 110}));
  ASSERT_NE(rig.spiller.next_refill(), nullptr);
  EXPECT_EQ(rig.spiller.next_refill()->order, 111u);
  EXPECT_EQ(rig.spiller.spilled_tasks(), 2u);
}

TEST(Spiller, ReadsTheEarliestBatchFirstAndKeepsLaterRefillsInMemory) {
  SpillerRig rig;
  // Two refills have entries: an eighth of sixteen.
  std::vector<Task*> first, second, third;
  for (const std::int64_t t : {60, 61}) first.push_back(&rig.make_task({.at = t}));
  for (const std::int64_t t : {40, 41}) second.push_back(&rig.make_task({.at = t}));
  for (const std::int64_t t : {50, 51}) third.push_back(&rig.make_task({.at = t}));
  rig.spiller.add(first);
  EXPECT_FALSE(rig.spiller.has_outside_queue());
  rig.spiller.add(second);
  rig.spiller.add(third);
  EXPECT_EQ(rig.state.queue.refills(), 2u);
  EXPECT_TRUE(rig.spiller.has_outside_queue());  // the latest
  std::vector<Timestamp> read;
  while (Task* const next = rig.spiller.next_refill())
    for (const Timestamp t : rig.refill(next)) read.push_back(t);
  EXPECT_EQ(read, (std::vector<Timestamp>{40, 41, 50, 51, 60, 61}));
  EXPECT_FALSE(rig.spiller.has_refills());
  EXPECT_FALSE(rig.spiller.has_outside_queue());
}

TEST(Spiller, ChainsTasksWithoutATimestampBehindOneRefillThatHasNoEntry) {
  SpillerRig rig;
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<Task*> tasks;
    for (int i = 0; i < 2; ++i) tasks.push_back(&rig.make_task({}));
    rig.spiller.add(tasks);
  }
  EXPECT_EQ(rig.state.queue.refills(), 0u);
  EXPECT_EQ(rig.spiller.next_refill(), nullptr);
  Task* const refill = rig.spiller.idle_untimed_refill();
  ASSERT_NE(refill, nullptr);
  // A batch a dispatch.
  for (int batch = 0; batch < 3; ++batch) {
    ASSERT_EQ(rig.spiller.idle_untimed_refill(), refill);
    EXPECT_EQ(rig.refill(refill).size(), 2u);
  }
  EXPECT_EQ(rig.spiller.untimed_refill(), nullptr);
  EXPECT_EQ(rig.spiller.spilled_tasks(), 0u);
}

TEST(Spiller, KeepsTheOnlyTaskThatWasReadBackWhereOnlyAttemptsWantItsEntry) {
  struct Row {
    bool is_read_back, waits_committed, can_spill;
  };
  for (const Row& row : {Row{true, false, false}, Row{false, false, true}, Row{true, true, true}}) {
    SpillerRig rig;
    for (std::uint32_t i = 0; i < 14; ++i) {
      rig.run(0, i + 1, true);
      rig.state.leave_core(0, CoreState::busy);
    }
    rig.put({.at = 100}).is_read_back = row.is_read_back;
    Task& refused = rig.make_task({.at = 200});
    if (row.waits_committed) {
      EXPECT_FALSE(rig.admission.receive(&refused, TileId{0}, 0, false, Cycle{0}));
    }
    EXPECT_EQ(rig.spiller.can_spill(), row.can_spill) << row.is_read_back << row.waits_committed;
  }
}

TEST(Spiller, GivesGuestsATurnAfterEachSpillAndSpilledTasksATurnAfterManyStarts) {
  SpillerRig rig;
  EXPECT_TRUE(rig.spiller.is_turn());
  rig.fill(13);
  rig.spill();
  EXPECT_FALSE(rig.spiller.is_turn());
  rig.spiller.count_start(false);  // a promoted task, not one of those whose turn it is
  EXPECT_FALSE(rig.spiller.is_turn());
  rig.spiller.count_start(true);
  EXPECT_TRUE(rig.spiller.is_turn());
  for (int i = 2; i < 64; ++i) {
    EXPECT_FALSE(rig.spiller.is_untimed_due()) << i;
    rig.spiller.count_start(true);
  }
  EXPECT_TRUE(rig.spiller.is_untimed_due());
  for (int i = 64; i < 1024; ++i) {
    EXPECT_FALSE(rig.spiller.is_timed_due()) << i;
    rig.spiller.count_start(true);
  }
  EXPECT_TRUE(rig.spiller.is_timed_due());
}

TEST(Spiller, BorrowsACoreThatWaitsWhereAllAreBusy) {
  SpillerRig rig;
  rig.run(0, 1, false);
  rig.run(1, 2, true);
  rig.fill(13);
  rig.spiller.spill_on_stalled_core(Cycle{5});
  EXPECT_TRUE(rig.hear().empty());  // none waits
  rig.state.states.set(1, CoreState::finishing);
  rig.spiller.spill_on_stalled_core(Cycle{5});
  EXPECT_TRUE(rig.state.slots[1].borrowed);
  EXPECT_TRUE(rig.spiller.is_spilling());
  EXPECT_EQ(rig.hear(), (std::vector<test::TileRig::Heard>{{Cycle{5}, TaskEvent::borrowed_step, 1}}));
}

TEST(Spiller, WaitsForAPlaceInTheStoreBuffer) {
  SpillerRig rig;
  rig.fill(13);
  rig.memory.latency = 1000;
  rig.config.core.store_buffer = 1;
  const Cycle end = rig.spill();
  EXPECT_GE(end, Cycle{1000});  // the second line waits until the first is stored
  EXPECT_EQ(rig.memory.stores, 2u);
}

}  // namespace
}  // namespace rubato::chip
