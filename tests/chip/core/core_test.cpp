// Speculative tasks on cores (C13, C14, C18, C23): aborts whatever the core is doing, exceptions, stalls, and
// every cycle accounted for once.
// SPDX-License-Identifier: MIT
#include "chip/core/core.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chip/isa/task_instructions.hpp"
#include "tests/chip/core/machine.hpp"
#include "tests/chip/core/scripted_chip.hpp"

namespace rubato::chip {
namespace {

using namespace test;
using Chip = ScriptedChip;

using Dispatched = std::vector<std::pair<std::uint64_t, Cycle>>;
constexpr Latency kTask = 5;  // cycles of a dequeue, a create, a finish

// C18: "blocking calls release the core". Its registers and its worker are those of its thread until it goes
// on.
TEST(SuspendedTask, LeavesItsCoreToOthersAndGoesOnAfterThemWithItsOwnWorker) {
  Chip chip;
  chip.spare.regs.pc = kCode;
  chip.spare.regs.x[reg::sp] = kData + 8 * AddressSpace::kPageBytes;
  chip.on_syscall = [&] {
    chip.parts[0].worker.state = ThreadState::blocked;
    chip.parts[0].worker.regs.pc += 4;  // as the kernel does
    return SyscallOutcome::blocked;
  };
  chip.give(0, kBody, false);
  chip.emit("addi", {.rd = 8, .rs1 = 0, .imm = 7});   // 5
  chip.emit("ecall");                                 // 6; the core is free at 6 and its own cycles
  chip.emit("sd", {.rs1 = 10, .rs2 = 8, .imm = 64});  // of what survived the call
  chip.emit("sd", {.rs1 = 10, .rs2 = 2, .imm = 72});
  chip.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});
  const Addr other = chip.end;
  chip.give(0, other, false);
  chip.emit("sd", {.rs1 = 10, .rs2 = 2, .imm = 0});  // its stack pointer
  chip.emit("addi", {.rd = 8, .rs1 = 0, .imm = 1});
  chip.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});
  DispatchedTask resumed;
  resumed.kind = DispatchedTask::Kind::resumed;
  resumed.run = 1;
  chip.parts[0].next.push_back(resumed);
  chip.run(1000);
  EXPECT_EQ(chip.suspensions, (std::vector{Cycle{6}}));
  EXPECT_EQ(chip.workers_taken, 1);
  EXPECT_EQ(chip.given_back, (std::vector<Thread*>{&chip.spare}));
  EXPECT_EQ(chip.finishes.size(), 2);
  EXPECT_EQ(chip.memory.load<std::uint64_t>(kData), kData + 8 * AddressSpace::kPageBytes);
  EXPECT_EQ(chip.memory.load<std::uint64_t>(kData + 64), 7);
  EXPECT_EQ(chip.memory.load<std::uint64_t>(kData + 72), kData + 15 * AddressSpace::kPageBytes + 48);
}

TEST(SpeculativeCore, GivesATasksCyclesToItsAttemptByTheirParts) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});   // 5: misses, ready at 25
  chip.emit("addi", {.rd = 6, .rs1 = 5, .imm = 1});  // 25
  chip.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});  // 26; finish at 27, until 32
  chip.run(40);
  EXPECT_EQ(chip.finishes, (std::vector{Cycle{27}}));
  EXPECT_EQ(attempt.cycles.function, kBody);
  EXPECT_EQ(Chip::cycles(attempt), 27 + kTask);
  EXPECT_EQ(attempt.cycles.parts[static_cast<unsigned>(CyclePart::memory)], 18U);
  EXPECT_EQ(chip.cycles(CycleClass::nonspeculative), 0U);
  EXPECT_EQ(chip.cycles(CycleClass::idle), 8U);
}

TEST(SpeculativeCore, AbortsARunningTaskThatWaitsForTheClock) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  for (int i = 0; i < 3; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
  chip.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});
  // The loads issue at 5, 25 and 45 (write after write): at 30 the core waits for its third.
  chip.at(30, [&] { chip.core().abort_task(Cycle{30}); });
  chip.at(50, [&] {
    EXPECT_EQ(chip.core().activity(), Core::Activity::rollback);
    chip.give(0, kCode + 4, false);
    chip.core().wake(Cycle{60});
  });
  chip.run(100);
  EXPECT_EQ(chip.parts[0].system.accesses.size(), 2U);
  EXPECT_EQ(chip.dispatched, (Dispatched{{1, Cycle{0}}, {2, Cycle{60}}}));
  // The core had run ahead to 45: those cycles are the attempt's, then it rolls back.
  EXPECT_EQ(Chip::cycles(attempt), 45U);
  EXPECT_EQ(chip.cycles(CycleClass::aborted), 60U);
  EXPECT_EQ(chip.account->by_function().at(kBody).of_class(CycleClass::aborted), 60U);
  EXPECT_EQ(chip.cycles(CycleClass::nonspeculative), 2 * kTask);
}

TEST(SpeculativeCore, TimeDoesNotRewindForATaskThatRanAhead) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  for (int i = 0; i < 200; ++i) {
    chip.emit("addi", {.rd = 5, .rs1 = 5, .imm = 1});
    chip.emit("jal", {.rd = 0, .imm = 4});
  }
  chip.emit("ebreak");
  chip.at(6, [] {});  // strict until 6, ahead until 38
  chip.at(7, [&] {
    EXPECT_GT(chip.core().reached(), Cycle{30});
    chip.core().abort_task(Cycle{7});
    chip.give(0, kCode + 4, false);
    chip.core().wake(Cycle{8});
  });
  chip.run(100);
  ASSERT_EQ(chip.dispatched.size(), 2U);
  EXPECT_EQ(chip.dispatched[1].second.value, Chip::cycles(attempt));  // at once where it had come to
  EXPECT_GT(chip.dispatched[1].second, Cycle{30});
  EXPECT_TRUE(chip.exceptions.empty());
}

TEST(SpeculativeCore, AbortsABlockedTask) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  chip.parts[0].system.hook = [](LineAddr, AccessKind, Cycle, AccessResult& r) { r.done = false; };
  chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});  // 5
  chip.at(30, [&] { chip.core().abort_task(Cycle{30}); });
  chip.at(40, [&] { chip.core().wake(Cycle{40}); });
  chip.run(50);
  EXPECT_EQ(Chip::cycles(attempt), 30U);
  EXPECT_EQ(attempt.cycles.parts[static_cast<unsigned>(CyclePart::check)], 25U);
  EXPECT_EQ(chip.cycles(CycleClass::aborted), 40U);
  EXPECT_EQ(chip.cycles(CycleClass::idle), 10U);
}

TEST(SpeculativeCore, ABlockedTaskGoesOnWhenWoken) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  bool refuse = true;
  chip.parts[0].system.hook = [&](LineAddr, AccessKind, Cycle, AccessResult& r) { r.done = !refuse; };
  chip.emit("sd", {.rs1 = 10, .rs2 = 10, .imm = 0});  // 5, then 30
  chip.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});
  chip.at(30, [&] {
    refuse = false;
    chip.core().wake(Cycle{30});
  });
  chip.run(100);
  EXPECT_EQ(chip.finishes, (std::vector{Cycle{50}}));  // store and log are there at 50
  EXPECT_EQ(attempt.undo.size(), 1U);
  EXPECT_EQ(Chip::cycles(attempt), 50 + kTask);
  EXPECT_EQ(attempt.cycles.parts[static_cast<unsigned>(CyclePart::check)], 25U);
}

TEST(SpeculativeCore, StallsOnAFullCommitQueueUntilItMayFinish) {
  Chip chip;
  Attempt& attempt = chip.give(0, kCode + 4);
  bool full = true;
  chip.on_finish = [&](CoreId, Cycle) { return !full; };
  chip.at(20, [&] {
    full = false;
    chip.core().wake(Cycle{20});
  });
  chip.run(30);
  EXPECT_EQ(chip.finishes, (std::vector{Cycle{5}, Cycle{20}}));
  EXPECT_EQ(chip.cycles(CycleClass::stall), 15U);
  EXPECT_EQ(Chip::cycles(attempt), 2 * kTask);
}

TEST(SpeculativeCore, AbortsATaskStalledOnFinishOrCreate) {
  for (const bool on_create : {true, false}) {
    Chip chip;
    Attempt& attempt = chip.give(0);
    chip.on_finish = [](CoreId, Cycle) { return false; };
    chip.on_create = [](CoreId, Cycle, std::string&) { return CreateOutcome::stalled; };
    chip.emit(word(on_create ? isa::TaskOp::create : isa::TaskOp::finish));
    chip.at(20, [&] { chip.core().abort_task(Cycle{20}); });
    chip.at(25, [&] { chip.core().wake(Cycle{26}); });
    chip.run(30);
    EXPECT_EQ(chip.cycles(CycleClass::stall), 15U);
    EXPECT_EQ(Chip::cycles(attempt), 5U);
    EXPECT_EQ(chip.cycles(CycleClass::aborted), 5U + 6U);
    EXPECT_EQ(chip.finishes.size() + chip.creates.size(), 1U);
  }
}

TEST(SpeculativeCore, SurvivesItsOwnAbortInsideEveryCall) {
  enum class In { access, create, finish, exception };
  for (const In in : {In::access, In::create, In::finish, In::exception}) {
    Chip chip;
    Attempt& attempt = chip.give(0);
    const auto abort = [&](Cycle now) {
      chip.core().abort_task(now);
      // Settled and gone by the time the core goes on.
      chip.account->settle(attempt.cycles, CycleClass::aborted);
      attempt = Attempt{};
      chip.core().wake(now + 7);
    };
    chip.parts[0].system.hook = [&](LineAddr, AccessKind, Cycle now, AccessResult& r) {
      r.done = false;
      abort(now);
    };
    chip.on_create = [&](CoreId, Cycle now, std::string&) { return abort(now), CreateOutcome::stalled; };
    chip.on_finish = [&](CoreId, Cycle now) { return abort(now), false; };
    chip.on_exception = [&](CoreId, Cycle now) { return abort(now), true; };
    if (in == In::access) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});
    if (in == In::create) chip.emit(word(isa::TaskOp::create));
    if (in == In::exception) chip.emit("ecall");
    chip.emit(word(isa::TaskOp::finish));
    chip.run(20);
    EXPECT_EQ(chip.core().activity(), Core::Activity::idle);
    EXPECT_EQ(chip.cycles(CycleClass::aborted), 5U + 7U);
    EXPECT_EQ(chip.cycles(CycleClass::idle), 8U);
    EXPECT_EQ(chip.syscalls, 0U);
  }
}

TEST(SpeculativeCore, WhatOnlyANonSpeculativeTaskMayDoIsAnException) {
  const std::vector<std::uint32_t> instructions = {
      encode("ecall", {}),
      encode("ebreak", {}),
      encode("fence.i", {}),
      0xffffffff,                                         // illegal
      encode("ld", {.rd = 5, .rs1 = 0, .imm = 0}),        // unmapped
      encode("sd", {.rs1 = 0, .rs2 = 0, .imm = 0}),       // unmapped
      encode("amoadd.d", {.rd = 5, .rs1 = 0, .rs2 = 5}),  // unmapped
      encode("jalr", {.rd = 0, .rs1 = 0, .imm = 0}),      // wild jump
      word(isa::TaskOp::region),                          // nested run()
      word(isa::TaskOp::promote),
      word(isa::TaskOp::create),  // see on_create
  };
  for (const std::uint32_t instruction : instructions) {
    for (const bool says_exception : {true, false}) {
      Chip chip;
      chip.on_create = [&](CoreId, Cycle, std::string& error) {
        if (!says_exception) error = "wrong";
        return says_exception ? CreateOutcome::exception : CreateOutcome::accepted;
      };
      Attempt& attempt = chip.give(0);
      chip.give(0, kCode + 4, false);
      chip.emit(instruction);
      chip.emit(word(isa::TaskOp::finish));
      chip.run(100);
      ASSERT_EQ(chip.exceptions.size(), 1U) << instruction;
      EXPECT_TRUE(chip.faults.empty());
      EXPECT_EQ(chip.syscalls + chip.flushes, 0U);
      // The core is free at once.
      EXPECT_EQ(chip.dispatched, (Dispatched{{1, Cycle{0}}, {2, chip.exceptions[0]}}));
      EXPECT_EQ(Chip::cycles(attempt), chip.exceptions[0].value);
      EXPECT_EQ(chip.cycles(CycleClass::nonspeculative), 2 * kTask);
    }
  }
}

TEST(SpeculativeCore, PromoteHasNoEffectInANonSpeculativeTaskAndFaultsAreProgramErrors) {
  Chip chip;
  chip.on_exception = [](CoreId, Cycle) { return false; };
  chip.give(0, kBody, false);
  chip.emit(word(isa::TaskOp::promote));
  chip.emit("ebreak");
  chip.run(100);
  EXPECT_TRUE(chip.exceptions.empty());
  EXPECT_EQ(chip.faults, (std::vector{FaultKind::breakpoint}));
}

TEST(SpeculativeCore, BecomesNonSpeculativeInPlaceAndKeepsWhatItDid) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});    // 5
  chip.emit("sd", {.rs1 = 10, .rs2 = 5, .imm = 64});  // 25
  chip.emit(encode("addi", {.rd = 6, .rs1 = 5, .imm = 0}));
  chip.emit("ebreak");  // a program error by then
  chip.at(15, [&] { chip.core().become_nonspeculative(); });
  chip.run(100);
  EXPECT_EQ(Chip::cycles(attempt), 25U);  // it was there already
  EXPECT_TRUE(attempt.undo.empty());
  EXPECT_TRUE(chip.exceptions.empty());
  EXPECT_EQ(chip.faults, (std::vector{FaultKind::breakpoint}));
  EXPECT_EQ(chip.cycles(CycleClass::nonspeculative), 75U);
}

TEST(SpeculativeCore, AnExceptionMayEndInTheTaskGoingOnNonSpeculatively) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  chip.on_exception = [&](CoreId, Cycle) { return chip.core().become_nonspeculative(), false; };
  int creates = 0;
  chip.on_create = [&](CoreId, Cycle, std::string&) {
    return ++creates == 1 ? CreateOutcome::exception : CreateOutcome::accepted;
  };
  chip.emit(word(isa::TaskOp::create));   // 5, and again
  chip.emit(word(isa::TaskOp::promote));  // 10
  chip.emit(word(isa::TaskOp::finish));   // 11
  chip.run(20);
  EXPECT_EQ(chip.creates.size(), 2U);
  EXPECT_EQ(chip.exceptions.size(), 1U);
  EXPECT_EQ(chip.finishes, (std::vector{Cycle{11}}));
  EXPECT_EQ(Chip::cycles(attempt), 5U);
  EXPECT_EQ(chip.cycles(CycleClass::nonspeculative), 11U);
}

TEST(SpeculativeCore, IsAbortedByAnotherCoreInTheMiddleOfItsRun) {
  Chip chip(2);
  Attempt& victim = chip.give(1);
  chip.give(0, kBody + 512, false);
  for (int i = 0; i < 4; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});  // 5, 25, 45, 65
  chip.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});
  chip.end = kBody + 512;
  chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = 0});    // 5
  chip.emit("addi", {.rd = 5, .rs1 = 5, .imm = 0});   // 25
  chip.emit("ld", {.rd = 6, .rs1 = 10, .imm = 64});   // 26: aborts core 1's task, which is rolled back at 36
  chip.emit("ld", {.rd = 7, .rs1 = 10, .imm = 128});  // 27
  chip.emit("ld", {.rd = 6, .rs1 = 10, .imm = 192});  // 46: not before core 1 has dispatched
  chip.emit("jalr", {.rd = 0, .rs1 = 1, .imm = 0});
  std::vector<std::uint64_t> order;
  chip.parts[0].system.hook = [&](LineAddr, AccessKind, Cycle now, AccessResult& r) {
    order.push_back(now.value);
    if (now != Cycle{26}) return;
    chip.core(1).abort_task(now);
    chip.give(1, kCode + 4);
    chip.core(1).wake(now + 10);
    r.disturbed = true;
  };
  chip.on_finish = [&](CoreId core, Cycle now) {
    if (core.value == 1) order.push_back(now.value);
    return true;
  };
  chip.run(200);
  EXPECT_EQ(Chip::cycles(victim), 45U);  // it waited for 45 and goes on from there
  EXPECT_EQ(chip.dispatched.back(), (std::pair<std::uint64_t, Cycle>{3, Cycle{45}}));
  EXPECT_EQ(order, (std::vector<std::uint64_t>{5, 26, 27, 46, 50}));
}

// A task that calls the heap function at kHeap and ends.
constexpr Addr kHeap = kBody + 1024;
void call_heap(Chip& chip) {
  chip.blocks.set_host_calls({{kHeap, 3}});
  chip.emit("addi", {.rd = 8, .rs1 = 1, .imm = 0});                                 // 5
  chip.emit("jal", {.rd = 1, .imm = static_cast<std::int32_t>(kHeap - chip.end)});  // 6
  chip.emit("jalr", {.rd = 0, .rs1 = 8, .imm = 0});                                 // 7
}

TEST(HeapCall, TakesNoTimeAndKnowsItsAttempt) {
  for (const bool speculative : {true, false}) {
    Chip chip;
    Attempt& attempt = chip.give(0, kBody, speculative);
    call_heap(chip);
    chip.run(100);
    EXPECT_EQ(chip.heap_calls,
              (std::vector<Chip::HeapCall>{{3, speculative ? &attempt : nullptr, Cycle{7}}}));
    ASSERT_EQ(chip.finishes.size(), 1U);
    // The return from the task is predicted wrongly: its target is in another register.
    EXPECT_EQ(chip.finishes[0], Cycle{8 + chip.config.core.mispredict});
  }
}

TEST(HeapCall, AFaultIsAnExceptionOrAnError) {
  for (const bool speculative : {true, false}) {
    Chip chip;
    chip.give(0, kBody, speculative);
    call_heap(chip);
    chip.on_heap_call = [](Attempt*) { return HeapCalls::Outcome::faulted; };
    chip.run(100);
    EXPECT_EQ(chip.exceptions.size(), speculative ? 1U : 0U);
    EXPECT_EQ(chip.faults.size(), speculative ? 0U : 1U);
    EXPECT_TRUE(chip.finishes.empty());
  }
}

TEST(HeapCall, ATaskThatGoesOnNonSpeculativelyCallsAgain) {
  Chip chip;
  Attempt& attempt = chip.give(0);
  call_heap(chip);
  chip.on_heap_call = [](Attempt* a) {
    return a != nullptr ? HeapCalls::Outcome::faulted : HeapCalls::Outcome::returned;
  };
  chip.on_exception = [&](CoreId, Cycle) {
    chip.core().become_nonspeculative();
    return false;
  };
  chip.run(100);
  ASSERT_EQ(chip.heap_calls.size(), 2U);
  EXPECT_EQ(chip.heap_calls[0].attempt, &attempt);
  EXPECT_EQ(chip.heap_calls[1].attempt, nullptr);
  EXPECT_TRUE(chip.faults.empty());
  EXPECT_EQ(chip.finishes.size(), 1U);
}

}  // namespace
}  // namespace rubato::chip
