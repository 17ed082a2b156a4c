// Reuse of freed memory, and undoing by aborts (C18; Espresso, Sec. VI-A "Memory allocation").
// SPDX-License-Identifier: MIT
#include "chip/alloc/ideal_allocator.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace rubato::chip {
namespace {

using FreeOutcome = IdealAllocator::FreeOutcome;

/// Aborts by telling the allocator, as the task units do.
struct Aborts final : Aborter {
  explicit Aborts(IdealAllocator& a) : allocator(a) {}
  void abort(std::span<Attempt* const> victims, const AbortReason& reason, Cycle) override {
    EXPECT_EQ(reason.cause, AbortCause::conflict);
    for (Attempt* victim : victims) {
      aborted.push_back(victim);
      allocator.on_abort(*victim);
    }
  }
  bool is_fate_pending(const Attempt&) const override { return true; }
  bool is_decided(const Attempt&) const override { return decided; }
  void wait_for_fate(CoreId) override {}
  VirtualTime gvt_at(TileId) const override { return {}; }

  IdealAllocator& allocator;
  std::vector<Attempt*> aborted;
  bool decided = false;
};

struct IdealAllocatorTest : ::testing::Test {
  IdealAllocatorTest() {
    allocator.attach(handler);
    early.virtual_time = {5, 1};
    late.virtual_time = {9, 1};
  }
  Addr take(Attempt* attempt = nullptr) { return allocator.allocate(caller(attempt), 100).address; }
  FreeOutcome free(Addr a, Attempt* attempt = nullptr) {
    allocator.begin_call(caller(attempt));
    return allocator.free(caller(attempt), a);
  }
  static IdealAllocator::Caller caller(Attempt* attempt) { return {CoreId{1}, 1001, attempt, Cycle{7}}; }
  /// True if no caller can get `a` now.
  bool is_kept(Addr a) {
    const Addr next = take();
    EXPECT_EQ(free(next), FreeOutcome::done);
    return next != a;
  }

  AddressSpace memory;
  IdealAllocator allocator{memory, 2, Addr{1} << 36, Addr{1} << 37};
  Aborts handler{allocator};
  Attempt early, late;
};

TEST_F(IdealAllocatorTest, ANonSpeculativeFreeActsAtOnce) {
  const Addr a = take();
  EXPECT_EQ(free(a), FreeOutcome::done);
  EXPECT_FALSE(is_kept(a));
}

TEST_F(IdealAllocatorTest, MemoryFreedSpeculativelyIsReusedAfterTheCommit) {
  const Addr a = take();
  EXPECT_EQ(free(a, &early), FreeOutcome::done);
  EXPECT_TRUE(is_kept(a));
  EXPECT_NE(take(&early), a) << "not even by itself";
  allocator.on_commit(early);
  EXPECT_FALSE(is_kept(a));
}

TEST_F(IdealAllocatorTest, AnAbortUndoesFreesAndAllocations) {
  const Addr a = take();
  const Addr b = take(&early), c = take(&early);
  free(a, &early);
  allocator.on_abort(early);
  EXPECT_TRUE(is_kept(a));
  EXPECT_EQ(free(a), FreeOutcome::done) << "in use again";
  EXPECT_EQ(take(), a);
  EXPECT_EQ(take(&early), b) << "the next attempt finds the same blocks in the same order";
  EXPECT_EQ(take(&early), c);
  allocator.on_commit(early);
  allocator.on_abort(early);  // of nothing
  EXPECT_EQ(free(b), FreeOutcome::done) << "a commit keeps them";
}

TEST_F(IdealAllocatorTest, AnAttemptMayFreeWhatItAllocated) {
  const Addr a = take(&early);
  EXPECT_EQ(free(a, &early), FreeOutcome::done);
  allocator.on_abort(early);
  EXPECT_EQ(take(&early), a);
  EXPECT_EQ(free(a, &early), FreeOutcome::done);
  allocator.on_commit(early);
  EXPECT_EQ(take(), a);
  EXPECT_NE(take(), a) << "it was given back once";
}

TEST_F(IdealAllocatorTest, RefusesWhatIsNoBlockAndWhatWasFreed) {
  const Addr a = take();
  EXPECT_EQ(free(a + 16), FreeOutcome::not_a_block);
  EXPECT_EQ(free(0x1234), FreeOutcome::not_a_block);
  free(a);
  EXPECT_EQ(free(a), FreeOutcome::freed_before);
  EXPECT_EQ(free(a, &early), FreeOutcome::freed_before);
  const Addr b = take();
  free(b, &early);
  EXPECT_EQ(free(b, &early), FreeOutcome::freed_before);
  EXPECT_EQ(free(b, &late), FreeOutcome::freed_before);
  EXPECT_TRUE(handler.aborted.empty());
}

TEST_F(IdealAllocatorTest, AnEarlierFreeAbortsTheLaterOne) {
  const Addr a = take(), b = take();
  free(a, &late);
  free(b, &late);
  EXPECT_EQ(free(a, &early), FreeOutcome::done);
  EXPECT_EQ(handler.aborted, std::vector<Attempt*>{&late});
  EXPECT_TRUE(is_kept(a));
  EXPECT_EQ(free(b), FreeOutcome::done) << "its other free was undone too";
  allocator.on_commit(early);
  EXPECT_FALSE(is_kept(a));
}

TEST_F(IdealAllocatorTest, ANonSpeculativeFreeAbortsAnySpeculativeOneButOneAboutToCommit) {
  const Addr a = take();
  free(a, &early);
  handler.decided = true;
  EXPECT_EQ(free(a), FreeOutcome::freed_before);
  handler.decided = false;
  EXPECT_EQ(free(a), FreeOutcome::done);
  EXPECT_EQ(handler.aborted, std::vector<Attempt*>{&early});
}

TEST_F(IdealAllocatorTest, DependentsMayAbortInAnyOrder) {
  const Addr a = take(&early);
  EXPECT_EQ(free(a, &late), FreeOutcome::done) << "the pointer was forwarded";
  allocator.on_abort(early);
  EXPECT_TRUE(is_kept(a)) << "its other user has not aborted yet";
  allocator.on_abort(late);
  EXPECT_EQ(take(), a);
  EXPECT_NE(take(), a) << "once";

  const Addr b = take(&early);
  free(b, &late);
  allocator.on_abort(late);
  EXPECT_TRUE(is_kept(b)) << "still the first attempt's";
  allocator.on_abort(early);
  EXPECT_EQ(take(), b);
}

TEST_F(IdealAllocatorTest, AMovedBlockKeepsItsContentsUntilTheThreadsNextCall) {
  const Addr a = take();
  EXPECT_EQ(allocator.free_moved(caller(nullptr), a), FreeOutcome::done);
  EXPECT_EQ(allocator.usable(a), 0u);
  EXPECT_NE(take(), a);
  allocator.begin_call({CoreId{1}, 1002, nullptr, {}});
  EXPECT_NE(take(), a) << "another thread's call";
  allocator.begin_call(caller(nullptr));
  EXPECT_EQ(take(), a);
}

TEST_F(IdealAllocatorTest, APromotionInTheMiddleOfACopyKeepsTheMovedBlock) {
  const Addr a = take(), b = take();
  free(b, &early);
  EXPECT_EQ(allocator.free_moved(caller(&early), a), FreeOutcome::done);
  allocator.on_commit(early);  // running: promoted in place
  EXPECT_EQ(take(), b);
  EXPECT_NE(take(), a);
  allocator.begin_call(caller(nullptr));
  EXPECT_EQ(take(), a);
}

}  // namespace
}  // namespace rubato::chip
