// Pipeline under a speculative task (C7, C14, C15): sets, undo log in the attempt and in simulated memory,
// marks, look-ahead, accesses that are blocked or abort tasks.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "tests/chip/core/speculation_rig.hpp"

namespace rubato::chip {
namespace {

using namespace test;

TEST(SpeculativePipeline, LogsTheAlignedWordThatAStoreOverwrites) {
  Rig r;
  r.m.memory.store<std::uint64_t>(kData, 0x1122334455667788);
  r.m.x(11) = ~0ULL;
  r.m.emit("sb", {.rs1 = 10, .rs2 = 11, .imm = 3});
  r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = 0});
  r.m.run();
  EXPECT_EQ(r.undo(), (Log{{kData, 0x1122334455667788}, {kData, 0x11223344ff667788}}));
  EXPECT_EQ(r.m.memory.load<std::uint64_t>(kData), 0U);
  EXPECT_EQ(r.records, (std::set<Record>{r.write(kData)}));
  EXPECT_EQ(r.kinds(), (std::vector{AccessKind::untracked_store, AccessKind::store}));
  EXPECT_EQ(r.attempt.log_lines, (std::vector{line_of(kLog)}));
}

TEST(SpeculativePipeline, LogsBothWordsOfAStoreThatCrossesThemAndRecordsBothLines) {
  Rig r;
  r.m.memory.store<std::uint64_t>(kData + 56, 1);
  r.m.memory.store<std::uint64_t>(kData + 64, 2);
  r.m.x(11) = 0xaabbccdd11223344;
  r.m.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 60});
  r.m.emit("sw", {.rs1 = 10, .rs2 = 11, .imm = 14});
  r.m.run();
  EXPECT_EQ(r.undo(), (Log{{kData + 56, 1}, {kData + 64, 2}, {kData + 8, 0}, {kData + 16, 0}}));
  EXPECT_EQ(r.records, (std::set<Record>{r.write(kData), r.write(kData + 64)}));
  EXPECT_EQ(r.m.memory.load<std::uint64_t>(kData + 60), 0xaabbccdd11223344);
}

TEST(SpeculativePipeline, LogsAtomicsAndStoreConditionals) {
  Rig r;
  r.m.memory.store<std::uint64_t>(kData, 40);
  r.m.memory.store<std::uint64_t>(kData + 128, 7);
  r.m.x(11) = 2;
  r.m.x(12) = kData + 128;
  r.m.emit("amoadd.d", {.rd = 5, .rs1 = 10, .rs2 = 11});
  r.m.emit("lr.d", {.rd = 6, .rs1 = 12});
  r.m.emit("sc.d", {.rd = 7, .rs1 = 12, .rs2 = 11});
  r.m.emit("sc.d", {.rd = 8, .rs1 = 12, .rs2 = 11});  // no reservation: fails, stores nothing, logs nothing
  r.m.run();
  EXPECT_EQ(r.undo(), (Log{{kData, 40}, {kData + 128, 7}}));
  EXPECT_EQ(r.m.memory.load<std::uint64_t>(kData), 42U);
  EXPECT_EQ(r.m.memory.load<std::uint64_t>(kData + 128), 2U);
  EXPECT_EQ(r.m.x(7), 0U);
  EXPECT_EQ(r.m.x(8), 1U);
  EXPECT_EQ(r.records, (std::set<Record>{r.write(kData), r.read(kData + 128), r.write(kData + 128)}));
}

TEST(SpeculativePipeline, ReadingOnlyRecordsAndLogsNothing) {
  Rig r;
  r.m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  r.m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 60});
  r.m.run();
  EXPECT_EQ(r.records, (std::set<Record>{r.read(kData), r.read(kData + 64)}));
  EXPECT_TRUE(r.attempt.undo.empty());
  EXPECT_TRUE(r.attempt.log_lines.empty());
}

TEST(SpeculativePipeline, RecordsEachUseOnce) {
  Rig r;
  for (int i = 0; i < 4; ++i) {
    r.m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
    r.m.emit("ld", {.rd = 6, .rs1 = 12, .imm = 0});
    r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = 8});
  }
  r.m.x(12) = kData + 64 * kLineBytes;
  r.m.run();
  EXPECT_EQ(r.records, (std::set<Record>{r.read(kData), r.read(kData + 64 * kLineBytes), r.write(kData)}));
  EXPECT_EQ(r.recorded, 3U);
}

TEST(SpeculativePipeline, TakesALogLineEveryFourEntriesAndUsesThoseGivenBackFirst) {
  Rig r;
  for (int i = 0; i < 9; ++i) r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = i % 2 * 8});
  r.m.run();
  const LineAddr first = line_of(kLog);
  EXPECT_EQ(r.attempt.log_lines, (std::vector{first, LineAddr{first.value + 1}, LineAddr{first.value + 2}}));
  EXPECT_EQ(r.kinds(), (std::vector{AccessKind::untracked_store, AccessKind::store,
                                    AccessKind::untracked_store, AccessKind::untracked_store}));
  r.m.pipeline->end_speculation();
  r.m.pipeline->give_back_log(r.attempt.log_lines);
  EXPECT_TRUE(r.attempt.log_lines.empty());
  // The next task starts over with the first line, which is still in the L1: no traffic.
  Attempt next;
  next.virtual_time = {6, 0};
  r.begin(next);
  r.m.pipeline->hart().pc = kCode;
  r.m.system.accesses.clear();
  EXPECT_EQ(r.m.model->run(r.m.pipeline->cycle(), kNever), PipelineStop::ecall);
  EXPECT_EQ(next.log_lines, (std::vector{first, LineAddr{first.value + 1}, LineAddr{first.value + 2}}));
  EXPECT_TRUE(r.m.system.accesses.empty());
  EXPECT_EQ(next.undo.size(), 9U);
}

TEST(SpeculativePipeline, AStoreDoesNotWaitForItsLogButFinishDoes) {
  Rig r;
  r.m.cached(kData);
  r.m.l1d.mark(line_of(kData), true);
  r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = 0});  // 0: hits; its log line comes at 20
  r.m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 8});   // 1: nor does a load wait
  r.m.emit("addi", {.rd = 6, .rs1 = 5, .imm = 0});  // 3
  EXPECT_EQ(r.m.run(), 4U);
  EXPECT_EQ(r.m.pipeline->drain(), Cycle{20});
}

TEST(SpeculativePipeline, OwnStackIsNeitherRecordedNorLogged) {
  Rig r;
  r.m.x(2) = kStack + kStackBytes;
  r.m.emit("sd", {.rs1 = 2, .rs2 = 11, .imm = -8});
  r.m.emit("ld", {.rd = 5, .rs1 = 2, .imm = -8});
  r.m.emit("ld", {.rd = 6, .rs1 = 2, .imm = -100});
  r.m.emit("amoadd.d", {.rd = 7, .rs1 = 12, .rs2 = 11});
  r.m.x(12) = kStack + 256;
  r.m.run();
  EXPECT_TRUE(r.records.empty());
  EXPECT_TRUE(r.attempt.undo.empty());
  EXPECT_EQ(r.kinds(), (std::vector{AccessKind::untracked_store, AccessKind::untracked_load,
                                    AccessKind::untracked_store}));
}

TEST(SpeculativePipeline, AStackLineThatWasThereBeforeMarksBecomesUntracked) {
  Rig r(false);
  Machine& m = r.m;
  // As begin_marks leaves it: checked for reads and writes.
  m.cached(kStack);
  m.l1d.mark(line_of(kStack), true);
  r.begin(r.attempt);
  m.x(2) = kStack;
  m.emit("ld", {.rd = 5, .rs1 = 2, .imm = 0});
  m.emit("sd", {.rs1 = 2, .rs2 = 0, .imm = 0});
  m.run();
  EXPECT_TRUE(r.records.empty());
  EXPECT_TRUE(r.attempt.undo.empty());
  m.l1d.clear_marks();
  EXPECT_TRUE(m.l1d.covers(line_of(kStack), true));
}

TEST(SpeculativePipeline, TheLineInWhichTheStackBeginsIsTracked) {
  Rig r;
  r.m.pipeline->set_own_stack(kStack, kStack + 32);
  r.m.x(2) = kStack;
  r.m.emit("sd", {.rs1 = 2, .rs2 = 0, .imm = 0});
  r.m.run();
  EXPECT_EQ(r.records, (std::set<Record>{r.write(kStack)}));
  EXPECT_EQ(r.undo(), (Log{{kStack, 0}}));
}

TEST(SpeculativePipeline, UntrackedPagesAreNeitherRecordedNorLogged) {
  Rig r;
  const Addr untracked = kData + AddressSpace::kPageBytes;
  r.m.memory.protect(untracked, AddressSpace::kPageBytes, Page::kRead | Page::kWrite | Page::kUntracked);
  r.m.pipeline->hart().capsule_depth = 1;
  r.m.x(10) = untracked - 4;  // half a store here, half a store there
  r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = 0});
  r.m.run();
  EXPECT_EQ(r.records, (std::set<Record>{r.write(untracked - 4)}));
  EXPECT_EQ(r.undo(), (Log{{untracked - 8, 0}}));
  EXPECT_EQ(r.kinds(),
            (std::vector{AccessKind::untracked_store, AccessKind::store, AccessKind::untracked_store}));
}

// P29, P30: with the line in the L1 or not.
TEST(SpeculativePipeline, OutsideCapsulesUntrackedMemoryIsAFaultThatTouchesNothing) {
  for (const char* const name : {"sd", "ld", "amoadd.d"}) {
    for (const bool is_cached : {false, true}) {
      Rig r;
      const Addr untracked = kData + AddressSpace::kPageBytes;
      r.m.memory.protect(untracked, AddressSpace::kPageBytes, Page::kRead | Page::kWrite | Page::kUntracked);
      if (is_cached) FlatMemory::fill(r.m.l1d, line_of(untracked), LineState::modified);
      r.m.x(10) = untracked;
      r.m.x(11) = 5;
      r.m.emit(name, {.rd = std::string_view(name) == "sd" ? 0U : 12U, .rs1 = 10, .rs2 = 11});
      EXPECT_EQ(r.m.model->run(Cycle{0}, kNever), PipelineStop::fault) << name;
      EXPECT_EQ(r.m.pipeline->fault().address, untracked) << name;
      EXPECT_EQ(r.m.memory.load<std::uint64_t>(untracked), 0U) << name;
      EXPECT_TRUE(r.records.empty());
      EXPECT_TRUE(r.kinds().empty()) << name;
    }
  }
}

TEST(SpeculativePipeline, ALaterTaskHitsWhatAnEarlierOneCheckedAndRecordsItAnew) {
  Rig r;
  r.m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  r.m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 8});
  r.m.run();
  EXPECT_EQ(r.m.system.accesses.size(), 1U);
  const auto again = [&](VirtualTime vt) {
    Attempt attempt;
    attempt.virtual_time = vt;
    r.records.clear();
    r.m.system.accesses.clear();
    r.m.pipeline->begin_task(vt == kMinVirtualTime ? nullptr : &attempt, vt.timestamp);
    r.m.pipeline->hart().pc = kCode;
    EXPECT_EQ(r.m.model->run(r.m.pipeline->cycle(), kNever), PipelineStop::ecall);
    r.m.pipeline->end_speculation();
  };
  again({5, 1});
  EXPECT_TRUE(r.m.system.accesses.empty());
  EXPECT_EQ(r.records, (std::set<Record>{r.read(kData)}));
  again({4, 9});  // earlier: checked again
  EXPECT_EQ(r.m.system.accesses.size(), 1U);
  EXPECT_EQ(r.records, (std::set<Record>{r.read(kData)}));
  again(kMinVirtualTime);  // non-speculative: earlier than all, not recorded
  EXPECT_EQ(r.m.system.accesses.size(), 1U);
  EXPECT_TRUE(r.records.empty());
  again({1, 1});  // what that checked is good for all
  EXPECT_TRUE(r.m.system.accesses.empty());
  EXPECT_EQ(r.records, (std::set<Record>{r.read(kData)}));
}

TEST(SpeculativePipeline, AStoreWaitsForTheStoreBufferBeforeItHasItsLines) {
  Rig r(true, 64, [](Config& c) { c.core.store_buffer = 1; });
  r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = 60});
  r.m.emit("ecall");
  // Others have something to do in every cycle: a waiting core lets them run first, and may lose its lines.
  PipelineStop stop = PipelineStop::resume;
  for (int i = 0; i < 3 && stop == PipelineStop::resume; ++i)
    stop = r.m.model->run(r.m.pipeline->cycle(), r.m.pipeline->cycle() + 1);
  EXPECT_EQ(r.kinds(), (std::vector{AccessKind::untracked_store, AccessKind::store, AccessKind::store}));
  EXPECT_LT(r.m.system.accesses[0].second, r.m.system.accesses[1].second);
  EXPECT_EQ(r.m.system.accesses[1].second, r.m.system.accesses[2].second);
}

TEST(SpeculativePipeline, ABlockedAccessIsIssuedAgainAndLoggedOnce) {
  Rig r;
  int refusals = 2;
  r.m.system.hook = [&](LineAddr line, AccessKind, Cycle, AccessResult& result) {
    if (line == line_of(kData + 64) && refusals-- > 0) result.done = false;
  };
  r.m.memory.store<std::uint64_t>(kData + 56, 1);
  r.m.x(11) = ~0ULL;
  r.m.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 60});  // the second line is refused
  r.m.emit("ecall");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(r.m.model->run(r.m.pipeline->cycle(), kNever), PipelineStop::blocked);
    EXPECT_EQ(r.m.memory.load<std::uint64_t>(kData + 56), 1U);
    EXPECT_TRUE(r.attempt.undo.empty());
    EXPECT_EQ(r.attempt.log_lines.size(), 1U);  // taken before, and kept
    EXPECT_EQ(r.m.pipeline->hart().pc, kCode);
    r.m.pipeline->resume_at(Cycle{100}, CyclePart::check);
  }
  EXPECT_EQ(r.m.model->run(Cycle{100}, kNever), PipelineStop::ecall);
  EXPECT_EQ(r.undo(), (Log{{kData + 56, 1}, {kData + 64, 0}}));
  EXPECT_EQ(r.attempt.log_lines.size(), 1U);
  EXPECT_EQ(r.m.pipeline->stalls().take()[static_cast<unsigned>(CyclePart::check)], 100U);
}

TEST(SpeculativePipeline, AnAccessThatAbortsItsOwnTaskStoresNothing) {
  for (const AccessKind at : {AccessKind::store, AccessKind::untracked_store}) {  // the store or its log line
    Rig r;
    r.m.system.hook = [&](LineAddr, AccessKind kind, Cycle now, AccessResult&) {
      if (kind != at) return;
      EXPECT_EQ(r.m.pipeline->cycle(), now);  // the core can tell how far it came
      r.m.pipeline->stop_task();
    };
    r.m.x(11) = 5;
    r.m.emit("addi", {.rd = 6, .rs1 = 0, .imm = 1});
    r.m.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 0});
    r.m.emit("ecall");
    EXPECT_EQ(r.m.model->run(Cycle{0}, kNever), PipelineStop::blocked);
    EXPECT_EQ(r.m.memory.load<std::uint64_t>(kData), 0U);
    EXPECT_TRUE(r.attempt.undo.empty());
    EXPECT_EQ(r.m.pipeline->cycle(), Cycle{1});
  }
}

TEST(SpeculativePipeline, AfterAnAccessThatAbortedOthersNothingStrictPassesTheirNextEvents) {
  struct Nothing final : EventHandler {
    void on_event(Cycle, std::uint32_t, std::uint64_t) override {}
  } nothing;
  Rig r;
  r.m.system.hook = [&](LineAddr line, AccessKind, Cycle, AccessResult& result) {
    if (line != line_of(kData)) return;
    result.disturbed = true;
    r.timeline.schedule(Cycle{3}, &nothing);
  };
  for (int i = 0; i < 8; ++i) r.m.emit("ld", {.rd = 11, .rs1 = 10, .imm = i * 64 + 64});
  r.m.memory.store(kCode, encode("ld", {.rd = 12, .rs1 = 10, .imm = 0}));
  r.m.emit("ecall");
  EXPECT_EQ(r.m.model->run(Cycle{0}, Cycle{1000}), PipelineStop::resume);
  // 0 aborts; the misses at 1 (write after write stalls the others) only.
  for (const auto& [kind, at] : r.m.system.accesses) EXPECT_LT(at, 3U);
  EXPECT_EQ(r.m.system.accesses.size(), 2U);
  EXPECT_EQ(r.m.pipeline->cycle(), Cycle{21});
}

TEST(SpeculativePipeline, HitsOnMarkedLinesRunAheadButNewLogLinesDoNot) {
  Rig r(false);
  r.m.cached(kData);
  r.m.l1d.mark(line_of(kData), true);
  r.begin(r.attempt);
  for (int i = 0; i < 6; ++i) r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = i * 8});
  r.m.emit("ecall");
  EXPECT_EQ(r.m.model->run(Cycle{0}, Cycle{1}), PipelineStop::resume);
  EXPECT_EQ(r.m.pipeline->cycle(), Cycle{4});  // the fifth store needs another line of log
  EXPECT_EQ(r.attempt.undo.size(), 4U);
  EXPECT_EQ(r.records, (std::set<Record>{r.write(kData)}));
  EXPECT_EQ(r.m.model->run(Cycle{4}, Cycle{5}), PipelineStop::resume);
  EXPECT_EQ(r.m.pipeline->cycle(), Cycle{6});  // the ecall
  EXPECT_EQ(r.attempt.undo.size(), 6U);
}

// Between lr and sc of a non-speculative task the line leaves the L1, as by a speculative store elsewhere.
std::uint64_t store_conditional(Addr a, bool is_stored_to) {
  Rig r(false);
  r.m.x(10) = a;
  r.m.x(11) = 7;
  r.m.emit("lr.d", {.rd = 5, .rs1 = 10});
  r.m.emit("ecall");
  EXPECT_EQ(r.m.model->run(Cycle{0}, kNever), PipelineStop::ecall);
  r.m.l1d.invalidate(r.m.l1d.find(line_of(a)));
  r.m.l1d.clear_reservation();  // as the memory system does at another core's store
  if (is_stored_to) r.reservations.on_store(CoreId{1}, line_of(a));
  r.m.end -= 4;
  r.m.blocks.flush();
  r.m.emit("sc.d", {.rd = 6, .rs1 = 10, .rs2 = 11});
  r.m.emit("ecall");
  EXPECT_EQ(r.m.model->run(Cycle{0}, kNever), PipelineStop::ecall);
  EXPECT_EQ(r.m.memory.load<std::uint64_t>(a), r.m.x(6) == 0 ? 7U : 0U);
  EXPECT_FALSE(r.reservations.stands(CoreId{0}, line_of(a)));
  return r.m.x(6);
}

TEST(SpeculativePipeline, ANonSpeculativeReservationOutlivesTheLossOfItsLine) {
  EXPECT_EQ(store_conditional(kData, false), 0U);
  EXPECT_EQ(store_conditional(kData, true), 1U);
}

TEST(SpeculativePipeline, AReservationOfUntrackedMemoryEndsAtAnotherCoresStore) {
  EXPECT_EQ(store_conditional(kStack, false), 1U);
}

TEST(SpeculativePipeline, AFullLogIsAFault) {
  Rig r(true, 2);
  for (int i = 0; i < 9; ++i) r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = i * 8});
  EXPECT_EQ(r.m.model->run(Cycle{0}, kNever), PipelineStop::fault);
  EXPECT_EQ(r.m.pipeline->fault().kind, FaultKind::task_error);
  EXPECT_EQ(r.m.pipeline->hart().pc, kCode + 32);
  EXPECT_EQ(r.attempt.undo.size(), 8U);
}

TEST(SpeculativePipeline, GoesOnWithoutSetsAndLogAsANonSpeculativeTask) {
  Rig r;
  r.m.emit("sd", {.rs1 = 10, .rs2 = 0, .imm = 0});
  r.m.emit("ecall");
  EXPECT_EQ(r.m.model->run(Cycle{0}, kNever), PipelineStop::ecall);
  r.records.clear();
  r.m.pipeline->end_speculation();
  r.m.pipeline->hart().pc = kCode;
  EXPECT_EQ(r.m.model->run(r.m.pipeline->cycle(), kNever), PipelineStop::ecall);
  EXPECT_EQ(r.attempt.undo.size(), 1U);
  EXPECT_TRUE(r.records.empty());
  EXPECT_EQ(r.m.system.accesses.size(), 2U);  // the line and its log
}

}  // namespace
}  // namespace rubato::chip
