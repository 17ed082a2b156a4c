// The parts of a pipeline that access memory, without the interpreter: cycles by hand, on a memory where
// every miss takes 20 cycles.
// SPDX-License-Identifier: MIT
#include "chip/core/load_store_unit.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/chip/core/machine.hpp"

namespace rubato::chip {
namespace {

using namespace test;

constexpr Addr kOther = kData + 4096, kThird = kData + 8192, kWild = 0x9000000;
constexpr Addr kLog = Addr{1} << 40;
constexpr std::uint64_t kLookahead = 32;

struct LoadStoreUnitTest : testing::Test, AccessRecorder {
  LoadStoreUnitTest() {
    memory.map(kData, 4 * AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
    system.l1i = &l1i;
    system.l1d = &l1d;
    clock(0);
  }
  void record(CoreId, LineAddr line, bool write) override { recorded.emplace_back(line, write); }
  /// The chip's clock is there, and others have their next event at `next`.
  void clock(std::uint64_t now, Cycle next = kNever) { state.window.begin(Cycle{now}, next, kNever); }
  static IssueSlot at(std::uint64_t issue) { return {issue, 0, ResultSource::core, nullptr}; }
  void speculate() {
    l1d.begin_marks();
    state.task.attempt = &attempt;
    state.task.is_task = true;
    lsu.port().begin_task();
  }
  void block(BlockReason reason) {
    system.hook = [reason](LineAddr, AccessKind, Cycle, AccessResult& r) {
      r.done = false;
      r.blocked = reason;
    };
  }
  Departure& departure() { return state.departure; }

  Config config = [] {
    Config c;
    c.chip.cores = 1;
    c.core.load_buffer = c.core.store_buffer = 2;
    c.run.lookahead_cycles = kLookahead;
    return resolve(c);
  }();
  AddressSpace memory;
  isa::BlockCache blocks{memory};
  L1Cache l1i{{16384, 8}}, l1d{{16384, 8}};
  FlatMemory system;
  Timeline timeline;
  Attempt attempt;
  std::vector<std::pair<LineAddr, bool>> recorded;
  PipelineState state{CoreId{0}, config,
                      PipelinePorts{.memory = &memory,
                                    .blocks = &blocks,
                                    .memory_system = system,
                                    .l1i = l1i,
                                    .l1d = l1d,
                                    .timeline = &timeline,
                                    .recorder = this,
                                    .log_base = line_of(kLog),
                                    .log_lines = 2}};
  LoadStoreUnit lsu{state, config};
};

TEST_F(LoadStoreUnitTest, AMissIsDoneLaterAndALoadOfItsLineWaitsForIt) {
  IssueSlot slot = at(5);
  ASSERT_TRUE(lsu.load(kData, 8, slot, false));
  EXPECT_EQ(slot.issue, 5U);
  EXPECT_EQ(slot.done, 5 + kMiss);
  EXPECT_EQ(slot.source, ResultSource::access);
  EXPECT_EQ(slot.parts->memory, 18U);
  EXPECT_EQ(state.fills_until, 5 + kMiss);
  slot = at(6);
  ASSERT_TRUE(lsu.load(kData + 8, 8, slot, false));
  EXPECT_EQ(slot.done, 5 + kMiss);
  slot = at(5 + kMiss);
  ASSERT_TRUE(lsu.load(kData + 8, 8, slot, false));
  EXPECT_EQ(slot.done, 5 + kMiss + state.l1_latency);
  EXPECT_EQ(slot.source, ResultSource::l1);
  EXPECT_EQ(system.accesses.size(), 1U);
}

TEST_F(LoadStoreUnitTest, TheStoreBufferForwardsItsWordButNotItsLine) {
  IssueSlot slot = at(0);
  ASSERT_TRUE(lsu.store(kData, 8, slot));
  EXPECT_EQ(slot.done, 1U) << "nobody waits for a store";
  slot = at(2);
  ASSERT_TRUE(lsu.load(kData, 8, slot, false));
  EXPECT_EQ(slot.done, 2 + state.l1_latency);
  slot = at(2);
  ASSERT_TRUE(lsu.load(kData + 8, 8, slot, false));
  EXPECT_EQ(slot.done, kMiss);
}

TEST_F(LoadStoreUnitTest, WithoutAFreeEntryAnAccessIssuesLater) {
  for (const Addr a : {kData, kOther}) {
    IssueSlot slot = at(a == kData ? 0 : 1);
    ASSERT_TRUE(lsu.load(a, 8, slot, false));
  }
  IssueSlot slot = at(2);
  ASSERT_TRUE(lsu.store(kData + 256, 8, slot));
  EXPECT_EQ(slot.issue, 2U) << "stores have a buffer of their own";
  slot = at(3);
  ASSERT_TRUE(lsu.load(kThird, 8, slot, false));
  EXPECT_EQ(slot.issue, kMiss);
  EXPECT_EQ(slot.done, 2 * kMiss);
  EXPECT_EQ(state.stalls.take()[static_cast<unsigned>(CyclePart::memory)], kMiss - 3);
}

TEST_F(LoadStoreUnitTest, AnEntryThatComesFreeTooLateMakesTheAccessComeAgain) {
  clock(0, Cycle{kMiss});
  for (const Addr a : {kData, kOther}) {
    IssueSlot slot = at(0);
    ASSERT_TRUE(lsu.load(a, 8, slot, false));
  }
  IssueSlot slot = at(1);
  EXPECT_FALSE(lsu.load(kThird, 8, slot, false));
  EXPECT_EQ(departure().stop, PipelineStop::resume);
  EXPECT_EQ(slot.issue, kMiss);
}

TEST_F(LoadStoreUnitTest, AMissThatIsNotStrictLeavesButAHitRunsAhead) {
  clock(0, Cycle{10});
  FlatMemory::fill(l1d, line_of(kOther), LineState::modified);
  IssueSlot slot = at(10);
  EXPECT_FALSE(lsu.load(kData, 8, slot, false));
  EXPECT_EQ(departure().stop, PipelineStop::resume);
  EXPECT_TRUE(state.is_refused) << "the L1 need not be asked again";
  EXPECT_TRUE(system.accesses.empty());
  state.is_refused = false;  // another instruction
  slot = at(10);
  EXPECT_TRUE(lsu.load(kOther, 8, slot, false));
  slot = at(10 + kLookahead);
  EXPECT_FALSE(lsu.load(kOther, 8, slot, false)) << "behind the window";
  slot = at(9);
  EXPECT_TRUE(lsu.load(kData, 8, slot, false));
}

TEST_F(LoadStoreUnitTest, AnAccessWithoutTheRightIsAFaultAtItsFirstForbiddenByte) {
  const Addr end = kData + 4 * AddressSpace::kPageBytes;
  IssueSlot slot = at(0);
  EXPECT_FALSE(lsu.load(end - 4, 8, slot, false));
  EXPECT_EQ(departure().stop, PipelineStop::fault);
  EXPECT_EQ(departure().fault.kind, FaultKind::load_access);
  EXPECT_EQ(departure().fault.address, end);
  EXPECT_FALSE(lsu.store(kWild, 8, slot));
  EXPECT_EQ(departure().fault.kind, FaultKind::store_access);
  EXPECT_EQ(departure().fault.address, kWild);
  EXPECT_FALSE(lsu.skips());
}

TEST_F(LoadStoreUnitTest, ADoomedRunSkipsWhatItMayNotDo) {
  state.task.is_doomed = true;
  IssueSlot slot = at(0);
  EXPECT_TRUE(lsu.load(kWild, 8, slot, false));
  EXPECT_TRUE(lsu.take_skip());
  EXPECT_FALSE(lsu.take_skip()) << "said once";
  EXPECT_TRUE(lsu.store(kData, 8, slot));
  EXPECT_TRUE(lsu.take_skip()) << "tracked memory is others'";
  EXPECT_TRUE(lsu.atomic(kData, 8, 0, AccessKind::atomic, slot));
  EXPECT_TRUE(lsu.take_skip());
  EXPECT_TRUE(system.accesses.empty());
}

TEST_F(LoadStoreUnitTest, AnAtomicWithAcquireWaitsForWhatIsOutstanding) {
  IssueSlot slot = at(0);
  ASSERT_TRUE(lsu.store(kOther, 8, slot));
  slot = at(1);
  ASSERT_TRUE(lsu.atomic(kData, 8, 0, AccessKind::atomic, slot));
  EXPECT_EQ(slot.issue, 1U);
  EXPECT_EQ(slot.done, 1 + kMiss);
  slot = at(2);
  ASSERT_TRUE(lsu.atomic(kData, 8, isa::Insn::kAcquire, AccessKind::atomic, slot));
  EXPECT_EQ(slot.issue, 1 + kMiss);
  EXPECT_EQ(slot.done, 1 + kMiss + state.l1_latency);
}

TEST_F(LoadStoreUnitTest, AFenceWaitsForEveryAccess) {
  IssueSlot slot = at(0);
  ASSERT_TRUE(lsu.load(kData, 8, slot, false));
  slot = at(4);
  ASSERT_TRUE(lsu.store(kOther, 8, slot));
  std::uint64_t issue = 5;
  EXPECT_TRUE(lsu.fence(issue));
  EXPECT_EQ(issue, 4 + kMiss);
}

TEST_F(LoadStoreUnitTest, ABlockedAccessSaysWhatBlocksIt) {
  block(BlockReason::conflict_pending);
  IssueSlot slot = at(3);
  EXPECT_FALSE(lsu.load(kData, 8, slot, false));
  EXPECT_EQ(departure().stop, PipelineStop::blocked);
  EXPECT_EQ(departure().blocked_by, BlockReason::conflict_pending);
  EXPECT_EQ(departure().blocked_line, line_of(kData));
  EXPECT_EQ(state.cycle, Cycle{3});
}

TEST_F(LoadStoreUnitTest, AnAccessThatAbortsItsOwnTaskIsNotDone) {
  system.hook = [this](LineAddr, AccessKind, Cycle, AccessResult&) { lsu.port().stop_task(); };
  IssueSlot slot = at(3);
  EXPECT_FALSE(lsu.store(kData, 8, slot));
  EXPECT_EQ(departure().stop, PipelineStop::blocked);
  EXPECT_EQ(state.fills_until, 0U);
}

TEST_F(LoadStoreUnitTest, AMissThatMessagesBringIsSkippedAndPerformsWhenTheyCame) {
  block(BlockReason::protocol);
  isa::Insn insn;
  insn.op = isa::Op::ld;
  insn.rd = 5, insn.rs1 = 10, insn.bytes = 8, insn.flags = isa::Insn::kLoads;
  state.hart.x[10] = kData;
  memory.store<std::uint64_t>(kData, 1234);
  IssueSlot slot = at(3);
  ASSERT_TRUE(lsu.load(kData, 8, slot, false));
  EXPECT_TRUE(lsu.take_skip());
  ASSERT_TRUE(lsu.deferrals().is_taking());
  lsu.deferrals().end(insn, kCode, slot);
  state.scoreboard.expect(insn.rd, slot);
  EXPECT_EQ(slot.done, Scoreboard::kUnknown);
  std::uint64_t issue = 4;
  EXPECT_FALSE(lsu.fence(issue));
  EXPECT_EQ(departure().stop, PipelineStop::deferred);
  system.hook = nullptr;
  EXPECT_FALSE(lsu.deferrals().note_ready(line_of(kOther)));
  EXPECT_TRUE(lsu.deferrals().note_ready(line_of(kData)));
  lsu.deferrals().perform(line_of(kData), Cycle{100});
  EXPECT_FALSE(lsu.deferrals().any());
  EXPECT_EQ(state.hart.x[5], 1234U);
  EXPECT_TRUE(state.scoreboard.is_busy(100 + kMiss - 1));
  EXPECT_FALSE(state.scoreboard.is_busy(100 + kMiss));
  EXPECT_EQ(state.fills_until, 100 + kMiss);
}

TEST_F(LoadStoreUnitTest, ASpeculativeStoreLogsFirstAndTakesALineOfTheLogEveryFourWords) {
  speculate();
  memory.store<std::uint64_t>(kData, 77);
  for (unsigned word = 0; word < 5; ++word) {
    IssueSlot slot = at(word * 100);
    ASSERT_TRUE(lsu.store(kData + 8 * word, 4, slot)) << word;
    EXPECT_EQ(attempt.log_lines.size(), word < 4 ? 1U : 2U) << word;
  }
  ASSERT_EQ(attempt.undo.size(), 5U);
  EXPECT_EQ(attempt.undo[0].address, kData);
  EXPECT_EQ(attempt.undo[0].old_value, 77U);
  EXPECT_EQ(system.lines, (std::vector{line_of(kLog), line_of(kData), line_of(kLog + kLineBytes)}))
      << "room comes first";
  EXPECT_EQ(recorded, (std::vector{std::pair{line_of(kData), true}}));
}

TEST_F(LoadStoreUnitTest, ALogWithoutLinesLeftIsTheTasksError) {
  speculate();
  attempt.log_lines = {line_of(kLog), line_of(kLog + kLineBytes)};
  attempt.undo.resize(8);
  for (unsigned i = 0; i < 2; ++i) {  // the unit's two lines
    IssueSlot slot = at(100 * i);
    ASSERT_TRUE(lsu.log().make_room(4 * i + 1, slot));
  }
  IssueSlot slot = at(300);
  EXPECT_FALSE(lsu.log().make_room(9, slot));
  EXPECT_EQ(departure().stop, PipelineStop::fault);
  EXPECT_EQ(departure().fault.kind, FaultKind::task_error);
  EXPECT_TRUE(departure().fault.is_of_task);
  lsu.log().give_back(attempt.log_lines);
  EXPECT_TRUE(lsu.log().make_room(9, slot)) << "lines that are given back are used again";
}

TEST_F(LoadStoreUnitTest, AnAccessThatAbortsOthersNarrowsTheWindowToTheirNextEvents) {
  struct Nothing final : EventHandler {
    void on_event(Cycle, std::uint32_t, std::uint64_t) override {}
  } other;
  system.hook = [&](LineAddr, AccessKind, Cycle, AccessResult& r) {
    timeline.schedule(Cycle{50}, &other, 0, 0);
    r.disturbed = true;
  };
  clock(0, Cycle{1000});
  IssueSlot slot = at(3);
  ASSERT_TRUE(lsu.load(kData, 8, slot, false));
  EXPECT_EQ(state.window.strict_end(), 50U);
  EXPECT_EQ(state.window.run_end(), 50 + kLookahead);
}

}  // namespace
}  // namespace rubato::chip
