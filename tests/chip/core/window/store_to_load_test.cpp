// Loads of a window core that read its own stores, against schedules computed by hand. A store is complete
// one cycle after its issue, and the L1 has it when it commits, or when its line is there. A load whose bytes
// the youngest older store has issues when that is complete, and has its value an L1 hit later; one that
// needs other bytes besides issues when the L1 has the store. Times are as in window_core_test.cpp.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "base/rng.hpp"
#include "tests/chip/core/window/window_machine.hpp"

namespace rubato::chip {
namespace {

using namespace test;

/// `name` between a load and a store of one word, three times.
std::uint64_t three_steps(const char* name, const Operands& operands, std::uint32_t width) {
  WindowMachine m({.width = width});
  m.cached(kData);
  m.x(6) = 3;
  m.memory.store<std::uint64_t>(kData, 5);
  for (int i = 0; i < 3; ++i) {
    m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
    m.emit(name, operands);
    m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  }
  const std::uint64_t cycles = m.run();
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), std::string_view(name) == "mul" ? 135U : 8U);
  return cycles;
}

TEST(WindowStoreToLoad, ACounterInMemoryTakesItsLatencies) {
  for (const std::uint32_t width : {1U, 2U, 4U})  // ld 1, 5, 9; addi 3, 7, 11; sd 4, 8, 12, complete in 13
    EXPECT_EQ(three_steps("addi", {.rd = 5, .rs1 = 5, .imm = 1}, width), 13U) << width;
}

TEST(WindowStoreToLoad, AProductInMemoryTakesItsLatencies) {
  EXPECT_EQ(three_steps("mul", {.rd = 5, .rs1 = 5, .rs2 = 6}, 4), 19U);  // ld 1, 7, 13
}

TEST(WindowStoreToLoad, AStoredWordIsForwardedWhenItsStoreIsComplete) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.x(5) = 7;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // issues in 1, complete in 2
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});   // 2, 4
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});  // 4, 5
  EXPECT_EQ(m.run(), 5U);
  EXPECT_EQ(m.x(7), 8U);
}

TEST(WindowStoreToLoad, HalfOfAStoredWordIsForwarded) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.x(5) = 0x1122334455667788;
  m.emit("div", {.rd = 9, .rs1 = 8, .rs2 = 8});   // commits in 21, and with it the store
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // complete in 2
  m.emit("lw", {.rd = 6, .rs1 = 10, .imm = 4});   // 2, 4
  m.emit("mul", {.rd = 7, .rs1 = 6, .rs2 = 6});   // 4, 7
  m.emit("div", {.rd = 9, .rs1 = 9, .rs2 = 7});   // dispatched in 1; 21, 41
  EXPECT_EQ(m.run(), 41U);
  EXPECT_EQ(m.x(6), 0x11223344U);
}

TEST(WindowStoreToLoad, ALoadWiderThanItsStoreWaitsUntilTheL1HasThat) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.memory.store<std::uint64_t>(kData, 0xaabbccdd00000000);
  m.x(5) = 0x55667788;
  m.emit("div", {.rd = 9, .rs1 = 8, .rs2 = 8});   // complete in 21
  m.emit("sw", {.rs1 = 10, .rs2 = 5, .imm = 0});  // complete in 2, commits in 21
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});   // 21, 23
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 0});  // 23, 24
  EXPECT_EQ(m.run(), 24U);
  EXPECT_EQ(m.x(7), 0xaabbccdd55667788U);
}

TEST(WindowStoreToLoad, ALoadOfTwoStoresWaitsUntilTheL1HasBoth) {
  for (const int offset : {0, 2}) {
    WindowMachine m({.width = 4});
    m.cached(kData);
    m.x(5) = 0x55667788;
    m.x(6) = 0x11223344;
    m.emit("div", {.rd = 9, .rs1 = 8, .rs2 = 8});       // complete in 21
    m.emit("sw", {.rs1 = 10, .rs2 = 5, .imm = 0});      // commits in 21
    m.emit("sw", {.rs1 = 10, .rs2 = 6, .imm = 4});      // and this one
    m.emit("ld", {.rd = 7, .rs1 = 10, .imm = offset});  // 21, 23
    m.emit("xori", {.rd = 8, .rs1 = 7, .imm = 0});      // 23, 24
    EXPECT_EQ(m.run(), 24U) << offset;
    EXPECT_EQ(m.x(8), offset == 0 ? 0x1122334455667788U : 0x112233445566U);
  }
}

TEST(WindowStoreToLoad, TheYoungestStoreDecides) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.x(5) = 0x55;
  m.x(6) = 0x1122334455667788;
  m.emit("div", {.rd = 9, .rs1 = 8, .rs2 = 8});   // complete in 21
  m.emit("sb", {.rs1 = 10, .rs2 = 5, .imm = 0});  // commits in 21, but the next one has its byte
  m.emit("sd", {.rs1 = 10, .rs2 = 6, .imm = 0});  // complete in 2
  m.emit("ld", {.rd = 7, .rs1 = 10, .imm = 0});   // 2, 4
  m.emit("mul", {.rd = 8, .rs1 = 7, .rs2 = 7});   // 4, 7; commits behind four others
  EXPECT_EQ(m.run(), 22U);
  EXPECT_EQ(m.x(7), 0x1122334455667788U);
}

TEST(WindowStoreToLoad, AStoreWhoseDataIsLateForwardsItLate) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.x(8) = 6;
  m.x(9) = 3;
  m.emit("div", {.rd = 5, .rs1 = 8, .rs2 = 9});   // complete in 21
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // 21, 22
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});   // 22, 24
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});  // 24, 25
  EXPECT_EQ(m.run(), 25U);
  EXPECT_EQ(m.x(7), 3U);
}

TEST(WindowStoreToLoad, AnotherWordOfTheLineWaitsForNothing) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.emit("div", {.rd = 5, .rs1 = 8, .rs2 = 8});   // complete in 21
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // 21, 22
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 8});   // 1, 3
  m.emit("mul", {.rd = 7, .rs1 = 6, .rs2 = 6});   // 3, 6
  for (int i = 0; i < 5; ++i)
    m.emit("mul", {.rd = 7, .rs1 = 7, .rs2 = 7});  // until 21; the last four commit in 23
  EXPECT_EQ(m.run(), 23U);
  WindowMachine n({.width = 4});
  n.cached(kData);
  n.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  n.emit("ld", {.rd = 6, .rs1 = 10, .imm = 8});   // 1, 3
  n.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});  // 3, 4
  EXPECT_EQ(n.run(), 4U);
}

TEST(WindowStoreToLoad, AnotherWordAtTheSamePlaceOfAnotherPageWaitsForNothing) {
  WindowMachine m({.width = 4});
  m.x(11) = kData + 4096;
  m.cached(kData);
  m.cached(kData + 4096);
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});   // 1, 3
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});  // 3, 4
  EXPECT_EQ(m.run(), 4U);
}

// ---- Stores that miss ----

TEST(WindowStoreToLoad, AStoreThatWaitsForItsLineForwards) {
  WindowMachine m({.width = 4});
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // commits in 2, the L1 has it in 22
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});   // 2, 4
  for (int i = 0; i < 6; ++i) m.emit("mul", {.rd = 6, .rs1 = 6, .rs2 = 6});  // until 22
  EXPECT_EQ(m.run(), 22U);
  EXPECT_EQ(m.system.accesses.size(), 1U);
}

TEST(WindowStoreToLoad, OtherBytesOfItsWordWaitForTheLine) {
  WindowMachine m({.width = 4});
  m.emit("sb", {.rs1 = 10, .rs2 = 5, .imm = 0});  // the line is there in 22
  m.adds(8);  // the load is dispatched in 2, when the line has been asked for
  m.emit("lb", {.rd = 6, .rs1 = 10, .imm = 1});   // complete in 22
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});  // 22, 23
  EXPECT_EQ(m.run(), 23U);
  EXPECT_EQ(m.system.accesses.size(), 1U);
}

TEST(WindowStoreToLoad, ALoadWiderThanAStoreThatMissesWaitsForTheLine) {
  for (const int between : {0, 8}) {  // the store is in the queue, or already written
    WindowMachine m({.width = 4});
    m.emit("sw", {.rs1 = 10, .rs2 = 5, .imm = 0});  // the L1 has it in 22
    m.adds(between);
    m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});   // 22, 24
    m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});  // 24, 25
    EXPECT_EQ(m.run(), 25U) << between;
    EXPECT_EQ(m.system.accesses.size(), 1U);
  }
}

TEST(WindowStoreToLoad, AStoreThatHitsALineOnItsWayIsThereWithTheLine) {
  WindowMachine m({.width = 4});
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});  // the line is there in 22
  m.emit("sw", {.rs1 = 10, .rs2 = 5, .imm = 8});  // and this store
  m.adds(8);
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 8});   // 22, 24
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});  // 24, 25
  EXPECT_EQ(m.run(), 25U);
}

TEST(WindowStoreToLoad, AStoreToTwoLinesThatMissesHoldsUpAFence) {
  WindowMachine m({.width = 4});
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 60});  // alone in 0; the lines are there in 20
  m.emit("fence");                                 // 20
  m.adds(1);                                       // dispatched in 21, complete in 23
  EXPECT_EQ(m.run(), 23U);
}

TEST(WindowStoreToLoad, AStoreToTwoLinesIsForwardedAsOthersAre) {
  WindowMachine m({.width = 4});
  m.x(5) = 0x1122334455667788;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 60});  // alone in 0, complete in 1; the lines are there in 20
  m.emit("lw", {.rd = 6, .rs1 = 10, .imm = 64});   // dispatched in 1; 2, 4
  m.emit("ld", {.rd = 7, .rs1 = 10, .imm = 56});   // 20, 22
  m.emit("mul", {.rd = 6, .rs1 = 6, .rs2 = 6});    // 4, 7
  m.emit("addi", {.rd = 8, .rs1 = 7, .imm = 0});   // 22, 23
  EXPECT_EQ(m.run(), 23U);
  EXPECT_EQ(m.x(8), 0x5566778800000000U);
}

// ---- Lines that messages bring ----

struct WindowStoreToLoadMessages : WindowMessages {};

TEST_F(WindowStoreToLoadMessages, ALoadWaitsForTheLineOfAStoreToSomeOfItsBytes) {
  m.x(5) = 1;
  m.emit("sw", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  EXPECT_EQ(m.x(7), 2U) << "it went on with the value in memory";
  m.memory.store<std::uint32_t>(kData + 4, 3);  // another core's
  comes(kData, 100);                            // the L1 has the store in 120; ld 120, 122
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 0x300000001U);
  EXPECT_EQ(m.x(7), 0x300000002U);
  EXPECT_EQ(m.stats().squashes, 1U);
  EXPECT_EQ(m.pipeline->cycle().value, 128U);  // dispatched anew in 126
}

TEST_F(WindowStoreToLoadMessages, ALoadThatIsSquashedWaitsNoLonger) {
  m.cached(kData);
  m.emit("ld", {.rd = 5, .rs1 = 11, .imm = 0});  // late
  m.emit("sw", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});  // waits for the store
  m.emit("ecall");
  EXPECT_EQ(run(0), PipelineStop::deferred);
  m.memory.store<std::uint64_t>(kData + 4096, 3);
  comes(kData + 4096, 100);  // there in 120: dispatch in 124; sw 125, 126, and in the L1; ld 126, 128
  EXPECT_EQ(run(100), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 3U);
  EXPECT_EQ(m.pipeline->cycle().value, 128U);
}

// ---- Beside atomics ----

TEST(WindowStoreToLoad, AnAtomicOfAStoredWordHasItsValue) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.x(5) = 4;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});       // commits in 2
  m.emit("amoadd.d", {.rd = 6, .rs1 = 10, .rs2 = 5});  // alone in 2, complete in 4
  m.emit("ld", {.rd = 7, .rs1 = 10, .imm = 0});        // dispatched in 4; 5, 7
  m.emit("addi", {.rd = 8, .rs1 = 7, .imm = 1});       // 7, 8
  EXPECT_EQ(m.run(), 8U);
  EXPECT_EQ(m.x(6), 4U);
  EXPECT_EQ(m.x(8), 9U);
}

TEST(WindowStoreToLoad, ALoadOfAnotherWordThanAnAtomicsReadsItsStore) {
  WindowMachine m({.width = 4});
  m.x(11) = kData + 4096;
  m.cached(kData);
  m.cached(kData + 4096);
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});       // commits in 2
  m.emit("amoadd.d", {.rd = 6, .rs1 = 11, .rs2 = 5});  // alone in 2, complete in 4
  m.emit("sd", {.rs1 = 10, .rs2 = 6, .imm = 0});       // dispatched in 4; 5, 6
  m.emit("ld", {.rd = 7, .rs1 = 10, .imm = 0});        // 6, 8
  m.emit("addi", {.rd = 8, .rs1 = 7, .imm = 1});       // 8, 9
  EXPECT_EQ(m.run(), 9U);
}

TEST(WindowStoreToLoad, AStoreConditionalIsReadWhenItIsComplete) {
  WindowMachine m({.width = 4});
  m.cached(kData);
  m.x(5) = 9;
  m.emit("lr.d", {.rd = 6, .rs1 = 10});            // alone in 0, complete in 2
  m.emit("sc.d", {.rd = 7, .rs1 = 10, .rs2 = 5});  // alone in 2, complete in 4
  m.emit("ld", {.rd = 8, .rs1 = 10, .imm = 0});    // dispatched in 4; 5, 7
  m.emit("addi", {.rd = 9, .rs1 = 8, .imm = 1});   // 7, 8
  EXPECT_EQ(m.run(), 8U);
  EXPECT_EQ(m.x(7), 0U);
  EXPECT_EQ(m.x(9), 10U);
}

// ---- Laws ----

TEST(WindowStoreToLoad, AChainThroughWordsDrawnAtRandomTakesTheSumOfItsLatencies) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    WindowMachine m({.width = 4});
    std::uint64_t expected = 1;
    std::int32_t word = 0;
    for (Addr a = kData; a < kData + 256; a += kLineBytes) m.cached(a);
    for (int i = 0; i < 50; ++i) {
      const bool multiplies = rng.below(2) == 0;
      m.emit("ld", {.rd = 5, .rs1 = 10, .imm = word});
      if (multiplies)
        m.emit("mul", {.rd = 5, .rs1 = 5, .rs2 = 5});
      else
        m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
      word = static_cast<std::int32_t>(rng.below(32) * 8);
      m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = word});
      expected += 2 + (multiplies ? 3 : 1) + 1;
    }
    EXPECT_EQ(m.run(), expected) << seed;
  }
}

TEST(WindowStoreToLoad, ACounterInMemoryTakesAtLeastAsLongAsInOrderHoweverFarTheCoreRunsAhead) {
  std::uint64_t cycles[3];
  for (const std::uint32_t ahead : {0U, 32U, 256U}) {
    WindowMachine m({.width = 4}, [&](Config& c) { c.run.lookahead_cycles = ahead; });
    m.cached(kData);
    for (int i = 0; i < 100; ++i) {
      m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
      m.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
      m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
    }
    m.emit("ecall");
    std::uint64_t now = 0;  // another event is due each cycle
    while (m.model->run(Cycle{now}, Cycle{now + 1}) != PipelineStop::ecall)
      now = std::max(now + 1, m.pipeline->cycle().value);
    EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 100U);
    cycles[ahead == 0 ? 0 : ahead == 32 ? 1 : 2] = m.pipeline->cycle().value;
  }
  EXPECT_EQ(cycles[0], 401U);
  EXPECT_EQ(cycles[1], 401U);
  EXPECT_EQ(cycles[2], 401U);
}

}  // namespace
}  // namespace rubato::chip
