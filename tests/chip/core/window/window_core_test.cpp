// The window core against schedules computed by hand (K71): each says why the sum is what it is. An
// instruction that is dispatched in cycle d issues in d + 1 or later, is complete its latency after that, and
// commits then or later; the ecall that ends a program goes alone, in the cycle in which the last one before
// it commits. Fetches hit; an L1 hit takes 2 cycles, a miss 20. Stores and the loads that read them are in
// store_to_load_test.cpp, dividers in dividers_test.cpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/chip/core/window/window_machine.hpp"

namespace rubato::chip {
namespace {

using namespace test;

// ---- Width, ports, operands ----

TEST(WindowCore, DispatchesOneInstructionACycle) {
  WindowMachine m;
  m.adds(10);
  EXPECT_EQ(m.run(), 11U);  // dispatched in 0 to 9; the last issues in 10 and is complete in 11
  EXPECT_EQ(m.pipeline->counters().instructions, 10U);
}

TEST(WindowCore, DispatchesItsWidthACycle) {
  WindowMachine m({.width = 2});
  m.adds(10);
  EXPECT_EQ(m.run(), 6U);  // the last two dispatched in 4, issue in 5
  WindowMachine n({.width = 4});
  n.adds(12);
  EXPECT_EQ(n.run(), 4U);  // in 2, 3
}

TEST(WindowCore, IssuesAsManyAsHavePorts) {
  WindowMachine m({.width = 4, .ports = 1});
  m.adds(8);
  EXPECT_EQ(m.run(), 9U);  // issue in 1 to 8
  WindowMachine n({.width = 4, .ports = 2});
  n.adds(8);
  EXPECT_EQ(n.run(), 5U);  // issue in 1 to 4
}

TEST(WindowCore, PortsOfOneClassLeaveThoseOfAnotherAlone) {
  WindowMachine m({.width = 4, .ports = 1});
  m.cached(kData);
  for (int i = 0; i < 4; ++i) {
    m.emit("addi", {.rd = 5, .rs1 = 6, .imm = 1});
    m.emit("ld", {.rd = 7, .rs1 = 10, .imm = 0});
  }
  EXPECT_EQ(m.run(), 6U);  // loads issue in 1 to 4, the last is complete in 6
}

TEST(WindowCore, AChainIssuesOneACycleHoweverWideTheCore) {
  for (const std::uint32_t width : {1U, 2U, 4U}) {
    WindowMachine m({.width = width});
    m.chain(10);
    EXPECT_EQ(m.run(), 11U) << width;
    EXPECT_EQ(m.x(5), 10U);
  }
}

TEST(WindowCore, AChainOfProductsTakesTheirLatencies) {
  WindowMachine m({.width = 4});
  for (int i = 0; i < 5; ++i) m.emit("mul", {.rd = 5, .rs1 = 5, .rs2 = 6});
  EXPECT_EQ(m.run(), 16U);  // issue in 1, 4, 7, 10, 13
}

TEST(WindowCore, AnOlderResultDoesNotHoldUpItsRegister) {
  WindowMachine m({.width = 2});
  m.emit("div", {.rd = 5, .rs1 = 6, .rs2 = 7});   // issues in 1, complete in 21
  m.emit("addi", {.rd = 5, .rs1 = 0, .imm = 1});  // 1: renamed
  m.emit("mul", {.rd = 8, .rs1 = 5, .rs2 = 5});   // dispatched in 1, issues in 2, complete in 5
  EXPECT_EQ(m.run(), 22U);                        // commit is in order: in 21, 21 and 22
  EXPECT_EQ(m.x(5), 1U);
}

TEST(WindowCore, CommitsItsWidthACycle) {
  WindowMachine m({.width = 2});
  m.emit("div", {.rd = 5, .rs1 = 6, .rs2 = 7});  // complete, and commits, in 21
  m.adds(4);                                     // commit in 21, 22, 22, 23
  EXPECT_EQ(m.run(), 23U);
}

// ---- The reorder buffer ----

TEST(WindowCore, DispatchWaitsForRoomInTheReorderBuffer) {
  WindowMachine m({.width = 2, .rob = 4});
  m.emit("div", {.rd = 5, .rs1 = 6, .rs2 = 7});  // commits in 21, with the next
  m.adds(3);                                     // 21, 22, 22
  m.adds(1);                                     // dispatched in 22, issues in 23, complete in 24
  EXPECT_EQ(m.run(), 24U);
  EXPECT_EQ(m.stats().stalls_rob, 20U);  // it could have been dispatched in 2
}

TEST(WindowCore, ABufferOfOneRunsOneInstructionAtATime) {
  WindowMachine m({.width = 2, .rob = 2});
  m.chain(3);  // 0: issues in 1, commits in 2; so does the second in 2 and 3; the third waits until 3: 4, 5
  EXPECT_EQ(m.run(), 5U);
}

// ---- Loads ----

TEST(WindowCore, AHitTakesTheLatencyOfTheL1) {
  WindowMachine m;
  m.cached(kData);
  m.memory.store<std::uint64_t>(kData, 41);
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});   // issues in 1, complete in 3
  m.emit("addi", {.rd = 6, .rs1 = 5, .imm = 1});  // 3, 4
  EXPECT_EQ(m.run(), 4U);
  EXPECT_EQ(m.x(6), 42U);
}

TEST(WindowCore, IndependentMissesOverlap) {
  WindowMachine m({.width = 4});
  for (int i = 0; i < 4; ++i) m.emit("ld", {.rd = 5 + static_cast<unsigned>(i), .rs1 = 10, .imm = i * 64});
  EXPECT_EQ(m.run(), 21U);  // all issue in 1
  EXPECT_EQ(m.system.accesses.size(), 4U);
  EXPECT_EQ(m.stats().miss_cycles(), 80U);
  EXPECT_EQ(m.stats().busy(), 20U);  // four at a time
}

TEST(WindowCore, AChainOfMissesDoesNot) {
  WindowMachine m({.width = 4});
  for (int i = 0; i < 4; ++i) {
    m.memory.store<std::uint64_t>(kData + 64U * static_cast<unsigned>(i),
                                  kData + 64 * (static_cast<unsigned>(i) + 1));
    m.emit("ld", {.rd = 10, .rs1 = 10, .imm = 0});
  }
  EXPECT_EQ(m.run(), 81U);
  EXPECT_EQ(m.x(10), kData + 256);
}

TEST(WindowCore, AFullBufferLimitsHowManyMissesOverlap) {
  WindowMachine m({.width = 4, .rob = 4});
  for (int i = 0; i < 8; ++i) m.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
  EXPECT_EQ(m.run(), 43U);  // four issue in 1 and commit in 21; four are dispatched in 22, issue in 23
  EXPECT_EQ(m.stats().stalls_rob, 21U);
}

TEST(WindowCore, AFullLoadQueueDoesTheSame) {
  WindowMachine m({.width = 4, .loads = 2});
  for (int i = 0; i < 4; ++i) m.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
  EXPECT_EQ(m.run(), 43U);
  EXPECT_EQ(m.stats().stalls_lsq, 22U);
}

TEST(WindowCore, ALoadUnderAFillWaitsForIt) {
  WindowMachine m({.width = 2});
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});   // misses in 1, there in 21
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 8});   // the same line
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 0});  // issues in 21
  EXPECT_EQ(m.run(), 22U);
  EXPECT_EQ(m.system.accesses.size(), 1U);
}

TEST(WindowCore, WorkBehindAMissGoesOn) {
  WindowMachine m({.width = 2});
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});  // until 21
  m.adds(6);
  m.emit("div", {.rd = 8, .rs1 = 6, .rs2 = 7});  // dispatched in 3, issues in 4, complete in 24
  EXPECT_EQ(m.run(), 24U);
}

// ---- Stores ----

TEST(WindowCore, AStoreThatHitsIsDoneWhenItCommits) {
  WindowMachine m;
  m.cached(kData);
  m.x(5) = 7;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // issues in 1, commits in 2
  EXPECT_EQ(m.run(), 2U);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 7U);
}

TEST(WindowCore, AStoreMissesWhenItHasCommitted) {
  WindowMachine m;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // commits in 2, its line is there in 22
  m.emit("addi", {.rd = 6, .rs1 = 6, .imm = 1});
  EXPECT_EQ(m.run(), 22U);  // the ecall waits for the store queue
  EXPECT_EQ(m.system.accesses.at(0).second, 2U);
}

TEST(WindowCore, StoresToDifferentLinesOverlap) {
  WindowMachine m({.width = 2});
  for (int i = 0; i < 4; ++i) m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = i * 64});
  EXPECT_EQ(m.run(), 23U);  // commit in 2, 2, 3, 3
}

TEST(WindowCore, AFullStoreQueueHoldsUpDispatch) {
  WindowMachine m({.width = 2, .stores = 2});
  for (int i = 0; i < 3; ++i) m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = i * 64});
  EXPECT_EQ(m.run(), 44U);  // two commit in 2 and have their lines in 22; the third: 22, 23, commits in 24
  EXPECT_EQ(m.stats().stalls_lsq, 21U);
}

TEST(WindowCore, ALoadTakesItsValueFromTheStoreQueue) {
  WindowMachine m({.width = 2});
  m.x(5) = 0x1122334455667788;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // complete in 2; its line is there in 22
  m.emit("lw", {.rd = 6, .rs1 = 10, .imm = 4});   // issues in 2, complete in 4
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 0});  // 4
  m.emit("div", {.rd = 8, .rs1 = 7, .rs2 = 7});   // 5, complete in 25
  EXPECT_EQ(m.run(), 25U);
  EXPECT_EQ(m.x(7), 0x11223344U);
  EXPECT_EQ(m.system.accesses.size(), 1U);
}

TEST(WindowCore, ALoadOfBytesOfSeveralStoresAndOfMemoryHasThemAll) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.memory.store<std::uint64_t>(kData, 0x8877665544332211);
  m.x(5) = 0xaa;
  m.x(6) = 0xbbcc;
  m.emit("div", {.rd = 9, .rs1 = 5, .rs2 = 6});  // keeps the stores from committing
  m.emit("sb", {.rs1 = 10, .rs2 = 5, .imm = 1});
  m.emit("sh", {.rs1 = 10, .rs2 = 6, .imm = 6});
  m.emit("ld", {.rd = 7, .rs1 = 10, .imm = 0});
  m.run();
  EXPECT_EQ(m.x(7), 0xbbcc66554433aa11U);
}

// ---- Branches ----

TEST(WindowCore, AMispredictionCostsWhatItCostsInOrder) {
  WindowMachine m({}, [](Config& c) { c.core.mispredict = 5; });
  m.emit("bne", {.rs1 = 0, .rs2 = 0, .imm = 8});  // not taken, predicted taken: issues in 1
  m.adds(1);                                      // dispatched in 6, complete in 8
  EXPECT_EQ(m.run(), 8U);
  EXPECT_EQ(m.pipeline->counters().mispredicts, 1U);
}

TEST(WindowCore, AMispredictedBranchThatWaitsForAMissHoldsUpDispatch) {
  WindowMachine m({.width = 4}, [](Config& c) { c.core.mispredict = 5; });
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});   // until 21: 0
  m.emit("bne", {.rs1 = 5, .rs2 = 0, .imm = 8});  // issues in 21
  m.adds(1);                                      // dispatched in 26, complete in 28
  EXPECT_EQ(m.run(), 28U);
}

TEST(WindowCore, ARightPredictionCostsNothing) {
  WindowMachine m({.width = 4});
  m.emit("beq", {.rs1 = 0, .rs2 = 0, .imm = 8});  // taken, predicted taken
  m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});  // jumped over
  m.adds(1);
  EXPECT_EQ(m.run(), 2U);
  EXPECT_EQ(m.x(5), 0U);
}

// ---- Alone ----

TEST(WindowCore, AFenceWaitsForLoadsAndStores) {
  WindowMachine m({.width = 4});
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // commits in 2, in memory in 22
  m.emit("fence");                                // 22
  m.adds(1);                                      // dispatched in 23, complete in 25
  EXPECT_EQ(m.run(), 25U);
}

TEST(WindowCore, ARelaxedAtomicWaitsForNoStoreToAnotherLine) {
  WindowMachine m({.width = 4});
  m.x(11) = kData + 4096;
  m.cached(kData + 4096);
  m.x(5) = 3;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});       // commits in 2, in memory in 22
  m.emit("amoadd.d", {.rd = 6, .rs1 = 11, .rs2 = 5});  // alone in 2: complete in 4
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 0});       // dispatched in 4
  m.emit("div", {.rd = 7, .rs1 = 7, .rs2 = 5});        // 4, issues in 6, complete in 26
  EXPECT_EQ(m.run(), 26U);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData + 4096), 3U);
  WindowMachine n({.width = 4});
  n.cached(kData + 4096);
  n.x(11) = kData;
  n.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 8});       // the same line
  n.emit("amoadd.d", {.rd = 6, .rs1 = 11, .rs2 = 5});  // the line is there in 22
  EXPECT_EQ(n.run(), 22U);
}

TEST(WindowCore, AStoreConditionalSucceedsBehindItsLoadReserved) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.x(5) = 9;
  m.emit("lr.d", {.rd = 6, .rs1 = 10});
  m.emit("sc.d", {.rd = 7, .rs1 = 10, .rs2 = 5});
  m.emit("sc.d", {.rd = 8, .rs1 = 10, .rs2 = 5});
  m.run();
  EXPECT_EQ(m.x(7), 0U);
  EXPECT_EQ(m.x(8), 1U);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 9U);
}

TEST(WindowCore, AFaultWaitsUntilItIsTheOldest) {
  WindowMachine m({.width = 4});
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});  // until 21
  m.emit("ld", {.rd = 6, .rs1 = 0, .imm = 0});   // nothing is mapped there
  m.emit("ecall");
  EXPECT_EQ(m.model->run(Cycle{0}, kNever), PipelineStop::fault);
  EXPECT_EQ(m.pipeline->cycle().value, 21U);
  EXPECT_EQ(m.pipeline->fault().pc, kCode + 4);
  EXPECT_EQ(m.pipeline->fault().address, 0U);
}

// ---- Laws ----

/// Cycles of `count` independent instructions.
std::uint64_t cycles_of(std::uint32_t width, std::uint32_t ports, int count) {
  WindowMachine m({.width = width, .ports = ports});
  m.adds(count);
  return m.run();
}

TEST(WindowCore, IndependentInstructionsIssueByTheSmallerOfWidthAndPorts) {
  for (const std::uint32_t width : {1U, 2U, 4U})
    for (const std::uint32_t ports : {1U, 2U, 4U})
      EXPECT_EQ(cycles_of(width, ports, 640) - cycles_of(width, ports, 320), 320 / std::min(width, ports))
          << width << ' ' << ports;
}

TEST(WindowCore, OneInstructionACycleTakesAsLongAsInOrder) {
  const auto compare = [](const std::function<void(Machine&, int)>& emit) {
    std::uint64_t cycles[2][2];
    for (const int model : {0, 1})
      for (const int size : {0, 1}) {
        Machine m([&](Config& c) {
          if (model == 1) c.core.model = "window", c.core.width = 1, c.core.rob = 64;
        });
        m.x(10) = kData;
        m.cached(kData);
        emit(m, size == 0 ? 100 : 200);
        cycles[model][size] = m.run();
      }
    EXPECT_EQ(cycles[1][1] - cycles[1][0], cycles[0][1] - cycles[0][0]);
    EXPECT_EQ(cycles[1][0], cycles[0][0] + 1) << "dispatch is one cycle before issue";
  };
  compare([](Machine& m, int n) {
    for (int i = 0; i < n; ++i) m.emit("addi", {.rd = 5, .rs1 = 6, .imm = 1});
  });
  compare([](Machine& m, int n) {
    for (int i = 0; i < n; ++i) m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  });
  compare([](Machine& m, int n) {  // each mispredicted at first
    for (int i = 0; i < n; ++i) m.emit("bne", {.rs1 = 0, .rs2 = 0, .imm = 8});
    m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  });
}

TEST(WindowCore, APointerChaseTakesAsLongAsInOrder) {
  std::uint64_t cycles[2];
  for (const int model : {0, 1}) {
    Machine m([&](Config& c) {
      if (model == 1) c.core.model = "window", c.core.width = 4;
    });
    m.x(10) = kData;
    for (unsigned i = 0; i < 200; ++i) {
      m.memory.store<std::uint64_t>(kData + 64 * i, kData + 64 * (i + 1));
      m.emit("ld", {.rd = 10, .rs1 = 10, .imm = 0});
    }
    cycles[model] = m.run();
    EXPECT_EQ(m.x(10), kData + 12800);
  }
  EXPECT_EQ(cycles[1], 4001U);  // 200 times 20, from 1 on
  EXPECT_NEAR(static_cast<double>(cycles[0]), 4001, 40);
}

TEST(WindowCore, AsManyMissesAreUnderWayAsTheBufferHoldsOfThem) {
  for (const std::uint32_t rob : {8U, 16U, 32U}) {
    WindowMachine m({.width = 4, .rob = rob, .loads = 64});
    for (int i = 0; i < 64; ++i) {  // four instructions a miss
      m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
      m.emit("addi", {.rd = 10, .rs1 = 10, .imm = 64});
      m.adds(2);
    }
    const std::uint64_t cycles = m.run();
    const double under_way =
        static_cast<double>(m.stats().miss_cycles()) / static_cast<double>(m.stats().busy());
    EXPECT_NEAR(under_way, rob / 4.0, rob / 4.0 * 0.25) << rob;
    EXPECT_NEAR(static_cast<double>(cycles), 64 * 20 / (rob / 4.0), 64 * 20 / (rob / 4.0) * 0.3) << rob;
  }
}

// ---- Squashes ----

TEST_F(WindowMessages, AValueThatChangedMeanwhileSquashesWhatWentOnWithoutIt) {
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  m.emit("addi", {.rd = 6, .rs1 = 5, .imm = 1});
  m.emit("sd", {.rs1 = 11, .rs2 = 6, .imm = 0});
  m.emit("ecall");
  m.cached(kData + 4096);
  EXPECT_EQ(run(0), PipelineStop::deferred);
  EXPECT_EQ(m.x(6), 1U) << "it went on with the value in memory";
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData + 4096), 0U) << "and nothing has been written";
  m.memory.store<std::uint64_t>(kData, 41);  // another core's
  comes(kData, 100);
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 42U);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData + 4096), 42U);
  EXPECT_EQ(m.stats().squashes, 1U);
  EXPECT_EQ(m.stats().squashed, 2U);
  EXPECT_EQ(m.pipeline->counters().instructions, 3U);
  // There in 120, dispatch in 119 + 5; the addition is complete in 126, the store in 127.
  EXPECT_EQ(m.pipeline->cycle().value, 127U);
}

TEST_F(WindowMessages, AValueThatIsTheSameSquashesNothing) {
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  m.emit("addi", {.rd = 6, .rs1 = 5, .imm = 1});
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  comes(kData, 100);
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.pipeline->cycle().value, 121U);  // the addition issues in 120
  EXPECT_EQ(m.stats().squashes, 0U);
}

// cbo.clean loads a byte of the block into x0.
TEST_F(WindowMessages, ABlockThatIsCleanedSquashesNothing) {
  m.memory.store<std::uint8_t>(kData, 0x5a);
  m.emit("cbo.clean", {.rs1 = 10});
  m.emit("addi", {.rd = 6, .rs1 = 6, .imm = 1});
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  comes(kData, 100);
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 1U);
  EXPECT_EQ(m.stats().squashes, 0U);
}

TEST_F(WindowMessages, ALoadThatLedElsewhereIsFollowedAnew) {
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  m.emit("beq", {.rs1 = 5, .rs2 = 0, .imm = 12});  // with 0 it is taken
  m.emit("addi", {.rd = 6, .rs1 = 0, .imm = 7});
  m.emit("ecall");
  m.emit("addi", {.rd = 7, .rs1 = 0, .imm = 9});
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  m.memory.store<std::uint64_t>(kData, 1);
  comes(kData, 100);
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 7U);
  EXPECT_EQ(m.x(7), 0U);
  EXPECT_EQ(m.pipeline->hart().pc, kCode + 12);
}

TEST_F(WindowMessages, LoadsOfTheSameBytesPerformInOrder) {
  m.x(12) = kData + 4096;
  m.memory.store<std::uint64_t>(kData, kData + 4096);
  m.cached(kData + 4096);
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});  // late
  m.emit("ld", {.rd = 6, .rs1 = 5, .imm = 0});   // by way of it
  m.emit("ld", {.rd = 7, .rs1 = 12, .imm = 0});  // the same bytes, and its address is known: it waits
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  m.memory.store<std::uint64_t>(kData + 4096, 5);
  comes(kData, 100);
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 5U);
  EXPECT_EQ(m.x(7), 5U) << "not what was there before the older one performed";
}

TEST_F(WindowMessages, StoresOfALineAreWrittenInOrderAndOthersPassThem) {
  m.x(5) = 1;
  m.x(6) = 2;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("sd", {.rs1 = 11, .rs2 = 5, .imm = 0});
  m.emit("sd", {.rs1 = 10, .rs2 = 6, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  comes(kData + 4096, 50);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData + 4096), 1U);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0U);
  comes(kData, 60);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 2U);
  EXPECT_EQ(run(60), PipelineStop::ecall);
}

TEST_F(WindowMessages, PagesThatChangeFindCommittedStoresDoneAndTheRestUndone) {
  m.x(5) = 1;
  m.emit("sd", {.rs1 = 11, .rs2 = 5, .imm = 0});  // commits, and waits for its line
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});   // waits for its line
  m.emit("addi", {.rd = 7, .rs1 = 0, .imm = 3});
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  EXPECT_EQ(m.x(7), 3U);
  EXPECT_FALSE(m.model->perform_at_once(kData + 8192, kData + 12288, Cycle{10}));
  EXPECT_TRUE(m.model->perform_at_once(kData, kData + 8192, Cycle{10}));
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData + 4096), 1U);
  EXPECT_EQ(m.x(7), 0U);
  EXPECT_EQ(m.pipeline->hart().pc, kCode + 4);
  EXPECT_EQ(m.model->begin_leaving(), CoreModel::Leaving::now);
  EXPECT_EQ(run(10), PipelineStop::deferred) << "and goes on from there";
  comes(kData, 100);
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.x(7), 3U);
}

TEST_F(WindowMessages, AThreadThatLeavesTakesWhatHasCommitted) {
  m.x(5) = 1;
  m.emit("sd", {.rs1 = 11, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});
  m.emit("addi", {.rd = 7, .rs1 = 0, .imm = 3});
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  m.model->flush(Cycle{10});
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData + 4096), 1U);
  EXPECT_EQ(m.pipeline->hart().pc, kCode + 4);
  EXPECT_EQ(m.x(7), 0U);
  EXPECT_EQ(m.model->begin_leaving(), CoreModel::Leaving::now);
}

TEST_F(WindowMessages, WithoutDispatchItDrains) {
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});
  m.adds(300);
  EXPECT_EQ(run(0), PipelineStop::deferred);  // a full buffer
  const std::uint64_t dispatched = (m.pipeline->hart().pc - kCode) / 4;
  EXPECT_EQ(m.model->begin_leaving(), CoreModel::Leaving::drains);
  comes(kData, 100);
  EXPECT_EQ(run(100), PipelineStop::drained);
  EXPECT_EQ(m.pipeline->counters().instructions, dispatched);
  EXPECT_EQ((m.pipeline->hart().pc - kCode) / 4, dispatched);
}

}  // namespace
}  // namespace rubato::chip
