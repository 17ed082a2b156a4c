// Accesses that messages have yet to bring (K11, K12), with cycles computed by hand: the core goes on past
// them, those of a line perform in order, and what is no load or store waits for all. The memory blocks every
// access until its line is let come.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string_view>

#include "tests/chip/core/machine.hpp"

namespace rubato::chip {
namespace {

using namespace test;

constexpr Addr kOther = kData + 4096;  // another line

struct DeferredAccessesTest : testing::Test {
  DeferredAccessesTest() {
    m.system.hook = [this](LineAddr line, AccessKind kind, Cycle, AccessResult& r) {
      if (kind == AccessKind::fetch || here.contains(line.value)) return;
      r.done = false;
      r.blocked = BlockReason::protocol;
      ++asked;
    };
    m.x(10) = kData;
    m.x(11) = kOther;
    m.memory.store<std::uint64_t>(kData, 0x8899aabbccddeeff);
  }
  PipelineStop run(std::uint64_t now = 0) { return m.model->run(Cycle{now}, kNever); }
  /// Messages bring the line of `address` at `at`.
  void comes(Addr address, std::uint64_t at) {
    here.insert(line_of(address).value);
    ASSERT_TRUE(m.pipeline->deferrals().note_ready(line_of(address)));
    m.pipeline->deferrals().perform(line_of(address), Cycle{at});
  }
  std::uint64_t cycle() const { return m.pipeline->cycle().value; }

  Machine m;
  std::set<std::uint64_t> here;
  unsigned asked = 0;
};

TEST_F(DeferredAccessesTest, TheCoreGoesOnUntilItNeedsTheRegister) {
  m.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});   // 0
  m.emit("addi", {.rd = 6, .rs1 = 6, .imm = 1});  // 1
  m.emit("ld", {.rd = 7, .rs1 = 11, .imm = 0});   // 2: another miss
  m.emit("addi", {.rd = 8, .rs1 = 5, .imm = 1});  // needs the first
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::deferred);
  EXPECT_EQ(cycle(), 3U);
  EXPECT_EQ(asked, 2U);
  EXPECT_EQ(m.pipeline->hart().pc, kCode + 12);
  comes(kData, 100);  // there at 120, as any access that the memory performs
  m.pipeline->deferrals().resume(Cycle{100});
  m.x(8) = 0;
  EXPECT_EQ(run(100), PipelineStop::ecall) << "x7 is still to come, and the ecall does not read it";
  EXPECT_EQ(m.x(8), 0x8899aabbccddeeff + 1);
  EXPECT_EQ(cycle(), 121U);
  EXPECT_TRUE(m.pipeline->deferrals().any()) << "the core sees to it that an ecall waits";
  EXPECT_EQ(m.pipeline->counters().loads, 2U);
}

TEST_F(DeferredAccessesTest, AValueIsReadWhenTheLoadPerforms) {
  m.emit("lb", {.rd = 5, .rs1 = 10, .imm = 1});
  m.emit("lhu", {.rd = 6, .rs1 = 10, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  m.memory.store<std::uint64_t>(kData, 0x80f1);  // another core's
  comes(kData, 50);
  EXPECT_EQ(m.x(5), static_cast<std::uint64_t>(-128));
  EXPECT_EQ(m.x(6), 0x80f1U);
  EXPECT_FALSE(m.pipeline->deferrals().any());
  EXPECT_EQ(asked, 1U) << "the second waits for the same line";
}

TEST_F(DeferredAccessesTest, AStoreWritesWhenItPerformsAndOthersDoNotSeeItBefore) {
  m.x(5) = 0x1234;
  m.emit("sh", {.rs1 = 10, .rs2 = 5, .imm = 2});
  m.emit("addi", {.rd = 5, .rs1 = 0, .imm = 0});  // the register changes, the value does not
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0x8899aabbccddeeffU);
  comes(kData, 50);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0x8899aabb1234eeffU);
}

TEST_F(DeferredAccessesTest, ALoadTakesItsValueFromAStoreThatCoversIt) {
  m.x(5) = 0xfedcba9876543210;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("lh", {.rd = 6, .rs1 = 10, .imm = 6});   // 1, ready at 3
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 0});  // 3
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(m.x(7), 0xfffffffffffffedcU);
  EXPECT_EQ(cycle(), 4U);
}

TEST_F(DeferredAccessesTest, ALoadOfTwoStoresWaitsForBoth) {
  m.x(5) = 0x11;
  m.emit("sb", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("sb", {.rs1 = 10, .rs2 = 5, .imm = 1});
  m.emit("lhu", {.rd = 6, .rs1 = 10, .imm = 0});
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::deferred);
  comes(kData, 30);
  m.pipeline->deferrals().resume(Cycle{30});
  EXPECT_EQ(run(30), PipelineStop::ecall);
  EXPECT_EQ(m.x(7), 0x1111U);
}

TEST_F(DeferredAccessesTest, AStoreBehindALoadOfItsLineAsksForTheRightWhenItsTurnComes) {
  m.x(5) = 7;
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  bool is_denied = true;
  m.system.hook = [&](LineAddr, AccessKind kind, Cycle, AccessResult& r) {
    if (kind != AccessKind::store || !is_denied) return;
    r.done = false;
    r.blocked = BlockReason::protocol;
  };
  comes(kData, 30);
  EXPECT_EQ(m.x(6), 0x8899aabbccddeeffU);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 0x8899aabbccddeeffU);
  EXPECT_TRUE(m.pipeline->deferrals().any());
  is_denied = false;
  comes(kData, 60);
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 7U);
  EXPECT_FALSE(m.pipeline->deferrals().any());
}

TEST_F(DeferredAccessesTest, FencesAtomicsAndAccessesToTwoLinesWaitForAll) {
  for (const char* const name : {"fence", "amoadd.d", "ld"}) {
    Machine n;
    n.system.hook = [](LineAddr line, AccessKind kind, Cycle, AccessResult& r) {
      if (kind == AccessKind::fetch || line != line_of(kData)) return;
      r.done = false;
      r.blocked = BlockReason::protocol;
    };
    n.x(10) = kData;
    n.x(11) = kOther;
    n.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
    const std::string_view kind = name;
    if (kind == "ld") {
      n.emit(name, {.rd = 6, .rs1 = 11, .imm = 60});
    } else if (kind == "fence") {
      n.emit(name);
    } else {
      n.emit(name, {.rd = 6, .rs1 = 11, .rs2 = 7});
    }
    n.emit("ecall");
    EXPECT_EQ(n.model->run(Cycle{0}, kNever), PipelineStop::deferred) << name;
    EXPECT_EQ(n.pipeline->hart().pc, kCode + 4) << name;
  }
}

TEST_F(DeferredAccessesTest, AFullBufferStopsTheCoreUntilOneHasPerformed) {
  Machine n([](Config& c) { c.core.load_buffer = 2; });
  bool is_here = false;
  n.system.hook = [&](LineAddr, AccessKind kind, Cycle, AccessResult& r) {
    if (kind == AccessKind::fetch || is_here) return;
    r.done = false;
    r.blocked = BlockReason::protocol;
  };
  for (unsigned i = 0; i < 3; ++i) {
    n.x(10 + i) = kData + i * 4096;
    n.emit("ld", {.rd = 20 + i, .rs1 = 10 + i, .imm = 0});
  }
  n.emit("ecall");
  EXPECT_EQ(n.model->run(Cycle{0}, kNever), PipelineStop::deferred);
  EXPECT_EQ(n.pipeline->hart().pc, kCode + 8);
  is_here = true;
  n.pipeline->deferrals().perform(line_of(kData), Cycle{40});
  n.pipeline->deferrals().resume(Cycle{40});
  EXPECT_EQ(n.model->run(Cycle{40}, kNever), PipelineStop::ecall);
  EXPECT_EQ(n.pipeline->cycle().value, 61U) << "the entry is free when the line is there, at 60";
}

TEST_F(DeferredAccessesTest, WhatChangesThePagesMakesThemPerformAtOnce) {
  m.x(5) = 7;
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  m.pipeline->deferrals().perform_at_once(kData + 8, kData + 4096, Cycle{10});
  EXPECT_TRUE(m.pipeline->deferrals().any()) << "these are other bytes";
  m.pipeline->deferrals().perform_at_once(kData, kData + 4096, Cycle{10});
  EXPECT_EQ(m.memory.load<std::uint64_t>(kData), 7U);
  EXPECT_TRUE(m.pipeline->deferrals().any()) << "the load's page does not change";
  m.pipeline->deferrals().perform_at_once(kOther, kOther + 8, Cycle{10});
  EXPECT_FALSE(m.pipeline->deferrals().any());
  EXPECT_FALSE(m.pipeline->deferrals().note_ready(line_of(kData))) << "what messages bring, nobody waits for";
}

TEST_F(DeferredAccessesTest, WithoutTheKeyTheCoreIsBlocked) {
  Machine n([](Config& c) { c.core.defers = false; });
  n.system.hook = [](LineAddr, AccessKind kind, Cycle, AccessResult& r) {
    if (kind == AccessKind::fetch) return;
    r.done = false;
    r.blocked = BlockReason::protocol;
  };
  n.x(10) = kData;
  n.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
  EXPECT_EQ(n.model->run(Cycle{0}, kNever), PipelineStop::blocked);
  EXPECT_EQ(n.pipeline->blocked_line(), line_of(kData));
}

}  // namespace
}  // namespace rubato::chip
