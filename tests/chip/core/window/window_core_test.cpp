// The window core against schedules computed by hand (K71): each says why the sum is what it is. An
// instruction that is dispatched in cycle d issues in d + 1 or later, is complete its latency after that, and
// commits then or later; the ecall that ends a program goes alone, in the cycle in which the last one before
// it commits. Fetches hit; an L1 hit takes 2 cycles, a miss 20.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_core.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "base/rng.hpp"
#include "chip/isa/interpreter.hpp"
#include "tests/chip/core/machine.hpp"

namespace rubato::chip {
namespace {

using namespace test;

struct Shape {
  std::uint32_t width = 1, rob = 64, ports = 4, loads = 16, stores = 16;
};

struct WindowMachine : Machine {
  explicit WindowMachine(
      const Shape& shape = {}, const std::function<void(Config&)>& change = [](Config&) {})
      : Machine([&](Config& c) {
          c.core.model = "window";
          c.core.width = shape.width;
          c.core.rob = shape.rob;
          c.core.int_ports = c.core.fp_ports = c.core.mem_ports = shape.ports;
          c.core.load_buffer = shape.loads;
          c.core.store_buffer = shape.stores;
          change(c);
        }) {
    x(10) = kData;
  }
  const WindowStats& stats() const { return dynamic_cast<const WindowCore*>(pipeline->model())->stats(); }
  void adds(int n) {
    for (int i = 0; i < n; ++i) emit("addi", {.rd = 5, .rs1 = 6, .imm = i});
  }
  void chain(int n) {
    for (int i = 0; i < n; ++i) emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
  }
};

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
  EXPECT_EQ(m.pipeline->run(Cycle{0}, kNever), PipelineStop::fault);
  EXPECT_EQ(m.pipeline->cycle().value, 21U);
  EXPECT_EQ(m.pipeline->fault().pc, kCode + 4);
  EXPECT_EQ(m.pipeline->fault().address, 0U);
}

}  // namespace
}  // namespace rubato::chip
