// Deferred accesses of tasks (K60, K63): a speculative task's are recorded, logged and checked when they
// perform, its abort takes them back, and in a capsule there are none. Observers of the task see them in the
// program's order.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>

#include "chip/core/in_order_observer.hpp"
#include "tests/chip/core/speculation_rig.hpp"

namespace rubato::chip {
namespace {

using namespace test;

constexpr Addr kFar = kData + 4096;  // another line, and page

struct DeferredSpeculation : testing::Test {
  DeferredSpeculation() { set_up(rig); }
  void set_up(Rig& r) {
    r.m.system.hook = [this](LineAddr line, AccessKind kind, Cycle, AccessResult& result) {
      if (kind == AccessKind::fetch || kind == AccessKind::untracked_store || here.contains(line.value))
        return;
      result.done = false;
      result.blocked = BlockReason::protocol;
    };
    r.m.x(11) = kFar;
    r.m.x(5) = 7;
    r.m.memory.store<std::uint64_t>(kData, 40);
  }
  PipelineStop run() { return m.model->run(Cycle{0}, kNever); }
  void comes(Addr address, std::uint64_t at) {
    here.insert(line_of(address).value);
    ASSERT_TRUE(m.pipeline->deferrals().note_ready(line_of(address)));
    m.pipeline->deferrals().perform(line_of(address), Cycle{at});
  }
  std::uint64_t value_at(Addr address) const { return m.memory.load<std::uint64_t>(address); }

  Rig rig;
  Machine& m = rig.m;
  std::set<std::uint64_t> here;
};

TEST_F(DeferredSpeculation, RecordsAndLogsWhenItPerforms) {
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall) << "the task goes on past both";
  EXPECT_TRUE(rig.records.empty());
  EXPECT_TRUE(rig.attempt.undo.empty());
  m.memory.store<std::uint64_t>(kData, 41);  // an earlier task's, before this one has the line
  comes(kData, 50);
  EXPECT_EQ(rig.undo(), (Log{{kData, 41}}));
  EXPECT_EQ(rig.records, (std::set<Record>{rig.write(kData)}));
  EXPECT_EQ(value_at(kData), 7U);
  comes(kFar, 60);
  EXPECT_EQ(rig.records, (std::set<Record>{rig.write(kData), rig.read(kFar)}));
}

TEST_F(DeferredSpeculation, AnAbortTakesThemBack) {
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  m.model->cancel(Cycle{0});
  m.pipeline->stop_task();
  EXPECT_FALSE(m.pipeline->deferrals().any());
  EXPECT_FALSE(m.pipeline->deferrals().note_ready(line_of(kData)));
  here.insert(line_of(kData).value);
  m.pipeline->deferrals().perform(line_of(kData), Cycle{50});
  EXPECT_EQ(value_at(kData), 40U);
  EXPECT_TRUE(rig.records.empty());
  // The next task finds registers and buffers free.
  Attempt next;
  next.virtual_time = {6, 0};
  rig.begin(next);
  m.pipeline->begin_context(Cycle{60});
  m.pipeline->hart().pc = kCode + 8;
  EXPECT_EQ(m.model->run(Cycle{60}, kNever), PipelineStop::ecall);
  EXPECT_EQ(m.pipeline->drain(), Cycle{60});
}

TEST_F(DeferredSpeculation, AnAccessThatAbortsItsOwnTaskWhenItPerformsHasNoEffect) {
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 8});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  m.system.hook = [this](LineAddr, AccessKind, Cycle, AccessResult&) {
    m.model->cancel(Cycle{0});
    m.pipeline->stop_task();
  };
  m.pipeline->deferrals().perform(line_of(kData), Cycle{50});
  EXPECT_FALSE(m.pipeline->deferrals().any());
  EXPECT_EQ(value_at(kData), 40U);
  EXPECT_TRUE(rig.attempt.undo.empty());
}

TEST_F(DeferredSpeculation, TheirRoomInTheLogIsTakenBeforeTheyPerform) {
  for (int i = 0; i < 5; ++i) m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = i * 8});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  EXPECT_EQ(rig.attempt.log_lines.size(), 2U) << "four entries a line";
  EXPECT_TRUE(rig.attempt.undo.empty());
  comes(kData, 50);
  EXPECT_EQ(rig.attempt.undo.size(), 5U);
  EXPECT_EQ(rig.attempt.log_lines.size(), 2U);
}

TEST_F(DeferredSpeculation, ATaskThatNeedNotSpeculateAnyMorePerformsWithoutALog) {
  m.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  m.pipeline->end_speculation();
  comes(kData, 50);
  EXPECT_EQ(value_at(kData), 7U);
  EXPECT_TRUE(rig.attempt.undo.empty());
  EXPECT_TRUE(rig.records.empty());
}

TEST_F(DeferredSpeculation, InACapsuleTheCoreIsBlocked) {
  m.pipeline->hart().capsule_depth = 1;
  m.emit("ld", {.rd = 6, .rs1 = 10, .imm = 0});
  EXPECT_EQ(run(), PipelineStop::blocked);
  EXPECT_FALSE(m.pipeline->deferrals().any());
}

TEST_F(DeferredSpeculation, OfAPageThatLosesItsRightsItFaultsWhenItWouldPerform) {
  m.emit("ld", {.rd = 6, .rs1 = 11, .imm = 0});
  m.emit("ecall");
  EXPECT_EQ(run(), PipelineStop::ecall);
  m.pipeline->deferrals().perform_at_once(kFar, kFar + 4096, Cycle{10});
  EXPECT_TRUE(m.pipeline->deferrals().any()) << "unchecked, it might see what a later task wrote";
  m.memory.unmap(kFar, AddressSpace::kPageBytes);
  comes(kFar, 50);
  EXPECT_TRUE(m.pipeline->deferrals().take_fault());
  EXPECT_FALSE(m.pipeline->deferrals().take_fault());
  EXPECT_EQ(m.pipeline->fault().kind, FaultKind::load_access);
  EXPECT_EQ(m.pipeline->fault().address, kFar);
  EXPECT_EQ(m.pipeline->fault().pc, kCode);
  EXPECT_FALSE(m.pipeline->deferrals().any());
}

// ---- What observes the task ----

class Notes final : public ExecutionObserver {
 public:
  void on_begin(CoreId, const HartState&) override {}
  void on_load(CoreId, Addr a, unsigned, std::uint64_t value) override { note("load", a, value); }
  void on_store(CoreId, Addr a, unsigned) override { note("store", a, 0); }
  void on_atomic(CoreId, Addr a, unsigned, std::uint64_t old) override { note("atomic", a, old); }
  void on_store_conditional(CoreId, Addr a, unsigned, bool stored) override { note("sc", a, stored ? 1 : 0); }
  void on_counter(CoreId, std::uint64_t value) override { note("counter", 0, value); }
  void on_task_read(CoreId, unsigned selector, std::uint64_t value) override {
    note("read", selector, value);
  }
  void on_handler(CoreId, const TaskDescriptor&) override {}
  void on_kernel_exit(CoreId, const HartState&) override {}

  std::string seen;

 private:
  void note(const char* what, Addr a, std::uint64_t value) {
    seen += std::string(what) + " " + std::to_string(a) + " " + std::to_string(value) + "; ";
  }
};

TEST(InOrderObserver, PassesWhatIsDeferredInTheOrderOfTheProgram) {
  Notes notes;
  InOrderObserver in_order(notes);
  const CoreId core{3};
  in_order.on_load(core, 8, 8, 1);
  EXPECT_EQ(notes.seen, "load 8 1; ");
  const std::uint64_t first = in_order.defer(core, 16, 8, false), second = in_order.defer(core, 24, 8, true);
  in_order.on_load(core, 32, 8, 2);
  in_order.on_counter(core, 9);
  const std::uint64_t third = in_order.defer(core, 40, 8, false);
  in_order.perform(second, 0);
  EXPECT_EQ(notes.seen, "load 8 1; ");
  in_order.perform(first, 5);
  EXPECT_EQ(notes.seen, "load 8 1; load 16 5; store 24 0; load 32 2; counter 0 9; ");
  in_order.on_task_read(core, 2, 6);
  in_order.perform(third, 7);
  EXPECT_EQ(notes.seen, "load 8 1; load 16 5; store 24 0; load 32 2; counter 0 9; load 40 7; read 2 6; ");
}

TEST(InOrderObserver, OfAnAbortedTaskNothingMoreIsSeen) {
  Notes notes;
  InOrderObserver in_order(notes);
  in_order.defer(CoreId{0}, 16, 8, false);
  in_order.on_store(CoreId{0}, 24, 8);
  in_order.cancel();
  in_order.on_load(CoreId{0}, 32, 8, 2);
  EXPECT_EQ(notes.seen, "load 32 2; ");
}

}  // namespace
}  // namespace rubato::chip
