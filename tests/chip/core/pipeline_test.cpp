// Timing of the in-order core against hand-computed cycle counts (docs/core-timing.md): each test says why
// the sum is what it is. Instruction fetch hits unless a test is about it; an L1 hit takes 2 cycles, a
// miss 20.
// SPDX-License-Identifier: MIT
#include "chip/core/pipeline.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/chip/core/machine.hpp"

namespace rubato::chip {
namespace {

using namespace test;

TEST(Pipeline, IssuesOneIndependentInstructionACycle) {
  Machine m;
  for (int i = 0; i < 10; ++i) m.emit("addi", {.rd = 5, .rs1 = 6, .imm = i});
  EXPECT_EQ(m.run(), 10u);  // issue at 0..9, the ecall at 10
  EXPECT_EQ(m.pipeline->counters().instructions, 10u);
}

TEST(Pipeline, ForwardsAnIntegerResultToTheNextCycle) {
  Machine m;
  for (int i = 0; i < 10; ++i) m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  EXPECT_EQ(m.run(), 10u);  // latency 1: a dependent chain issues every cycle
  EXPECT_EQ(m.x(5), 10u);
}

TEST(Pipeline, StallsTheUserOfAProductButNotTheInstructionBetween) {
  Machine m;
  m.emit("mul", {.rd = 5, .rs1 = 6, .rs2 = 7});   // issues at 0, ready at 3
  m.emit("addi", {.rd = 8, .rs1 = 0, .imm = 1});  // 1
  m.emit("addi", {.rd = 9, .rs1 = 5, .imm = 1});  // waits until 3
  EXPECT_EQ(m.run(), 4u);
  Machine n;
  n.emit("mul", {.rd = 5, .rs1 = 6, .rs2 = 7});
  n.emit("addi", {.rd = 8, .rs1 = 0, .imm = 1});
  n.emit("addi", {.rd = 8, .rs1 = 0, .imm = 1});
  n.emit("addi", {.rd = 9, .rs1 = 5, .imm = 1});  // 3 exactly: no stall
  EXPECT_EQ(n.run(), 4u);
}

TEST(Pipeline, WaitsForAnOlderResultBeforeOverwritingItsRegister) {
  Machine m;
  m.emit("div", {.rd = 5, .rs1 = 6, .rs2 = 7});   // ready at 20
  m.emit("addi", {.rd = 5, .rs1 = 0, .imm = 1});  // write after write: 20
  EXPECT_EQ(m.run(), 21u);
}

struct NotedPlaces final : isa::NoteObserver {
  void on_note(Addr pc, const HartState& hart, std::uint32_t awaited) override {
    seen.push_back(pc);
    return_address = hart.x[1];
    EXPECT_EQ(awaited, 0u);
  }
  std::vector<Addr> seen;
  Addr return_address = 0;
};

// The block of the product and the one that is called have notes, while the product is under way.
TEST(Pipeline, ANoteTakesNoTimeAndCountsAsNothing) {
  std::uint64_t cycles[2] = {};
  for (const bool is_noted : {false, true}) {
    Machine m;
    NotedPlaces notes;
    m.emit("mul", {.rd = 5, .rs1 = 6, .rs2 = 7});
    m.emit("jal", {.rd = 1, .imm = 8});
    m.emit("addi", {.rd = 9});  // not executed
    m.emit("addi", {.rd = 9, .rs1 = 5, .imm = 1});
    if (is_noted) m.blocks.set_notes({kCode, kCode + 12}, notes);
    cycles[is_noted ? 1 : 0] = m.run();
    EXPECT_EQ(m.pipeline->counters().instructions, 3u);
    EXPECT_EQ(notes.seen, is_noted ? (std::vector<Addr>{kCode, kCode + 12}) : std::vector<Addr>{});
    EXPECT_EQ(notes.return_address, is_noted ? kCode + 8 : 0);
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

TEST(Pipeline, PipelinesMultiplications) {
  Machine m;
  for (unsigned i = 0; i < 4; ++i) m.emit("mul", {.rd = 5 + i, .rs1 = 10, .rs2 = 11});
  m.emit("addi", {.rd = 20, .rs1 = 8, .imm = 0});  // the last product: issued at 3, ready at 6
  EXPECT_EQ(m.run(), 7u);
}

TEST(Pipeline, GivesAnL1HitToTheSecondNextInstruction) {
  Machine m;
  m.x(10) = kData;
  m.cached(kData);
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});   // 0, ready at 2
  m.emit("addi", {.rd = 6, .rs1 = 5, .imm = 0});  // 2
  EXPECT_EQ(m.run(), 3u);
  EXPECT_EQ(m.pipeline->stalls().take()[static_cast<unsigned>(CyclePart::l1)], 1u);
}

TEST(Pipeline, RunsOnUnderAMissUntilTheResultIsUsed) {
  Machine m;
  m.x(10) = kData;
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});  // 0, ready at 20
  for (int i = 0; i < 5; ++i) m.emit("addi", {.rd = 6, .rs1 = 6, .imm = 1});
  m.emit("addi", {.rd = 7, .rs1 = 5, .imm = 0});  // 20
  EXPECT_EQ(m.run(), 21u);
  EXPECT_EQ(m.pipeline->stalls().take()[static_cast<unsigned>(CyclePart::memory)], 14u);  // 6..20
}

TEST(Pipeline, HidesAMissWhoseResultNobodyUsesInTime) {
  Machine m;
  m.x(10) = kData;
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  for (int i = 0; i < 19; ++i) m.emit("addi", {.rd = 6, .rs1 = 6, .imm = 1});
  m.emit("addi", {.rd = 7, .rs1 = 5, .imm = 0});  // issues at 20: no stall
  EXPECT_EQ(m.run(), 21u);
  EXPECT_EQ(m.pipeline->stalls().take()[static_cast<unsigned>(CyclePart::memory)], 0u);
}

TEST(Pipeline, WaitsForTheFillThatAnEarlierMissStarted) {
  Machine m;
  m.x(10) = kData;
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});   // miss at 0, fill at 20
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 8});   // the same line: one access only, ready at 20
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 0});  // 20
  EXPECT_EQ(m.run(), 21u);
  EXPECT_EQ(m.system.accesses.size(), 1u);
}

TEST(Pipeline, ForwardsAWordFromTheStoreBuffer) {
  Machine m;
  m.x(10) = kData;
  m.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 0});  // store miss at 0, done at 20
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});    // the very word: ready at 1 + 2
  m.emit("addi", {.rd = 6, .rs1 = 5, .imm = 0});   // 3
  EXPECT_EQ(m.run(), 4u);
  Machine n;
  n.x(10) = kData;
  n.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 0});
  n.emit("ld", {.rd = 5, .rs1 = 10, .imm = 8});  // another word of the line: 20
  n.emit("addi", {.rd = 6, .rs1 = 5, .imm = 0});
  EXPECT_EQ(n.run(), 21u);
}

TEST(Pipeline, StallsTheSeventeenthOutstandingStore) {
  Machine m;
  m.x(10) = kData;
  for (int i = 0; i < 16; ++i) m.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = i * 64});
  EXPECT_EQ(m.run(), 16u);  // 0..15, no stall
  Machine n;
  n.x(10) = kData;
  for (int i = 0; i < 17; ++i) n.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = i * 64});
  EXPECT_EQ(n.run(), 21u);  // the 17th waits for the first, done at 20
}

TEST(Pipeline, StallsTheSeventeenthOutstandingLoad) {
  Machine m;
  m.x(10) = kData;
  for (unsigned i = 0; i < 17; ++i)
    m.emit("ld", {.rd = 5 + i % 4, .rs1 = 10, .imm = static_cast<int>(i) * 64});
  // The fifth load overwrites the first one's register, ready at 20: write after write stalls it. 4 at 0..3,
  // then 20..23 (registers ready at 20, 21, 22, 23), 40..43, 60..63, 80.
  EXPECT_EQ(m.run(), 81u);
  Machine n;
  n.x(10) = kData;
  for (unsigned i = 0; i < 17; ++i) n.emit("ld", {.rd = 11 + i, .rs1 = 10, .imm = static_cast<int>(i) * 64});
  EXPECT_EQ(n.run(), 21u);  // 0..15, the 17th finds an entry at 20
}

TEST(Pipeline, AFenceWaitsForEveryOutstandingAccess) {
  Machine m;
  m.x(10) = kData;
  m.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 0});  // done at 20
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 128});  // 1, done at 21
  m.emit("fence");                                 // 21
  EXPECT_EQ(m.run(), 22u);
}

TEST(Pipeline, MispredictionCostsItsPenaltyOnce) {
  Machine m;
  // Weakly taken at first: a branch that is not taken is mispredicted.
  m.emit("beq", {.rs1 = 0, .rs2 = 5, .imm = 8});  // x5 = 1: not taken; 0, then 5 cycles lost
  m.x(5) = 1;
  EXPECT_EQ(m.run(), 6u);
  Machine n;
  n.emit("beq", {.rs1 = 0, .rs2 = 0, .imm = 4});  // taken, as predicted
  EXPECT_EQ(n.run(), 1u);
  EXPECT_EQ(m.pipeline->counters().mispredicts, 1u);
  EXPECT_EQ(n.pipeline->counters().mispredicts, 0u);
}

TEST(Pipeline, PredictsReturnsByTheReturnStack) {
  Machine m;
  m.emit("jal", {.rd = 1, .imm = 12});  // 0: call +12
  m.emit("jal", {.rd = 0, .imm = 12});  // 3: over the function
  m.emit("addi", {.rd = 0, .rs1 = 0, .imm = 0});
  m.emit("addi", {.rd = 5, .rs1 = 0, .imm = 1});  // 1
  m.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});  // 2: return, predicted
  // lands at the second jal, which jumps behind the function: 3, the ecall at 4... at +16
  m.end = kCode + 16;
  m.end += 4;
  m.emit("addi", {.rd = 0, .rs1 = 0, .imm = 0});
  m.memory.store(kCode + 4, encode("jal", {.rd = 0, .imm = 16}));
  EXPECT_EQ(m.run(), 5u);  // 0 jal, 1 addi, 2 jalr, 3 jal, 4 addi, 5 ecall
}

TEST(Pipeline, AnInstructionMissDelaysIssue) {
  Machine m;
  for (int i = 0; i < 16; ++i) m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});  // one line of code
  m.l1i.invalidate(m.l1i.find(line_of(kCode)));
  EXPECT_EQ(m.run(), 36u);  // 20 to fetch, 16 to issue; the ecall's line is there
  EXPECT_EQ(m.pipeline->stalls().take()[static_cast<unsigned>(CyclePart::memory)], 18u);
}

TEST(Pipeline, RunsAheadOnHitsButMissesOnlyWhenTheClockIsThere) {
  Machine m;
  m.x(10) = kData;
  m.cached(kData);
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  m.emit("addi", {.rd = 6, .rs1 = 0, .imm = 0});
  m.emit("ld", {.rd = 7, .rs1 = 10, .imm = 64});  // misses at 2
  m.emit("ecall");
  // Another event at cycle 1: the miss at cycle 2 must wait for the clock.
  EXPECT_EQ(m.model->run(Cycle{0}, Cycle{1}), PipelineStop::resume);
  EXPECT_EQ(m.pipeline->cycle(), Cycle{2});
  EXPECT_TRUE(m.system.accesses.empty());
  EXPECT_EQ(m.model->run(Cycle{2}, Cycle{1000}), PipelineStop::ecall);
  ASSERT_EQ(m.system.accesses.size(), 1u);
  EXPECT_EQ(m.system.accesses[0].second, 2u);
}

TEST(Pipeline, StopsAtTheEndOfTheLookaheadWindow) {
  Machine m([](Config& c) { c.run.lookahead_cycles = 8; });
  for (int i = 0; i < 64; ++i) {
    m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
    m.emit("jal", {.rd = 0, .imm = 4});  // blocks of two instructions
  }
  // Others have business at 10: strict until 10, ahead until 18, tested between blocks.
  EXPECT_EQ(m.model->run(Cycle{0}, Cycle{10}), PipelineStop::resume);
  EXPECT_EQ(m.pipeline->cycle(), Cycle{18});
  EXPECT_EQ(m.pipeline->counters().instructions, 18u);
}

TEST(Pipeline, TakesTheSameTimeInPiecesAsAtOnce) {
  const auto program = [](Machine& m) {
    m.x(10) = kData;
    for (unsigned i = 0; i < 12; ++i) {
      m.emit("ld", {.rd = 5 + i % 3, .rs1 = 10, .imm = static_cast<int>(i % 5) * 64});
      m.emit("mul", {.rd = 8, .rs1 = 5 + i % 3, .rs2 = 8});
      m.emit("sd", {.rs1 = 10, .rs2 = 8, .imm = static_cast<int>(i % 7) * 64 + 8});
    }
  };
  Machine whole;
  program(whole);
  const std::uint64_t expected = whole.run();
  Machine pieces;
  program(pieces);
  pieces.emit("ecall");
  Cycle now{0};
  while (pieces.model->run(now, now) == PipelineStop::resume) now = pieces.pipeline->cycle();
  EXPECT_EQ(pieces.pipeline->cycle().value, expected);
  EXPECT_EQ(pieces.pipeline->counters().instructions, whole.pipeline->counters().instructions);
  EXPECT_EQ(pieces.pipeline->stalls().take(), whole.pipeline->stalls().take());
}

TEST(Pipeline, APauseCutsNoLookahead) {
  const auto run = [](Cycle next_other, Cycle pause) {
    Machine m([](Config& c) { c.run.lookahead_cycles = 20; });
    for (int i = 0; i < 64; ++i) {
      m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
      m.emit("jal", {.rd = 0, .imm = 4});
    }
    EXPECT_EQ(m.model->run(Cycle{0}, next_other, pause), PipelineStop::resume);
    return m.pipeline->cycle();
  };
  // Another event is at 10: the core runs ahead until 30, wherever the pause is.
  for (const std::uint64_t pause : {5U, 12U, 25U}) EXPECT_EQ(run(Cycle{10}, Cycle{pause}), Cycle{30});
  // No other event: the core comes back at the pause.
  EXPECT_EQ(run(kNever, Cycle{5}), Cycle{6});
}

TEST(Pipeline, AStoreConditionalFailsWhenAnotherCoreStored) {
  Machine m;
  m.x(10) = kData;
  m.emit("lr.d", {.rd = 5, .rs1 = 10});
  m.emit("ecall");
  EXPECT_EQ(m.model->run(Cycle{0}, kNever), PipelineStop::ecall);
  m.l1d.invalidate(m.l1d.find(line_of(kData)));
  m.l1d.clear_reservation();  // as the memory system does at another core's store
  m.end -= 4;
  m.blocks.flush();
  m.x(11) = 7;
  m.emit("sc.d", {.rd = 6, .rs1 = 10, .rs2 = 11});
  m.emit("ecall");
  EXPECT_EQ(m.model->run(Cycle{0}, kNever), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 1u);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0u);
  Machine n;
  n.x(10) = kData;
  n.x(11) = 7;
  n.emit("lr.d", {.rd = 5, .rs1 = 10});
  n.emit("sc.d", {.rd = 6, .rs1 = 10, .rs2 = 11});
  n.run();
  EXPECT_EQ(n.x(6), 0u);
  EXPECT_EQ(n.memory.load<std::uint64_t>(kData), 7u);
}

TEST(Pipeline, AccessesThatCrossALineTouchBoth) {
  Machine m;
  m.x(10) = kData + 60;
  m.memory.store<std::uint64_t>(kData + 60, 0x1122334455667788);
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  m.run();
  EXPECT_EQ(m.x(5), 0x1122334455667788u);
  EXPECT_EQ(m.system.accesses.size(), 2u);
}

TEST(Pipeline, FaultsOnWildPointersWithTheirAddress) {
  Machine m;
  m.x(10) = 0x5000;
  m.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 8});
  EXPECT_EQ(m.model->run(Cycle{0}, kNever), PipelineStop::fault);
  EXPECT_EQ(m.pipeline->fault().kind, FaultKind::store_access);
  EXPECT_EQ(m.pipeline->fault().address, 0x5008u);
  EXPECT_EQ(m.pipeline->fault().pc, kCode);
  Machine n;  // readable, not writable, though its line is cached
  n.x(10) = kCode;
  n.cached(kCode, LineState::exclusive);
  n.emit("sd", {.rs1 = 10, .rs2 = 11, .imm = 0});
  EXPECT_EQ(n.model->run(Cycle{0}, kNever), PipelineStop::fault);
  EXPECT_EQ(n.pipeline->fault().kind, FaultKind::store_access);
}

}  // namespace
}  // namespace rubato::chip
