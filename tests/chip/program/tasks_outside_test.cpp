// Task instructions of threads in fast-forward: first tasks, questions, regions, and capsules as plain calls
// (P59).
// SPDX-License-Identifier: MIT
#include "chip/program/tasks_outside.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "chip/isa/decode.hpp"
#include "tests/chip/program/rig.hpp"

namespace rubato::chip {
namespace {

using test::ProgramRig;
using ::testing::HasSubstr;
using Is = TasksOutside::Next::Is;

/// Keeps what is created; nothing runs.
struct Created final : TaskSystem {
  std::vector<TaskDescriptor> tasks;
  void create_before_region(const TaskDescriptor& task) override { tasks.push_back(task); }
  void begin_region(Cycle, std::uint32_t) override {}
  CreateOutcome create(CoreId, const TaskDescriptor&, Cycle, std::string&) override {
    return CreateOutcome::accepted;
  }
  bool dispatch(CoreId, Cycle, DispatchedTask&) override { return false; }
  Cycle step_internal(CoreId, Cycle) override { return kNever; }
  bool finish(CoreId, Cycle, bool) override { return true; }
  void suspend(CoreId, const DispatchedTask&, Cycle) override {}
  bool doom_task(TileId, std::uint64_t, Cycle) override { return false; }
  void resume(TileId, std::uint64_t, Cycle) override {}
  bool exception(CoreId, Cycle, bool) override { return false; }
  void on_abort(CoreId, const Handler&) override {}
  void doom(CoreId, AbortCause, Cycle) override {}
  void run_handler(CoreId, const Handler&, Cycle) override {}
  void end_doomed(CoreId, Cycle) override {}
  std::string describe_waiting() const override { return {}; }
};

struct OutsideRig : ProgramRig {
  explicit OutsideRig(bool is_shared = false) : ProgramRig({8}), outside(config, created, 24, is_shared) {
    main_thread().regs.pc = kImageEntry;
  }
  TasksOutside::Next execute(isa::TaskOp op, std::uint32_t imm = 0, std::uint32_t rd = 0) {
    const std::uint32_t word = isa::kCustom0 | static_cast<std::uint32_t>(op) << 12 | imm << 20 | rd << 7;
    return outside.execute((*this)[0], main_thread(), isa::decode(word));
  }
  std::uint64_t read(isa::ReadSelector selector) {
    main_thread().regs.x[reg::a3] = ~std::uint64_t{0};
    EXPECT_EQ(execute(isa::TaskOp::read, static_cast<std::uint32_t>(selector), reg::a3).is, Is::go_on);
    return main_thread().regs.x[reg::a3];
  }
  Created created;
  TasksOutside outside;
};

TEST(TasksOutside, CreateTheFirstTasksOfTheNextRegion) {
  OutsideRig rig;
  rig.main_thread().regs.x[reg::a0] = 0x4242;
  EXPECT_EQ(rig.execute(isa::TaskOp::create).is, Is::go_on);
  EXPECT_EQ(rig.created.tasks.size(), 1u);
  EXPECT_EQ(rig.main_thread().regs.pc, kImageEntry + 4);
  rig.outside.create({});
  EXPECT_EQ(rig.created.tasks.size(), 2u);
}

TEST(TasksOutside, AreToldOfTheChipAndOfNoTask) {
  OutsideRig rig;
  EXPECT_EQ(rig.read(isa::ReadSelector::cores), 8u);
  EXPECT_EQ(rig.read(isa::ReadSelector::workers), 24u);
  EXPECT_EQ(rig.read(isa::ReadSelector::has_capsules), 1u);
  EXPECT_EQ(rig.read(isa::ReadSelector::is_task), 0u);
  EXPECT_EQ(rig.read(isa::ReadSelector::timestamp), 0u);
  rig.main_thread().regs.capsule_depth = 3;
  EXPECT_EQ(rig.read(isa::ReadSelector::capsule_depth), 3u);
}

TEST(TasksOutside, LeaveRegionsToTheChipWithTheThreadAtTheInstruction) {
  OutsideRig rig;
  EXPECT_EQ(rig.execute(isa::TaskOp::region, static_cast<std::uint32_t>(isa::RegionOp::worker)).is,
            Is::worker);
  EXPECT_EQ(rig.execute(isa::TaskOp::region, static_cast<std::uint32_t>(isa::RegionOp::enter)).is,
            Is::region);
  EXPECT_EQ(rig.main_thread().regs.pc, kImageEntry);
}

TEST(TasksOutside, HaveNoTasksSideBySide) {
  OutsideRig rig(true);
  for (const isa::TaskOp op : {isa::TaskOp::create, isa::TaskOp::region}) {
    const TasksOutside::Next next = rig.execute(op);
    EXPECT_EQ(next.is, Is::fault);
    EXPECT_EQ(next.fault.kind, FaultKind::task_error);
    EXPECT_EQ(next.fault.pc, kImageEntry);
    EXPECT_THAT(next.fault.sentence, HasSubstr("one program has the whole chip"));
  }
  rig.outside.create({});
  EXPECT_TRUE(rig.created.tasks.empty());
  EXPECT_TRUE(rig.outside.refuses_regions());
  EXPECT_EQ(rig.read(isa::ReadSelector::cores), 8u);  // questions are no tasks
}

TEST(TasksOutside, RefuseWhatOnlyTasksMayDo) {
  OutsideRig rig;
  const TasksOutside::Next next = rig.execute(isa::TaskOp::finish);
  EXPECT_EQ(next.is, Is::fault);
  EXPECT_EQ(next.fault.kind, FaultKind::illegal_instruction);
  EXPECT_EQ(rig.main_thread().regs.pc, kImageEntry);
}

TEST(TasksOutside, LeaveACapsuleToItsCallerAndRefuseToLeaveNone) {
  OutsideRig rig;
  HartState& hart = rig.main_thread().regs;
  EXPECT_EQ(rig.execute(isa::TaskOp::capsule_return).fault.kind, FaultKind::illegal_instruction);
  hart.capsule_depth = 2;
  hart.x[reg::ra] = kImageEntry + 0x40;
  EXPECT_EQ(rig.execute(isa::TaskOp::capsule_return).is, Is::go_on);
  EXPECT_EQ(hart.capsule_depth, 1u);
  EXPECT_EQ(hart.pc, kImageEntry + 0x40);
}

TEST(TasksOutside, SayWhyACapsuleCannotBeCalled) {
  OutsideRig rig;  // no vector is set
  const TasksOutside::Next next = rig.execute(isa::TaskOp::capsule_call);
  EXPECT_EQ(next.is, Is::fault);
  EXPECT_EQ(next.fault.kind, FaultKind::task_error);
  EXPECT_FALSE(next.fault.sentence.empty());
  EXPECT_EQ(rig.main_thread().regs.capsule_depth, 0u);
}

}  // namespace
}  // namespace rubato::chip
