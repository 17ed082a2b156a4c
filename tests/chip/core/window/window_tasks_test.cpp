// A speculative task on a window core (C7, C14, C15): when its accesses are recorded and logged, and what is
// left of them when it is aborted.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <set>

#include "chip/core/window/window_core.hpp"
#include "chip/isa/task_instructions.hpp"
#include "tests/chip/core/speculation_rig.hpp"
#include "tests/chip/core/window/window_machine.hpp"

namespace rubato::chip::test {
namespace {

constexpr Addr kFar = kData + 4096;

struct WindowTasks : testing::Test {
  WindowTasks() {
    m.memory.store<std::uint64_t>(kData, 40);
    m.memory.store<std::uint64_t>(kFar, 50);
    m.x(11) = kFar;
    m.x(5) = 7;
  }
  /// Accesses to `line` are not done until `is_there`.
  void block(Addr address, BlockReason why) {
    m.system.hook = [this, address, why](LineAddr line, AccessKind, Cycle, AccessResult& r) {
      if (line != line_of(address) || is_there) return;
      r.done = false;
      r.blocked = why;
    };
  }
  void abort() {
    m.model->cancel(Cycle{30});
    m.pipeline->stop_task();
  }
  PipelineStop run(std::uint64_t now = 0) { return m.model->run(Cycle{now}, kNever); }
  std::uint64_t value_at(Addr address) { return m.memory.load<std::uint64_t>(address); }

  Rig rig{true, 64, [](Config& c) {
            c.core.model = "window";
            c.core.width = 4;
          }};
  Machine& m = rig.m;
  bool is_there = false;
};

TEST_F(WindowTasks, AccessesAreRecordedAndTheOverwrittenWordIsLogged) {
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(rig.records, (std::set<Record>{rig.write(kData), rig.read(kFar)}));
  EXPECT_EQ(rig.undo(), (Log{{kData, 40}}));
  EXPECT_EQ(value_at(kData), 7U);
  EXPECT_EQ(m.x(6), 50U);
}

TEST_F(WindowTasks, TheLogHasRoomForEachStoreBeforeOneIsWritten) {
  block(kData, BlockReason::protocol);
  for (int i = 0; i < 5; ++i) m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = i * 8});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::deferred);
  EXPECT_EQ(rig.attempt.log_lines.size(), 2U) << "four entries a line";
  EXPECT_TRUE(rig.attempt.undo.empty());
  is_there = true;
  ASSERT_TRUE(m.model->note_ready(line_of(kData)));
  m.model->perform(line_of(kData), Cycle{50});
  EXPECT_EQ(run(50), PipelineStop::ecall);
  EXPECT_EQ(rig.attempt.undo.size(), 5U);
}

TEST_F(WindowTasks, AnAbortTakesBackWhatIsUnderWay) {
  block(kData, BlockReason::protocol);
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 8});
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::deferred);
  abort();
  EXPECT_FALSE(m.model->note_ready(line_of(kData)));
  is_there = true;
  m.model->perform(line_of(kData), Cycle{50});
  EXPECT_EQ(value_at(kData), 40U);
  EXPECT_TRUE(rig.records.empty());
  Attempt next;
  next.virtual_time = {6, 0};
  rig.begin(next);
  m.pipeline->hart().pc = kCode + 8;
  m.x(6) = 1;
  m.pipeline->begin_context(Cycle{60});
  EXPECT_EQ(run(60), PipelineStop::ecall);
  EXPECT_EQ(m.x(7), 2U) << "the next task finds registers and queues free";
  EXPECT_TRUE(next.undo.empty());
}

struct WindowTaskAborts : WindowTasks, testing::WithParamInterface<AccessKind> {};

INSTANTIATE_TEST_SUITE_P(By, WindowTaskAborts,
                         testing::Values(AccessKind::store, AccessKind::untracked_store, AccessKind::load));

TEST_P(WindowTaskAborts, AnAccessThatAbortsItsOwnTaskHasNoEffect) {
  m.system.hook = [this](LineAddr, AccessKind kind, Cycle, AccessResult&) {
    if (kind == GetParam()) abort();
  };
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("sd", {.rs1 = 11, .rs2 = 5, .imm = 8});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::blocked);
  EXPECT_EQ(value_at(kFar + 8), 0U) << "no store behind it";
  if (GetParam() != AccessKind::load) {
    EXPECT_EQ(value_at(kData), 40U);
    EXPECT_TRUE(rig.attempt.undo.empty());
  }
  EXPECT_FALSE(m.model->is_blocked());
}

TEST_F(WindowTasks, AnAccessThatAConflictBlocksIsMadeWhenTheDecisionHasCome) {
  block(kFar, BlockReason::conflict_pending);
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::deferred);
  EXPECT_TRUE(m.model->is_blocked());
  EXPECT_TRUE(m.model->perform_blocked(Cycle{40}));
  EXPECT_TRUE(m.model->is_blocked()) << "still undecided";
  is_there = true;
  m.memory.store<std::uint64_t>(kFar, 51);
  EXPECT_TRUE(m.model->perform_blocked(Cycle{60}));
  EXPECT_FALSE(m.model->is_blocked());
  EXPECT_EQ(run(60), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 51U);
  EXPECT_FALSE(m.model->perform_blocked(Cycle{90})) << "nothing is left";
}

TEST_F(WindowTasks, InACapsuleAnAccessThatAConflictBlocksStopsTheCore) {
  block(kFar, BlockReason::conflict_pending);
  m.pipeline->hart().capsule_depth = 1;
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::blocked);
  EXPECT_EQ(m.pipeline->blocked_by(), BlockReason::conflict_pending);
  EXPECT_FALSE(m.model->is_blocked());
  is_there = true;
  m.pipeline->resume_blocked(Cycle{50});
  EXPECT_EQ(run(50), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 50U);
}

TEST_F(WindowTasks, ADoomedRunsStoreIsDropped) {
  m.pipeline->hart().capsule_depth = 1;
  m.model->cancel(Cycle{0});
  m.pipeline->doom();
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(value_at(kData), 40U);
}

TEST_F(WindowTasks, TheOwnStackIsNeitherRecordedNorLogged) {
  m.x(2) = kStack + 128;
  m.emit("sd", {.rs1 = 2, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 2, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 7U);
  EXPECT_TRUE(rig.records.empty());
  EXPECT_TRUE(rig.attempt.undo.empty());
}

TEST_F(WindowTasks, ALoadWhoseAccessAbortsALaterTaskFindsTheRestoredValue) {
  m.system.hook = [this](LineAddr line, AccessKind, Cycle, AccessResult& r) {
    if (line != line_of(kFar)) return;
    m.memory.store<std::uint64_t>(kFar, 49);
    r.disturbed = true;
  };
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("addi", {.rd = 7, .rs1 = 6, .imm = 1});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 49U);
  EXPECT_EQ(m.x(7), 50U);
}

TEST_F(WindowTasks, AQueuedStoreThatHasLostItsPageIsAFault) {
  block(kData, BlockReason::protocol);
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::deferred);
  EXPECT_FALSE(m.model->perform_at_once(kData, kData + 8, Cycle{20}));
  EXPECT_EQ(value_at(kData), 40U) << "its line has not been checked";
  m.memory.protect(kData, AddressSpace::kPageBytes, Page::kRead);
  is_there = true;
  ASSERT_TRUE(m.model->note_ready(line_of(kData)));
  EXPECT_TRUE(m.model->perform(line_of(kData), Cycle{50}));
  EXPECT_EQ(run(50), PipelineStop::fault);
  EXPECT_EQ(m.pipeline->fault().kind, FaultKind::store_access);
  EXPECT_EQ(m.pipeline->fault().address, kData);
  EXPECT_EQ(value_at(kData), 40U);
}

TEST_F(WindowTasks, APageThatHasComeBackTakesTheQueuedStore) {
  block(kData, BlockReason::protocol);
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::deferred);
  m.memory.protect(kData, AddressSpace::kPageBytes, Page::kRead);
  is_there = true;
  ASSERT_TRUE(m.model->note_ready(line_of(kData)));
  EXPECT_TRUE(m.model->perform(line_of(kData), Cycle{50}));
  m.memory.protect(kData, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
  EXPECT_EQ(run(50), PipelineStop::ecall);
  EXPECT_EQ(value_at(kData), 7U);
}

TEST_F(WindowTasks, TheTimestampIsReadWithoutAStop) {
  constexpr auto kFunction = static_cast<std::uint32_t>(isa::TaskOp::read);
  constexpr auto kSelector = static_cast<std::uint32_t>(isa::ReadSelector::timestamp);
  m.memory.store(m.end, kSelector << 20 | kFunction << 12 | 6U << 7 | 0x0bU);
  m.end += 4;
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(m.x(6), 5U);
}

TEST(WindowCore, TheWaitOfAnAtomicIsMemorys) {
  WindowMachine m;
  m.emit("amoadd.d", {.rd = 6, .rs1 = 10, .rs2 = 5});
  m.run();
  const auto stalls = m.pipeline->stalls().take();
  EXPECT_EQ(stalls[static_cast<unsigned>(CyclePart::memory)], 18U);
}

}  // namespace
}  // namespace rubato::chip::test
