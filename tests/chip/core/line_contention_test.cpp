// Lines that cores take from one another, step by step. Core 0 and core 1 use words of line 1, whose
// addresses begin at 64; each miss costs ten cycles.
// SPDX-License-Identifier: MIT
#include "chip/core/line_contention.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace rubato::chip {
namespace {

class TenCycles final : public MemorySystem {
 public:
  AccessResult access(CoreId, LineAddr, AccessKind, Cycle now) override {
    AccessResult result;
    result.done = !is_blocked;
    result.cycle = now + 10;
    return result;
  }
  void warm(CoreId, LineAddr, AccessKind) override {}
  void forget(LineAddr, LineAddr) override {}
  bool is_blocked = false;
};

struct NoEvent final : EventHandler {
  void on_event(Cycle, std::uint32_t, std::uint64_t) override {}
};

struct LineContentionTest : testing::Test {
  LineContentionTest() {
    for (std::uint32_t core = 0; core < 4; ++core) contention.attach(CoreId{core}, counters[core]);
  }
  void load(std::uint32_t core, Addr address, std::uint64_t value = 0) {
    ++counters[core].loads;
    contention.access(CoreId{core}, line_of(address), AccessKind::load, Cycle{0});
    contention.on_load(CoreId{core}, address, 8, value);
  }
  void store(std::uint32_t core, Addr address) {
    ++counters[core].stores;
    contention.access(CoreId{core}, line_of(address), AccessKind::store, Cycle{0});
    contention.on_store(CoreId{core}, address, 8);
  }
  /// Transfers of the line from one core to another.
  std::uint64_t taken(std::uint32_t from, std::uint32_t by) {
    for (const LineContention::Use& use : line().users)
      for (const auto& [core, transfers] : use.taken_from)
        if (use.core == by && core == from) return transfers;
    return 0;
  }
  const LineContention::Line& line() {
    contention.finish();
    return *contention.lines().at(LineAddr{1});
  }

  TenCycles memory;
  Timeline timeline;
  LineContention contention{memory, timeline, 4};
  PipelineCounters counters[4];
};

TEST_F(LineContentionTest, OneCoreContendsForNothing) {
  for (int i = 0; i < 10; ++i) store(0, 64);
  contention.finish();
  EXPECT_TRUE(contention.lines().empty());
}

TEST_F(LineContentionTest, ReadersContendForNothing) {
  for (int i = 0; i < 10; ++i) load(static_cast<std::uint32_t>(i % 2), 64);
  contention.finish();
  EXPECT_TRUE(contention.lines().empty());
}

// The first store takes nothing, nine do; of each core one tenure began before others were seen.
TEST_F(LineContentionTest, OtherBytesAreFalseSharing) {
  for (std::uint32_t i = 0; i < 10; ++i) store(i % 2, 64 + i % 2 * 8);
  EXPECT_EQ(line().transfers, 9U);
  EXPECT_EQ(line().cycles, 90U);
  EXPECT_EQ(line().false_transfers, 7U);
  EXPECT_EQ(line().true_transfers, 0U);
  EXPECT_EQ(taken(0, 1), 5U);
  EXPECT_EQ(taken(1, 0), 4U);
}

TEST_F(LineContentionTest, TheSameBytesAreTrueSharing) {
  for (std::uint32_t i = 0; i < 10; ++i) store(i % 2, 64);
  EXPECT_EQ(line().true_transfers, 7U);
  EXPECT_EQ(line().false_transfers, 0U);
}

// Core 1 stores after its next task has begun: the attempt that was refused does not ask any longer.
TEST_F(LineContentionTest, WhatAnAbortedAttemptWasRefusedIsForgotten) {
  store(0, 64);
  memory.is_blocked = true;
  contention.access(CoreId{1}, LineAddr{1}, AccessKind::store, Cycle{0});
  memory.is_blocked = false;
  contention.on_begin(CoreId{1}, {});
  contention.access(CoreId{1}, LineAddr{1}, AccessKind::store, Cycle{1000});
  EXPECT_EQ(line().cycles, 10U);
}

// Core 0 asks for the line by one word and hits another one, which core 1 reads.
TEST_F(LineContentionTest, BytesThatHitsUseCount) {
  for (int i = 0; i < 10; ++i) {
    store(0, 64);
    ++counters[0].stores;
    contention.on_store(CoreId{0}, 80, 8);
    load(1, 80);
  }
  EXPECT_EQ(line().false_transfers, 0U);
}

TEST_F(LineContentionTest, WaitsForMessagesCountFromTheFirstRequest) {
  store(0, 64);
  memory.is_blocked = true;
  contention.access(CoreId{1}, LineAddr{1}, AccessKind::store, Cycle{100});
  memory.is_blocked = false;
  contention.access(CoreId{1}, LineAddr{1}, AccessKind::store, Cycle{150});
  EXPECT_EQ(line().cycles, 60U);
}

// Cores 1 to 3 wait for the word, and one store ends it for all.
TEST_F(LineContentionTest, OneStoreThatEndsSeveralWaitsIsABarrier) {
  store(0, 64);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i)
      for (std::uint32_t core = 1; core < 4; ++core) load(core, 64);
    store(0, 64);
    for (std::uint32_t core = 1; core < 4; ++core) store(core, 256 + 64 * core);
  }
  EXPECT_EQ(line().words.at(64).spins, 9U);
  EXPECT_EQ(line().words.at(64).waits_for(), LineContention::Wait::barrier);
}

// Each store lets one core go on, as a ticket lock does.
TEST_F(LineContentionTest, AStoreThatEndsOneWaitIsNone) {
  store(0, 64);
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t core = 1; core < 4; ++core) {
      for (int i = 0; i < 6; ++i) load(core, 64);
      store(core, 256 + 64 * core);
      store(0, 64);
    }
  EXPECT_EQ(line().words.at(64).waits_for(), LineContention::Wait::flag);
}

TEST_F(LineContentionTest, AnAtomicThatEndsAWaitTakesALock) {
  store(0, 64);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) load(1, 64, 1);
    store(0, 64);
    ++counters[1].atomics;
    contention.on_atomic(CoreId{1}, 64, 8, 0);
    store(1, 256);
  }
  EXPECT_EQ(line().words.at(64).waits_for(), LineContention::Wait::lock);
}

TEST_F(LineContentionTest, AtomicsThatFindOtherValuesWaitForNothing) {
  for (std::uint64_t i = 0; i < 40; ++i) {
    const CoreId core{static_cast<std::uint32_t>(i / 8 % 2)};
    contention.access(core, LineAddr{1}, AccessKind::atomic, Cycle{0});
    ++counters[core.value].atomics;
    contention.on_atomic(core, 64, 8, i);
  }
  EXPECT_TRUE(line().words.empty());
  EXPECT_EQ(line().atomics, line().transfers);
}

// Cores show no access to a line that one core uses. A store there ends a wait all the same, by the core's
// counters.
TEST_F(LineContentionTest, AStoreThatIsNotShownEndsAWait) {
  store(0, 64);
  for (int round = 0; round < 9; ++round) {
    for (int i = 0; i < 3; ++i) load(1, 64);
    ++counters[1].stores;
  }
  EXPECT_TRUE(line().words.empty());
}

TEST_F(LineContentionTest, ManyLoadsThatAreNotShownEndAWait) {
  store(0, 64);
  for (int i = 0; i < 40; ++i) {
    load(1, 64);
    counters[1].loads += 20;
  }
  EXPECT_TRUE(line().words.empty());
}

TEST_F(LineContentionTest, LinesOfOneCoreAreNotWatched) {
  store(0, 64);
  EXPECT_FALSE(contention.watch().has(64));
  store(1, 64);
  EXPECT_TRUE(contention.watch().has(64));
}

TEST_F(LineContentionTest, LinesThatStayAreNotWatchedUntilTheyAreTaken) {
  store(0, 64);
  store(1, 64);
  for (int i = 0; i < 100; ++i) contention.on_store(CoreId{1}, 64, 8);
  EXPECT_FALSE(contention.watch().has(64));
  store(0, 64);
  EXPECT_TRUE(contention.watch().has(64));
}

// Cores store in turn. Of each core a quarter of the tenures is seen, and all of these are true sharing.
TEST_F(LineContentionTest, LinesThatAreTakenAllTheTimeAreWatchedNowAndThen) {
  int watched = 0;
  for (std::uint32_t i = 0; i < 6400; ++i) {
    store(i % 2, 64);
    watched += contention.watch().has(64) ? 1 : 0;
  }
  EXPECT_NEAR(watched, 1600, 64);
  EXPECT_EQ(line().transfers, 6399U);
  EXPECT_NEAR(static_cast<double>(line().true_transfers), 1600, 200);
  EXPECT_EQ(line().false_transfers, 0U);
}

// A core that waits for long is not shown meanwhile, and the wait lasts until the store that ends it.
TEST_F(LineContentionTest, WaitsThatAreNotShownAreWhole) {
  store(0, 64);
  for (int i = 0; i < 100; ++i) load(1, 64, 1);
  EXPECT_FALSE(contention.watch().has(64));
  counters[1].loads += 1000;
  NoEvent handler;
  timeline.schedule(Cycle{5000}, &handler);
  timeline.step();
  store(0, 64);
  load(1, 64, 2);
  store(1, 256);
  EXPECT_EQ(line().words.at(64).spins, 1U);
  EXPECT_GE(line().words.at(64).cycles, 5000U);
}

// Each of many lines goes from one core to another once; line 1 all the time.
TEST_F(LineContentionTest, LinesThatCostLeastAreForgotten) {
  store(0, 64);
  for (Addr n = 2; n < 20'000; ++n) {
    store(0, n * 64);
    store(1, n * 64);
    store(n % 2 == 0 ? 1 : 0, 64);
  }
  EXPECT_LE(contention.lines().size(), LineContention::kMostLines);
  EXPECT_EQ(contention.transfers(), 2U * 19'998U);
  EXPECT_EQ(line().transfers, 19'998U);
}

}  // namespace
}  // namespace rubato::chip
