// Calls of the ideal allocator: in detail and in fast-forward, with the fate of attempts.
// SPDX-License-Identifier: MIT
#include "chip/program/heap_bridge.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/chip/program/rig.hpp"

namespace rubato::chip {
namespace {

using test::ProgramRig;
using Outcome = HeapCalls::Outcome;

constexpr Addr kMalloc = kImageEntry, kFree = kImageEntry + 0x10, kCaller = kImageEntry + 0x80;

struct HeapRig : ProgramRig {
  HeapRig()
      : ProgramRig({8}, 8, {{"malloc", kMalloc}, {"free", kFree}}, [](Config& c) { c.run.alloc = "ideal"; }) {
  }
  Program& program() { return (*this)[0]; }
  HartState at(Addr function, std::uint64_t argument) {
    HartState hart = main_thread().regs;
    hart.pc = function;
    hart.x[reg::a0] = argument;
    hart.x[reg::ra] = kCaller;
    return hart;
  }
  Outcome call(HartState& hart, Attempt* attempt = nullptr) {
    const std::int32_t function = program().heap->entries().at(hart.pc);
    return bridge.call(program(), {CoreId{2}, hart, 1, 0, attempt}, function, Cycle{10});
  }
  Addr allocate(std::uint64_t bytes, Attempt* attempt = nullptr) {
    HartState hart = at(kMalloc, bytes);
    EXPECT_EQ(call(hart, attempt), Outcome::returned);
    return hart.x[reg::a0];
  }

  RunCheckers checkers;  // none is asked for
  HeapBridge bridge{checkers};
};

TEST(HeapBridge, ReturnsToTheCallerWithABlock) {
  HeapRig rig;
  HartState hart = rig.at(kMalloc, 100);
  EXPECT_EQ(rig.call(hart), Outcome::returned);
  EXPECT_EQ(hart.pc, kCaller);
  EXPECT_TRUE(rig.program().memory.allows_range(hart.x[reg::a0], 100, Page::kWrite));
  EXPECT_NE(rig.allocate(100), hart.x[reg::a0]);
}

TEST(HeapBridge, GivesBackWhatAnAbortedAttemptTookAndKeepsWhatACommittedOneHas) {
  HeapRig rig;
  Attempt aborted, committed;
  const Addr first = rig.allocate(64, &aborted);
  HeapBridge::retire(rig.program(), aborted, false);
  const Addr second = rig.allocate(64, &committed);
  EXPECT_EQ(second, first);
  HeapBridge::retire(rig.program(), committed, true);
  EXPECT_NE(rig.allocate(64), second);
}

TEST(HeapBridge, ServesThreadsInFastForwardAndReportsTheirFaults) {
  HeapRig rig;
  Thread& thread = rig.main_thread();
  const auto& entries = rig.program().heap->entries();
  thread.regs = rig.at(kMalloc, 32);
  EXPECT_FALSE(rig.bridge.call(rig.program(), thread, entries.at(kMalloc), Cycle{0}));
  const Addr block = thread.regs.x[reg::a0];
  EXPECT_EQ(thread.regs.pc, kCaller);
  thread.regs = rig.at(kFree, block);
  EXPECT_FALSE(rig.bridge.call(rig.program(), thread, entries.at(kFree), Cycle{0}));
  thread.regs = rig.at(kFree, block);  // a second time
  const std::optional<Fault> fault = rig.bridge.call(rig.program(), thread, entries.at(kFree), Cycle{0});
  ASSERT_TRUE(fault);
  EXPECT_FALSE(fault->sentence.empty());
}

TEST(HeapBridge, HasNothingToRetireWithoutTheAllocator) {
  ProgramRig rig({8});
  Attempt attempt;
  HeapBridge::retire(rig[0], attempt, true);
  HeapBridge::retire(rig[0], attempt, false);
  EXPECT_FALSE(rig[0].heap);
}

}  // namespace
}  // namespace rubato::chip
