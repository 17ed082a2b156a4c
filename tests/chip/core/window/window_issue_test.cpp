// Renaming, issue and the list of pending instructions of a window core, without a core: entries are made by
// hand. An addition takes 1 cycle, a product 3.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_issue.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rubato::chip {
namespace {

using isa::Insn;
using isa::InsnClass;
using State = WindowEntry::State;
constexpr std::uint64_t kUnknown = WindowEntry::kUnknown;

Insn insn_of(InsnClass cls, unsigned rd, unsigned rs1 = 0, unsigned rs2 = 0) {
  Insn insn;
  insn.cls = cls;
  insn.rd = static_cast<std::uint8_t>(rd);
  insn.rs1 = static_cast<std::uint8_t>(rs1);
  insn.rs2 = static_cast<std::uint8_t>(rs2);
  if (cls == InsnClass::load) insn.bytes = 8;
  return insn;
}

struct WindowIssueTest : testing::Test {
  /// The instruction is dispatched in the point's cycle.
  WindowEntry& add(const Insn& insn, Addr address = 0) {
    const std::uint64_t position = buffer.tail();
    WindowEntry& e = buffer[position];
    e = {};
    e.insn = insn;
    e.address = address;
    e.issued = e.complete = kUnknown;
    e.state = State::hangs;
    e.floor = point.cycle() + 1;
    issue.rename(e, position);
    buffer.add();
    return e;
  }
  /// A load with an unknown end.
  WindowEntry& add_miss(unsigned rd, Addr address = 0x100) {
    WindowEntry& e = add(insn_of(InsnClass::load, rd), address);
    e.state = State::waiting;
    pending.add(e);
    return e;
  }
  /// Squashes the youngest one.
  void drop(std::uint64_t now = 0) {
    const WindowEntry& e = buffer[buffer.tail() - 1];
    issue.undo(e, now);
    if (e.is_load()) pending.drop_load(e);
    buffer.drop();
    pending.drop_from(buffer.tail());
  }
  std::vector<std::uint64_t> listed() const { return {pending.begin(), pending.end()}; }

  CoreSection core;
  DispatchPoint point{core};
  ReorderBuffer buffer{16};
  PendingEntries pending{buffer, 16};
  WindowIssue issue{core, buffer, pending, point};
};

// ---- Operands ----

TEST_F(WindowIssueTest, WithoutAnEntryAnInstructionWaitsForItsLatestOperand) {
  const Insn sum = insn_of(InsnClass::int_alu, 5, 6, 7);
  EXPECT_EQ(issue.operands_now(sum, 0), 1U);  // dispatched in 0
  issue.write(insn_of(InsnClass::int_mul, 6), 9);
  issue.write(insn_of(InsnClass::int_mul, 7), 12);
  EXPECT_EQ(issue.operands_now(sum, 0), 12U);
  issue.begin();
  EXPECT_EQ(issue.operands_now(sum, 0), 1U);
}

TEST_F(WindowIssueTest, AResultThatNoInstructionReadsIsNoOperand) {
  issue.write(insn_of(InsnClass::int_mul, Insn::kSink), 50);
  EXPECT_EQ(issue.operands_now(insn_of(InsnClass::int_alu, 5, 0, 0), 0), 1U);
}

TEST_F(WindowIssueTest, AChainOfKnownTimesIssuesAtOnce) {
  WindowEntry& product = add(insn_of(InsnClass::int_mul, 5, 6));
  issue.schedule(product);
  EXPECT_EQ(product.issued, 1U);
  EXPECT_EQ(product.complete, 4U);
  WindowEntry& sum = add(insn_of(InsnClass::int_alu, 7, 5));
  issue.schedule(sum);
  EXPECT_EQ(sum.issued, 4U);
  EXPECT_EQ(sum.complete, 5U);
  EXPECT_TRUE(sum.is_done());
  EXPECT_TRUE(listed().empty());
  EXPECT_FALSE(issue.has_news());  // no instruction waits for either
}

TEST_F(WindowIssueTest, AnInstructionBehindAMissIsListedUntilThatHasPerformed) {
  WindowEntry& load = add_miss(5);
  WindowEntry& sum = add(insn_of(InsnClass::int_alu, 6, 5, 7));
  issue.schedule(sum);
  EXPECT_EQ(sum.state, State::hangs);
  EXPECT_EQ(issue.operands_of(sum), kUnknown);
  EXPECT_FALSE(issue.issue(sum));
  EXPECT_EQ(listed(), (std::vector<std::uint64_t>{1, 2}));

  issue.settle(load, 1, 40);
  EXPECT_EQ(issue.take_news(), 1U);
  EXPECT_EQ(issue.take_news(), WindowIssue::kNoNews);
  ASSERT_TRUE(issue.issue(sum));
  EXPECT_EQ(sum.issued, 40U);
  issue.complete(sum, 2);
  EXPECT_EQ(sum.complete, 41U);
  EXPECT_EQ(issue.take_news(), 2U);
  pending.end_load(load);
  pending.erase_done(2);
  EXPECT_EQ(listed(), (std::vector<std::uint64_t>{1}));
  pending.erase_done(1);
  EXPECT_TRUE(listed().empty());
}

TEST_F(WindowIssueTest, NewsNameTheOldestThatHasBecomeKnown) {
  WindowEntry& first = add_miss(5);
  WindowEntry& second = add_miss(6, 0x200);
  WindowEntry& third = add_miss(7, 0x300);
  issue.settle(third, 3, 30);
  issue.settle(second, 2, 40);
  EXPECT_TRUE(issue.has_news());
  const std::uint64_t from = issue.take_news();
  EXPECT_EQ(from, 2U);
  EXPECT_FALSE(issue.has_news());
  EXPECT_EQ(pending.index_from(from), 1U);
  pending.erase_done(from);
  EXPECT_EQ(listed(), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(pending.index_from(2), 1U) << "none is left there";
  issue.settle(first, 1, 50);
  EXPECT_EQ(issue.take_news(), 1U);
}

TEST_F(WindowIssueTest, AnInstructionBehindTwoMissesWaitsForTheLater) {
  WindowEntry& first = add_miss(5);
  WindowEntry& second = add_miss(6, 0x200);
  WindowEntry& sum = add(insn_of(InsnClass::int_alu, 7, 5, 6));
  issue.schedule(sum);
  issue.settle(second, 2, 30);
  EXPECT_FALSE(issue.issue(sum));
  issue.settle(first, 1, 25);
  EXPECT_EQ(issue.operands_of(sum), 30U);
}

TEST_F(WindowIssueTest, AResultGoesToTheReadersThatWereDispatchedBehindIt) {
  WindowEntry& load = add_miss(5);
  issue.schedule(add(insn_of(InsnClass::int_alu, 5)));  // the same register again: renamed
  WindowEntry& reader = add(insn_of(InsnClass::int_alu, 6, 5));
  issue.schedule(reader);
  EXPECT_EQ(reader.issued, 2U);
  issue.settle(load, 1, 40);
  EXPECT_EQ(issue.operands_of(add(insn_of(InsnClass::int_alu, 7, 5))), 2U);
}

TEST_F(WindowIssueTest, ALoadBehindAStoreHasNoKnownOperands) {
  WindowEntry& load = add_miss(5);
  pending.await_store(load, 17);
  EXPECT_TRUE(pending.any_behind_stores());
  EXPECT_FALSE(issue.issue(load));
  pending.end_wait_for_store(load);
  EXPECT_FALSE(pending.any_behind_stores());
  EXPECT_TRUE(issue.issue(load));
}

// ---- Ports ----

TEST_F(WindowIssueTest, APortThatIsGivenBackIsTakenAgain) {
  CoreSection narrow;
  narrow.mem_ports = 1;
  WindowIssue one(narrow, buffer, pending, point);
  const Insn load = insn_of(InsnClass::load, 5);
  EXPECT_EQ(one.take_port(load, 3), 3U);
  EXPECT_EQ(one.take_port(load, 3), 4U);
  one.give_back(load, 3);
  EXPECT_EQ(one.take_port(load, 3), 3U);
}

// ---- Branches ----

TEST_F(WindowIssueTest, AMispredictedBranchLetsDispatchGoOnWhenItIsComplete) {
  WindowEntry& load = add_miss(5);
  WindowEntry& branch = add(insn_of(InsnClass::branch, Insn::kSink, 5));
  issue.schedule(branch);
  point.await_branch(2);
  issue.settle(load, 1, 40);
  EXPECT_TRUE(point.is_stalled());
  ASSERT_TRUE(issue.issue(branch));
  issue.complete(branch, 2);  // in 41
  EXPECT_FALSE(point.is_stalled());
  EXPECT_EQ(point.cycle(), 45U);  // 41 - 1 + 5
}

// ---- Squashes ----

TEST_F(WindowIssueTest, ASquashRestoresTimeAndProducerOfARegister) {
  issue.schedule(add(insn_of(InsnClass::int_mul, 5)));  // complete in 4
  add_miss(5);
  drop();
  EXPECT_EQ(issue.operands_of(add(insn_of(InsnClass::int_alu, 6, 5))), 4U);
}

TEST_F(WindowIssueTest, ASquashFindsATimeThatHasBecomeKnownSince) {
  WindowEntry& load = add_miss(5);
  issue.schedule(add(insn_of(InsnClass::int_alu, 5)));
  issue.settle(load, 1, 40);
  drop();
  EXPECT_EQ(issue.operands_of(add(insn_of(InsnClass::int_alu, 6, 5))), 40U);
}

TEST_F(WindowIssueTest, ASquashFindsAProducerThatIsStillUnderWay) {
  WindowEntry& load = add_miss(5);
  issue.schedule(add(insn_of(InsnClass::int_alu, 5)));
  drop();
  WindowEntry& reader = add(insn_of(InsnClass::int_alu, 6, 5));
  issue.schedule(reader);
  EXPECT_FALSE(issue.issue(reader));
  issue.settle(load, 1, 40);
  EXPECT_TRUE(issue.issue(reader));
  EXPECT_EQ(reader.issued, 40U);
}

TEST_F(WindowIssueTest, ASquashGivesBackThePortsOfLaterCyclesOnly) {
  CoreSection narrow;
  narrow.int_ports = 1;
  WindowIssue one(narrow, buffer, pending, point);
  WindowEntry& e = add(insn_of(InsnClass::int_alu, 5));
  ASSERT_TRUE(one.issue(e));  // in 1
  one.undo(e, 1);             // the clock is there: the port was used
  EXPECT_EQ(one.take_port(e.insn, 1), 2U);
  e.issued = 2;
  one.undo(e, 1);
  EXPECT_EQ(one.take_port(e.insn, 1), 2U);
}

// ---- The order of loads ----

TEST_F(WindowIssueTest, ALoadFindsTheYoungestOlderOneOfItsBytes) {
  add_miss(5, 0x100);
  add_miss(6, 0x104);
  const WindowEntry& e = add(insn_of(InsnClass::load, 7), 0x107);  // 0x107 to 0x10e
  EXPECT_EQ(pending.older_load_of(e, 3), 2U);
  EXPECT_EQ(pending.older_load_of(e, 2), 1U);  // both hold 0x107
  EXPECT_EQ(pending.older_load_of(e, 1), 0U);
}

TEST_F(WindowIssueTest, NeighbouringBytesAreOthers) {
  add_miss(5, 0x100);
  const WindowEntry& behind = add(insn_of(InsnClass::load, 7), 0x108);
  EXPECT_EQ(pending.older_load_of(behind, 2), 0U);
  const WindowEntry& before = add(insn_of(InsnClass::load, 7), 0xf8);
  EXPECT_EQ(pending.older_load_of(before, 3), 0U);
}

TEST_F(WindowIssueTest, ALoadThatHasPerformedHoldsUpNoOther) {
  WindowEntry& load = add_miss(5, 0x100);
  const WindowEntry& e = add(insn_of(InsnClass::load, 7), 0x100);
  EXPECT_EQ(pending.older_load_of(e, 2), 1U);
  issue.settle(load, 1, 40);
  pending.end_load(load);
  EXPECT_EQ(pending.older_load_of(e, 2), 0U);
}

TEST_F(WindowIssueTest, AListedLoadIsNotHeldUpByItself) {
  const WindowEntry& alone = add_miss(5, 0x104);  // two words
  EXPECT_EQ(pending.older_load_of(alone, 1), 0U);
  const WindowEntry& second = add_miss(6, 0x108);
  EXPECT_EQ(pending.older_load_of(second, 2), 1U);
  EXPECT_EQ(pending.older_load_of(alone, 1), 0U) << "a younger one holds up none";
}

TEST_F(WindowIssueTest, ASquashedLoadIsForgottenWithItsWaits) {
  WindowEntry& kept = add_miss(5, 0x100);
  WindowEntry& squashed = add_miss(6, 0x200);
  pending.await_store(kept, 8);
  pending.await_store(squashed, 9);
  drop();
  EXPECT_EQ(listed(), std::vector<std::uint64_t>{1});
  EXPECT_TRUE(pending.any_behind_stores());
  drop();
  EXPECT_FALSE(pending.any_behind_stores());
  const WindowEntry& e = add(insn_of(InsnClass::load, 7), 0x200);
  EXPECT_EQ(pending.older_load_of(e, 1), 0U);
}

}  // namespace
}  // namespace rubato::chip
