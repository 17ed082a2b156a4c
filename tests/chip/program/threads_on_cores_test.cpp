// Threads get cores, share them by slices and leave them; the test plays the chip around real cores (C3).
// SPDX-License-Identifier: MIT
#include "chip/program/threads_on_cores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/chip/program/rig.hpp"

namespace rubato::chip {
namespace {

using test::ProgramRig;
using ::testing::HasSubstr;
using Given = ThreadsOnCores::Given;
using Activity = Core::Activity;

constexpr Latency kSlice = 1000;

/// Programs on two cores each. What a core asks for is passed on to the part under test, or is no matter
/// here.
struct ThreadsRig : ProgramRig, CoreHost {
  explicit ThreadsRig(const std::vector<std::uint32_t>& cores_of_programs)
      : ProgramRig(cores_of_programs, 4), account(4) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      Program& program = programs->of(CoreId{i});
      program.memory.store<std::uint16_t>(kImageEntry, 0xa001);  // c.j 0: a thread turns here for ever
      cores.push_back(std::make_unique<Core>(CoreId{i}, config,
                                             Pipeline::Ports{.memory = &program.memory,
                                                             .blocks = &program.blocks,
                                                             .memory_system = *hierarchy,
                                                             .l1i = hierarchy->l1i(CoreId{i}),
                                                             .l1d = hierarchy->l1d(CoreId{i}),
                                                             .timeline = &timeline},
                                             timeline, account, *this));
    }
    for (const auto& program : *programs) programs->arrive(*program, nullptr);
    programs->begin_detail();
    for (const auto& program : *programs) threads.enter(*program);
  }
  Core& core(std::uint32_t i) { return *cores[i]; }
  void run_to(std::uint64_t cycle) {
    timeline.pause_at(Cycle{cycle});
    while (timeline.step()) {
    }
  }

  void find_thread(Core& core, Cycle at) override { given.push_back(threads.give(core, at)); }
  void slice_ended(Core& core, Cycle at) override {
    ++slices;
    threads.end_slice(core, at);
  }
  void thread_left(Core& core, const Thread& thread, Cycle at) override { threads.left(core, thread, at); }
  TaskSystem& tasks() override { std::abort(); }
  CapsuleVector& capsules(CoreId id) override { return programs->of(id).capsule_vector; }
  void capsule_ended(CoreId, const OpenCapsuleCall&, Cycle) override {}
  void begin_speculation() override {}
  SyscallOutcome syscall(Core&, Thread&, Cycle) override { return SyscallOutcome::process_exited; }
  std::uint64_t suspend(const SuspendedTask&) override { return 0; }
  SuspendedTask resume(std::uint64_t) override { return {}; }
  Worker take_worker(const Core&) override { return {}; }
  void give_back(const Core&, const Worker&) override {}
  HeapCalls::Outcome heap_call(Core&, std::int32_t, Attempt*, Cycle) override {
    return HeapCalls::Outcome::returned;
  }
  const Fault& heap_fault(CoreId) const override { return no_fault; }
  void create_outside_task(Core&, const TaskDescriptor&, Cycle) override {}
  void region_instruction(Core&, Thread&, bool, Cycle) override {}
  bool fault(Core&, Thread&, const Fault&, Cycle) override { return false; }
  void region_returned(Core&, Cycle) override {}
  void drop_decoded_blocks(CoreId) override {}
  std::uint32_t core_count() const override { return 4; }
  std::uint32_t worker_count() const override { return 4; }
  TileId tile_of(CoreId id) const override { return TileId{id.value / 2}; }

  Timeline timeline;
  CallClock call_clock{timeline};
  CycleAccount account;
  Cores cores;
  ThreadsOnCores threads{cores, *programs, account, timeline, call_clock, kSlice};
  std::vector<Given> given;
  unsigned slices = 0;
  Fault no_fault;
};

TEST(ThreadsOnCores, AreGivenAnIdleCoreOfTheirProgram) {
  ThreadsRig rig({2, 2});
  rig.threads.add(rig[1], rig.main_thread(1));
  EXPECT_FALSE(rig.threads.is_on_core(rig.main_thread(1)));
  rig.run_to(1);
  EXPECT_TRUE(rig.threads.is_on_core(rig.main_thread(1)));
  EXPECT_EQ(rig.core(2).thread(), &rig.main_thread(1));
  EXPECT_EQ(rig.main_thread(1).core, 0u);  // by the program's own numbers
  EXPECT_EQ(rig.core(0).activity(), Activity::idle);
  EXPECT_EQ(rig.given, (std::vector<Given>{Given::thread, Given::none}));  // the other core looked, too
}

TEST(ThreadsOnCores, TakeACoreToTheMemoryOfTheirProcess) {
  constexpr std::uint64_t kClone = 220, kSigChld = 17;
  ThreadsRig rig({4});
  Program& program = rig[0];
  Thread& parent = rig.main_thread();
  rig.call(program, parent, kClone, {kSigChld, 0, 0, 0});
  Thread& child = *program.process.threads().back();
  ASSERT_NE(child.space, nullptr);
  EXPECT_EQ(program.spaces.size(), 1u);
  parent.regs.pc = child.regs.pc = kImageEntry;
  rig.threads.add(program, parent);
  rig.threads.add(program, child);
  rig.run_to(1);
  EXPECT_EQ(rig.core(0).thread(), &parent);
  ASSERT_EQ(rig.core(1).thread(), &child);
  EXPECT_EQ(rig.threads.space_of(CoreId{0}), nullptr);
  EXPECT_EQ(rig.threads.space_of(CoreId{1}), child.space);
  // Another thread's call ends it where it is.
  child.state = ThreadState::exited;
  rig.threads.ended(program, child);
  EXPECT_EQ(rig.core(1).activity(), Activity::idle);
  rig.threads.forget(program, *child.space);
  EXPECT_EQ(rig.threads.space_of(CoreId{1}), nullptr);
}

TEST(ThreadsOnCores, TakeTurnsWhenThereAreMoreThreadsThanCores) {
  ThreadsRig rig({2, 2});
  std::vector<Thread*> all{&rig.main_thread(0), &rig.start_thread(0), &rig.start_thread(0)};
  for (Thread* thread : all) rig.threads.add(rig[0], *thread);
  rig.run_to(kSlice / 2);
  EXPECT_TRUE(rig.threads.is_on_core(*all[0]) && rig.threads.is_on_core(*all[1]));
  EXPECT_FALSE(rig.threads.is_on_core(*all[2]));
  // Two threads a slice pass it on their own cores, until they have four times (ThreadScheduler::kMaxPassed).
  rig.run_to(2 * kSlice + kSlice / 2);
  EXPECT_EQ(rig.slices, 4u);
  EXPECT_FALSE(rig.threads.is_on_core(*all[2]));
  rig.run_to(3 * kSlice + kSlice / 2);
  EXPECT_TRUE(rig.threads.is_on_core(*all[2]));
  EXPECT_EQ(rig[0].scheduler.waiting(), 1u);
}

TEST(ThreadsOnCores, StayBeyondTheirSliceWhenNoOtherWaits) {
  ThreadsRig rig({2, 2});
  rig.threads.add(rig[0], rig.main_thread(0));
  rig.run_to(10 * kSlice);
  EXPECT_EQ(rig.core(0).thread(), &rig.main_thread(0));
  EXPECT_EQ(rig.given.size(), 2u);  // once for each idle core
}

TEST(ThreadsOnCores, LeaveACoreThatTheirAffinityNoLongerNames) {
  ThreadsRig rig({2, 2});
  Thread& thread = rig.main_thread(0);
  rig.threads.add(rig[0], thread);
  rig.run_to(10);
  ASSERT_EQ(rig.core(0).thread(), &thread);
  thread.affinity = {2};  // core 1 alone
  rig.threads.cut_slice(thread);
  rig.run_to(2 * kSlice);
  EXPECT_EQ(rig.core(0).activity(), Activity::idle);
  EXPECT_EQ(rig.core(1).thread(), &thread);
}

TEST(ThreadsOnCores, LeaveTheirCoresWithDetail) {
  ThreadsRig rig({2, 2});
  rig.threads.add(rig[0], rig.main_thread(0));
  rig.threads.add(rig[1], rig.main_thread(1));
  rig.threads.add(rig[0], rig.start_thread(0));
  rig.threads.add(rig[0], rig.start_thread(0));
  rig.run_to(100);
  const Cycle left = rig.threads.leave(rig[0], Cycle{100});
  EXPECT_GE(left, Cycle{100});
  EXPECT_FALSE(rig.threads.is_on_core(rig.main_thread(0)));
  EXPECT_TRUE(rig.threads.is_on_core(rig.main_thread(1)));
  EXPECT_EQ(rig[0].scheduler.waiting(), 0u);
  EXPECT_EQ(rig.main_thread(0).regs.pc, kImageEntry);  // its registers are saved
}

TEST(ThreadsOnCores, AreCountedAndDescribedByCore) {
  ThreadsRig rig({2, 2});
  rig.threads.add(rig[1], rig.main_thread(1));
  rig.run_to(500);
  EXPECT_GT(rig.threads.instructions(rig[1]), 100u);
  EXPECT_EQ(rig.threads.instructions(rig[0]), 0u);
  EXPECT_EQ(rig.threads.instructions(), rig.threads.instructions(rig[1]));
  EXPECT_THAT(rig.threads.describe(), HasSubstr("core 2: thread 1000 at 0x10100"));
  EXPECT_THAT(rig.threads.describe(), ::testing::Not(HasSubstr("core 0")));
  EXPECT_EQ(rig.threads.runner_of(CoreId{2}).thread, rig.main_thread(1).tid);
  EXPECT_GE(rig.threads.reached(), Cycle{400});
}

}  // namespace
}  // namespace rubato::chip
