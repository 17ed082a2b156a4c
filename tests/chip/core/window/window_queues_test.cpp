// Room for dispatch in the queues of a window core, and the times of commit that free it, without a core.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_queues.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace rubato::chip {
namespace {

using isa::Insn;
using isa::InsnClass;

Insn insn_of(InsnClass cls) {
  Insn insn;
  insn.cls = cls;
  return insn;
}
const Insn kSum = insn_of(InsnClass::int_alu), kLoad = insn_of(InsnClass::load),
           kStore = insn_of(InsnClass::store), kFence = insn_of(InsnClass::fence),
           kAtomic = insn_of(InsnClass::atomic);

struct WindowQueuesTest : testing::Test {
  static CoreSection small() {
    CoreSection core;
    core.width = 2;
    core.rob = 4;
    core.load_buffer = core.store_buffer = 2;
    return core;
  }
  void dispatch(const Insn& insn) {
    ASSERT_TRUE(queues.make_room(insn, point, stats));
    if (insn.cls == InsnClass::load) commits.add_load();
    if (insn.cls == InsnClass::store)
      stores.add({.position = buffer.tail(),
                  .stamp = buffer.tail(),
                  .address = 8 * buffer.tail(),
                  .value = 0,
                  .bytes = 8});
    buffer.add();
    point.use_slot();
  }
  void commit(std::uint64_t at, bool is_load = false) {
    commits.commit(buffer.head(), at);
    if (is_load) commits.commit_load();
    buffer.retire();
  }

  CoreSection core = small();
  DispatchPoint point{core};
  WindowQueues queues{core};
  ReorderBuffer& buffer = queues.buffer;
  CommitTimes& commits = queues.commits;
  StoreQueue& stores = queues.stores;
  WindowStats stats;
};

TEST_F(WindowQueuesTest, AFullBufferStalls) {
  for (int i = 0; i < 4; ++i) dispatch(kSum);
  EXPECT_FALSE(queues.make_room(kSum, point, stats));
  EXPECT_TRUE(point.is_stalled());
}

TEST_F(WindowQueuesTest, AnEntryIsFreeInTheCycleBehindItsCommit) {
  for (int i = 0; i < 4; ++i) dispatch(kSum);  // in 0, 0, 1, 1
  commit(20);
  EXPECT_TRUE(queues.make_room(kSum, point, stats));
  EXPECT_EQ(point.cycle(), 21U);
  EXPECT_EQ(stats.stalls_rob, 19U);  // a slot was free in 2
}

TEST_F(WindowQueuesTest, AFullLoadQueueStallsLoadsOnly) {
  dispatch(kLoad);
  dispatch(kLoad);
  EXPECT_TRUE(queues.make_room(kSum, point, stats));
  EXPECT_TRUE(queues.make_room(kStore, point, stats));
  EXPECT_FALSE(point.is_stalled());
  EXPECT_FALSE(queues.make_room(kLoad, point, stats));
  EXPECT_TRUE(point.is_stalled());
}

TEST_F(WindowQueuesTest, ALoadLeavesItsQueueWhenItCommits) {
  dispatch(kLoad);
  dispatch(kLoad);
  commit(30, true);
  EXPECT_TRUE(queues.make_room(kLoad, point, stats));
  EXPECT_EQ(point.cycle(), 31U);
  EXPECT_EQ(stats.stalls_lsq, 30U);  // a slot was free in 1
}

TEST_F(WindowQueuesTest, ASquashedLoadLeavesItsQueueAtOnce) {
  dispatch(kLoad);
  dispatch(kLoad);
  commits.drop_load();
  buffer.drop();
  EXPECT_TRUE(queues.make_room(kLoad, point, stats));
  EXPECT_EQ(point.cycle(), 1U);
}

TEST_F(WindowQueuesTest, AFullStoreQueueStallsUntilAnEntryHasAKnownEnd) {
  dispatch(kStore);
  dispatch(kStore);
  EXPECT_FALSE(queues.make_room(kStore, point, stats));
  EXPECT_TRUE(point.is_stalled());
  point.end_wait_for_older();
  stores.remove(0);
  stores.add_written({8, 16, 2, 50}, point.cycle());  // the L1 has it in 50
  EXPECT_TRUE(queues.make_room(kStore, point, stats));
  EXPECT_EQ(point.cycle(), 50U);
  EXPECT_EQ(stats.stalls_lsq, 49U);
}

TEST_F(WindowQueuesTest, WrittenStoresOfThePastTakeNoEntry) {
  stores.add_written({8, 16, 2, 5}, 0);
  stores.add_written({16, 24, 2, 6}, 0);
  point.go_to(6);
  EXPECT_TRUE(queues.make_room(kStore, point, stats));
  EXPECT_EQ(point.cycle(), 6U);
  EXPECT_EQ(stats.stalls_lsq, 0U);
}

TEST_F(WindowQueuesTest, AnInstructionThatGoesAloneNeedsNoEntryYet) {
  for (int i = 0; i < 4; ++i) dispatch(kSum);
  EXPECT_TRUE(queues.make_room(kFence, point, stats));
  EXPECT_TRUE(queues.make_room(kAtomic, point, stats));
  EXPECT_FALSE(point.is_stalled());
}

// ---- CommitTimes ----

TEST(CommitTimes, CommitIsInOrderAndAsWideAsTheCore) {
  CoreSection core;
  core.width = 2;
  core.rob = 8;
  CommitTimes commits(core);
  commits.begin(10);
  std::uint64_t position = 1;
  const auto next = [&](std::uint64_t complete) {
    const std::uint64_t at = commits.of(complete);
    commits.commit(position++, at);
    return at;
  };
  EXPECT_EQ(next(4), 10U);  // not before the context began
  EXPECT_EQ(next(25), 25U);
  EXPECT_EQ(next(11), 25U);  // complete long ago
  EXPECT_EQ(next(11), 26U);  // the third
  EXPECT_EQ(next(11), 26U);
  EXPECT_EQ(commits.last(), 26U);
}

}  // namespace
}  // namespace rubato::chip
