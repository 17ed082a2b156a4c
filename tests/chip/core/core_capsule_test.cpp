// Capsules on cores: the conditions of a call (P21, P22), and events that do not stop a capsule (P34). A
// capsule goes on after its task was aborted, and ends (P36, P37). Handlers (P12), and faults (P42). On both
// sides of each bound (P99).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "chip/isa/task_instructions.hpp"
#include "tests/chip/core/scripted_chip.hpp"

namespace rubato::chip {
namespace {

using namespace test;

constexpr Addr kVector = 0x40000, kEntry = kVector + 8, kStub = kVector + 0x100;
constexpr Addr kUntracked = 0x50000;
constexpr std::uint64_t kPage = AddressSpace::kPageBytes;
constexpr Addr kStackLow = kData + 10 * kPage, kStackHigh = kData + 15 * kPage + 64;
constexpr std::uint32_t kLinks = 1 << 7;  // rd is ra

/// Chip with one task, whose body calls the one capsule. The capsule's code is emitted next.
class CapsuleChip : public ScriptedChip {
 public:
  explicit CapsuleChip(const std::function<void(Config&)>& change = [](Config&) {})
      : ScriptedChip(1, [&](Config& c) {
          c.run.lookahead_cycles = 0;
          change(c);
        }) {
    memory.map(kVector, kPage, Page::kRead | Page::kWrite);
    memory.map(kUntracked, kPage, Page::kRead | Page::kWrite | Page::kUntracked);
    memory.store<std::uint64_t>(kEntry, kStub - kVector);
    memory.store<std::uint64_t>(kData, kEntry);
    memory.store<std::uint64_t>(kData + 8, kUntracked);
    memory.store<std::uint64_t>(kData + 16, kStackHigh);
    core().leave_region(Cycle{0});
    core().enter_region({&parts[0].worker, parts[0].worker.regs, kStackLow, kStackHigh}, Cycle{0});
    emit("ld", {.rd = reg::a7, .rs1 = 10, .imm = 0});
    emit("ld", {.rd = 11, .rs1 = 10, .imm = 8});
    emit("ld", {.rd = reg::sp, .rs1 = 10, .imm = 16});
    call_at = end;
    emit(word(isa::TaskOp::capsule_call) | kLinks);
    emit("sd", {.rs1 = 10, .rs2 = 10, .imm = 256});  // seen: it returned, and its task goes on
    emit(word(isa::TaskOp::finish));
    end = kStub;
  }
  void emit_return() { emit(word(isa::TaskOp::capsule_return)); }
  void start() {
    memory.protect(kVector, kPage, Page::kRead | Page::kExecute | Page::kUntracked);
    ASSERT_EQ(vector.set(kVector, kPage), "");
    run(5000);
  }
  void record(CoreId, LineAddr line, bool) override { recorded.push_back(line); }
  bool has_returned() const { return memory.load<std::uint64_t>(kData + 256) != 0; }
  std::uint64_t untracked() const { return memory.load<std::uint64_t>(kUntracked); }

  Addr call_at = 0;
  std::vector<LineAddr> recorded;
};

TEST(Capsule, ReturnsToItsTaskWhichGoesOn) {
  CapsuleChip chip;
  chip.give(0);
  chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
  chip.emit_return();
  chip.start();
  EXPECT_TRUE(chip.has_returned());
  EXPECT_EQ(chip.untracked(), kData);
  EXPECT_EQ(chip.finishes.size(), 1U);
}

TEST(Capsule, ReadsWhoseTheCoreIs) {
  for (const bool is_speculative : {true, false}) {
    CapsuleChip chip;
    chip.give(0, kBody, is_speculative);
    chip.emit(word(isa::TaskOp::read, static_cast<std::uint32_t>(isa::ReadSelector::own_core)) | 12 << 7);
    chip.emit("sd", {.rs1 = 11, .rs2 = 12, .imm = 0});
    chip.emit_return();
    chip.start();
    EXPECT_EQ(static_cast<std::int64_t>(chip.untracked()), is_speculative ? -1 : 1);
  }
}

TEST(Capsule, RunsOnAfterAnAbortWithoutEffectOnTrackedMemory) {
  CapsuleChip chip;
  Attempt& attempt = chip.give(0);
  for (int i = 4; i < 10; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});  // 20 cycles each
  chip.emit("sd", {.rs1 = 10, .rs2 = 10, .imm = 128});
  chip.emit("amoadd.d", {.rd = 6, .rs1 = 10, .rs2 = 10});
  chip.emit(word(isa::TaskOp::create));
  chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
  chip.emit_return();
  Cycle aborted{};
  chip.at(100, [&] {
    aborted = Cycle{100};
    EXPECT_TRUE(chip.core().abort_task(aborted));
    EXPECT_EQ(chip.core().activity(), Core::Activity::doomed);
    chip.give(0, kCode + 4, false);  // it asks for work when it has left the capsule
  });
  chip.start();
  EXPECT_EQ(chip.untracked(), kData);
  EXPECT_EQ(chip.memory.load<std::uint64_t>(kData + 128), 0U);
  EXPECT_EQ(chip.memory.load<std::uint64_t>(kData), kEntry);
  EXPECT_TRUE(chip.creates.empty());
  EXPECT_FALSE(chip.has_returned());
  ASSERT_EQ(chip.doomed_ends.size(), 1U);
  EXPECT_GT(chip.doomed_ends[0], aborted);
  ASSERT_EQ(chip.dispatched.size(), 2U);
  EXPECT_GE(chip.dispatched[1].second, chip.doomed_ends[0]);
  // At 100 the core is in the middle of a load: its end counts as done before.
  EXPECT_GE(ScriptedChip::cycles(attempt), 100U);
  EXPECT_LT(ScriptedChip::cycles(attempt), 100 + kMiss) << "the doomed run's cycles are not the attempt's";
  EXPECT_EQ(chip.cycles(CycleClass::aborted), chip.doomed_ends[0].value);
}

TEST(Capsule, ItsCyclesAreCountedUntilItsTaskIsAbortedAndFromThen) {
  for (const bool is_aborted : {false, true}) {
    CapsuleChip chip;
    chip.give(0);
    for (int i = 4; i < 10; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
    chip.emit_return();
    if (is_aborted) chip.at(100, [&] { EXPECT_TRUE(chip.core().abort_task(Cycle{100})); });
    chip.start();
    ASSERT_EQ(chip.capsule_calls.by_stub().size(), 1U);
    const auto& [stub, count] = *chip.capsule_calls.by_stub().begin();
    EXPECT_EQ(stub, kStub);
    EXPECT_EQ(count.calls, 1U);
    EXPECT_EQ(count.doomed_calls, is_aborted ? 1U : 0U);
    EXPECT_EQ(count.doomed_cycles != 0, is_aborted);
    EXPECT_GE(count.cycles + count.doomed_cycles, 6 * 20U);
    EXPECT_LT(count.cycles, is_aborted ? 100U : 1000U);
  }
}

TEST(Capsule, ADoomedRunEndsAtAPromoteToo) {
  CapsuleChip chip;
  chip.give(0);
  for (int i = 4; i < 10; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
  chip.emit(word(isa::TaskOp::promote));
  chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
  chip.emit_return();
  chip.at(100, [&] { EXPECT_TRUE(chip.core().abort_task(Cycle{100})); });
  chip.start();
  EXPECT_EQ(chip.doomed_ends.size(), 1U);
  EXPECT_TRUE(chip.exceptions.empty());
  EXPECT_EQ(chip.untracked(), 0U);
}

TEST(Capsule, MakesASystemCallAtOnceDoomedOrNot) {
  for (const bool is_aborted : {false, true}) {
    CapsuleChip chip;
    chip.on_syscall = [&] {
      chip.parts[0].worker.regs.pc += 4;
      return SyscallOutcome::done;
    };
    chip.give(0);
    for (int i = 4; i < 10; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
    chip.emit(0x00000073);  // ecall
    chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
    chip.emit_return();
    if (is_aborted) chip.at(100, [&] { EXPECT_TRUE(chip.core().abort_task(Cycle{100})); });
    chip.start();
    EXPECT_EQ(chip.syscalls, 1U) << is_aborted;
    EXPECT_TRUE(chip.exceptions.empty()) << is_aborted;
    EXPECT_EQ(chip.untracked(), kData) << is_aborted;
    EXPECT_EQ(chip.has_returned(), !is_aborted);
  }
}

TEST(Capsule, ACallNeedsItsStack) {
  struct Case {
    Addr sp;
    bool is_good;
  };
  const std::uint64_t room = Config{}.task.capsule_stack;
  for (const Case& c : {Case{kStackLow + room, true}, Case{kStackLow + room - 16, false},
                        Case{kStackHigh, true}, Case{kStackHigh + 16, false}, Case{kStackLow - 16, false},
                        Case{kStackHigh - 8, false}, Case{kUntracked + 1024, false}}) {
    CapsuleChip chip;
    chip.memory.store(kData + 16, std::uint64_t{c.sp});
    chip.give(0);
    chip.emit_return();
    chip.start();
    EXPECT_EQ(chip.has_returned(), c.is_good) << std::hex << c.sp;
    EXPECT_EQ(chip.exceptions.size(), c.is_good ? 0U : 1U) << std::hex << c.sp;
  }
}

TEST(Capsule, ACallThroughWhatIsNoEntryIsAnExceptionOrAnError) {
  for (const bool is_speculative : {true, false}) {
    CapsuleChip chip;
    chip.give(0, kBody, is_speculative);
    chip.memory.store<std::uint64_t>(kData, kEntry + 8);
    chip.emit_return();
    chip.start();
    EXPECT_FALSE(chip.has_returned());
    EXPECT_EQ(chip.exceptions.size(), is_speculative ? 1U : 0U);
    EXPECT_EQ(chip.faults, is_speculative ? std::vector<FaultKind>{} : std::vector{FaultKind::task_error});
  }
}

TEST(Capsule, ACallNeedsRoomForHandlers) {
  for (const std::uint32_t held : {4U, 5U}) {
    CapsuleChip chip([](Config& c) { c.task.capsule_handlers = 4, c.task.handler_records = 8; });
    chip.give(0);
    for (std::uint32_t i = 0; i < held; ++i) chip.core().capsule().handlers().take();
    chip.emit_return();
    chip.start();
    EXPECT_EQ(chip.has_returned(), held == 4);
    EXPECT_EQ(chip.exceptions.size(), held == 4 ? 0U : 1U);
  }
}

TEST(Capsule, HandlersAreTheAttemptsUntilItIsAbortedThenTheyRun) {
  CapsuleChip chip;
  chip.give(0);
  chip.emit(word(isa::TaskOp::capsule_on_abort, 1 << 4));
  for (int i = 4; i < 10; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
  chip.emit(word(isa::TaskOp::capsule_on_abort, 2 << 4));
  chip.emit_return();
  chip.at(100, [&] { EXPECT_TRUE(chip.core().abort_task(Cycle{100})); });
  chip.start();
  ASSERT_EQ(chip.handlers.size(), 1U);
  EXPECT_EQ(chip.handlers[0].argument_count, 1U);
  EXPECT_EQ(chip.handlers[0].arguments[0], kData);
  EXPECT_EQ(chip.handlers[0].type, TaskType::nonspec);
  EXPECT_FALSE(chip.handlers[0].has_timestamp || chip.handlers[0].has_locale);
  ASSERT_EQ(chip.late_handlers.size(), 1U);
  EXPECT_EQ(chip.late_handlers[0].argument_count, 2U);
  ASSERT_EQ(chip.records.size(), 2U);
  for (const LineAddr record : chip.records) {
    EXPECT_EQ(HandlerArea::core_of(record), CoreId{0});
    EXPECT_EQ(chip.parts[0].l1d.state(record), LineState::modified) << "it was written";
  }
  EXPECT_NE(chip.records[0], chip.records[1]);
}

TEST(Capsule, OutsideOneASpeculativeTaskMustNotRegisterAHandlerOthersMayInVain) {
  for (const bool is_speculative : {true, false}) {
    CapsuleChip chip;
    chip.give(0, kBody, is_speculative);
    chip.end = chip.call_at;
    chip.emit(word(isa::TaskOp::capsule_on_abort));
    chip.start();
    EXPECT_EQ(chip.exceptions.size(), is_speculative ? 1U : 0U);
    EXPECT_EQ(chip.has_returned(), !is_speculative);
    EXPECT_TRUE(chip.handlers.empty());
  }
}

TEST(Capsule, RegistersSoManyHandlersACall) {
  for (const int more : {0, 1}) {
    CapsuleChip chip([](Config& c) { c.task.capsule_handlers = 3; });
    chip.give(0);
    for (int i = 0; i < 3 + more; ++i) chip.emit(word(isa::TaskOp::capsule_on_abort));
    chip.emit_return();
    chip.start();
    EXPECT_EQ(chip.handlers.size(), 3U);
    EXPECT_EQ(chip.has_returned(), more == 0);
    EXPECT_EQ(chip.faults, more == 0 ? std::vector<FaultKind>{} : std::vector{FaultKind::task_error});
  }
}

// P34
TEST(Capsule, WhatWouldStopItsTaskDoomsIt) {
  for (const CreateOutcome outcome : {CreateOutcome::stalled, CreateOutcome::exception}) {
    CapsuleChip chip;
    chip.give(0);
    chip.emit(word(isa::TaskOp::create));
    chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
    chip.emit_return();
    chip.on_create = [&](CoreId, Cycle, std::string&) { return outcome; };
    chip.start();
    EXPECT_TRUE(chip.dooms.empty()) << "run again it would find as little room";
    EXPECT_EQ(chip.doomed_by_exception.size(), 1U) << "so it is to be promoted";
    EXPECT_EQ(chip.creates.size(), 1U) << "it is not asked for again";
    EXPECT_EQ(chip.untracked(), kData);
    EXPECT_EQ(chip.doomed_ends.size(), 1U);
  }
}

TEST(Capsule, AnAccessThatWaitsForAnotherTaskDoomsItsTaskUnlessItIsForwarded) {
  for (const char* const forwarding : {"on", "stall"}) {
    CapsuleChip chip([&](Config& c) { c.conflict.forwarding = forwarding; });
    chip.give(0);
    chip.emit("sd", {.rs1 = 10, .rs2 = 10, .imm = 512});
    chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
    chip.emit_return();
    int refusals = 1;
    chip.parts[0].system.hook = [&](LineAddr line, AccessKind, Cycle, AccessResult& r) {
      if (line != line_of(kData + 512) || refusals-- <= 0) return;
      r.done = false;
      r.blocked = BlockReason::conflict_pending;
    };
    chip.at(1000, [&] { chip.core().access_ready(line_of(kData + 512), Cycle{1000}); });
    chip.start();
    const bool waits = std::string_view(forwarding) == "on";
    EXPECT_EQ(chip.dooms, waits ? std::vector<AbortCause>{} : std::vector{AbortCause::forwarding});
    EXPECT_EQ(chip.has_returned(), waits);
    EXPECT_EQ(chip.memory.load<std::uint64_t>(kData + 512), waits ? kData : 0U);
    EXPECT_EQ(chip.untracked(), kData);
  }
}

// P42
TEST(Capsule, AFaultOnTrackedMemoryDoomsIt) {
  CapsuleChip chip;
  chip.give(0);
  chip.emit("addi", {.rd = 12, .rs1 = 0, .imm = 64});
  chip.emit("ld", {.rd = 13, .rs1 = 12, .imm = 0});  // unmapped: 0
  chip.emit("sd", {.rs1 = 12, .rs2 = 10, .imm = 0});
  chip.emit("sd", {.rs1 = 11, .rs2 = 13, .imm = 8});
  chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
  chip.emit_return();
  chip.memory.store<std::uint64_t>(kUntracked + 8, 7);
  chip.start();
  EXPECT_EQ(chip.doomed_by_exception.size(), 1U);
  EXPECT_TRUE(chip.faults.empty());
  EXPECT_EQ(chip.untracked(), kData);
  EXPECT_EQ(chip.memory.load<std::uint64_t>(kUntracked + 8), 0U);
  EXPECT_EQ(chip.doomed_ends.size(), 1U);
}

TEST(Capsule, WhatOnlyItsOwnCodeCanCauseIsAnError) {
  for (const bool is_access : {true, false}) {
    CapsuleChip chip;
    chip.give(0);
    chip.memory.protect(kUntracked, kPage, Page::kRead | Page::kUntracked);
    if (is_access) {
      chip.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
    } else {
      chip.emit(word(isa::TaskOp::finish));  // is for the task
    }
    chip.start();
    EXPECT_EQ(chip.faults, std::vector{is_access ? FaultKind::store_access : FaultKind::illegal_instruction});
    EXPECT_TRUE(chip.doomed_by_exception.empty());
    EXPECT_TRUE(chip.exceptions.empty());
  }
}

TEST(Capsule, AReturnOutsideOneIsNoInstruction) {
  CapsuleChip chip;
  chip.give(0, kBody, false);
  chip.end = chip.call_at;
  chip.emit_return();
  chip.start();
  EXPECT_EQ(chip.faults, std::vector{FaultKind::illegal_instruction});
}

TEST(Capsule, WithoutCapsulesACallGivesNoRightsAndNoProtection) {
  CapsuleChip chip([](Config& c) { c.task.capsules = false; });
  Attempt& attempt = chip.give(0);
  for (int i = 4; i < 10; ++i) chip.emit("ld", {.rd = 5, .rs1 = 10, .imm = i * 64});
  chip.emit_return();
  chip.at(100, [&] {
    EXPECT_FALSE(chip.core().abort_task(Cycle{100}));
    chip.core().wake(Cycle{200});
  });
  chip.start();
  EXPECT_TRUE(chip.doomed_ends.empty());
  EXPECT_FALSE(chip.has_returned());
  EXPECT_GE(ScriptedChip::cycles(attempt), 100U);
}

// P105: each fault changes what a program sees.
class CapsuleFaults : public testing::TestWithParam<bool> {
 protected:
  CapsuleFaults() { chip_.give(0); }
  void start(CapsuleFault fault) {
    if (GetParam()) chip_.core().inject(fault, nullptr);
    chip_.start();
  }
  /// Its task reads untracked memory after the call.
  void emit_wild_load() {
    chip_.end = chip_.call_at + 4;
    chip_.emit("ld", {.rd = 12, .rs1 = 11, .imm = 0});
    chip_.emit("sd", {.rs1 = 10, .rs2 = 10, .imm = 256});
    chip_.emit(word(isa::TaskOp::finish));
  }
  CapsuleChip chip_;
};

TEST_P(CapsuleFaults, ALineThatACapsuleBroughtNeedsRights) {
  chip_.emit("ld", {.rd = 12, .rs1 = 11, .imm = 0});
  chip_.emit_return();
  emit_wild_load();
  start(CapsuleFault::untracked_hit_without_rights);
  EXPECT_EQ(chip_.has_returned(), GetParam());
  EXPECT_EQ(chip_.exceptions.size(), GetParam() ? 0U : 1U);
}

TEST_P(CapsuleFaults, RightsEndWithTheCall) {
  chip_.emit("ld", {.rd = 12, .rs1 = 11, .imm = 0});
  chip_.emit_return();
  emit_wild_load();
  start(CapsuleFault::rights_kept_after_return);
  EXPECT_EQ(chip_.has_returned(), GetParam());
  EXPECT_EQ(chip_.exceptions.size(), GetParam() ? 0U : 1U);
}

TEST_P(CapsuleFaults, AWildStackPointerIsRefused) {
  chip_.memory.store(kData + 16, std::uint64_t{kStackHigh + 16});
  chip_.emit_return();
  start(CapsuleFault::stack_unchecked);
  EXPECT_EQ(chip_.has_returned(), GetParam());
}

TEST_P(CapsuleFaults, AStoreConditionalOfALineThatWasTakenFails) {
  chip_.emit("lr.d", {.rd = 5, .rs1 = 11});
  for (int i = 4; i < 10; ++i) chip_.emit("ld", {.rd = 6, .rs1 = 10, .imm = i * 64});
  chip_.emit("sc.d", {.rd = 6, .rs1 = 11, .rs2 = 10});
  chip_.emit_return();
  bool was_there = false;
  chip_.at(130, [&] {
    L1Cache& l1 = chip_.parts[0].l1d;
    const std::uint32_t slot = l1.find(line_of(kUntracked));
    was_there = slot != L1Cache::kNoSlot && !chip_.has_returned();
    if (was_there) l1.invalidate(slot);
    l1.clear_reservation();  // as the memory system does at another core's store
  });
  start(CapsuleFault::sc_always_succeeds);
  EXPECT_TRUE(was_there);
  EXPECT_TRUE(chip_.has_returned());
  EXPECT_EQ(chip_.untracked(), GetParam() ? kData : 0U);
}

TEST_P(CapsuleFaults, WhatADoomedRunLoadsIsCheckedWhenTheNextTaskUsesIt) {
  for (int i = 4; i < 10; ++i) chip_.emit("ld", {.rd = 6, .rs1 = 10, .imm = i * 64});
  chip_.emit_return();
  constexpr Addr next = kBody + 512;
  chip_.end = next;
  chip_.emit("ld", {.rd = 6, .rs1 = 10, .imm = 9 * 64});
  chip_.emit(word(isa::TaskOp::finish));
  chip_.at(100, [&] {
    EXPECT_TRUE(chip_.core().abort_task(Cycle{100}));
    chip_.recorded.clear();
    chip_.give(0, next);
  });
  start(CapsuleFault::unchecked_load_marks);
  ASSERT_EQ(chip_.dispatched.size(), 2U);
  EXPECT_EQ(chip_.recorded, GetParam() ? std::vector<LineAddr>{} : std::vector{line_of(kData + 9 * 64)});
}

TEST_P(CapsuleFaults, ADoomedRunCreatesNothing) {
  for (int i = 4; i < 10; ++i) chip_.emit("ld", {.rd = 6, .rs1 = 10, .imm = i * 64});
  chip_.emit(word(isa::TaskOp::create));
  chip_.emit_return();
  chip_.at(100, [&] { EXPECT_TRUE(chip_.core().abort_task(Cycle{100})); });
  start(CapsuleFault::doomed_create_performed);
  EXPECT_TRUE(chip_.creates.empty());
  EXPECT_EQ(chip_.late_handlers.size(), GetParam() ? 1U : 0U);
  EXPECT_EQ(chip_.doomed_ends.size(), 1U);
}

TEST_P(CapsuleFaults, TheNextTaskBeginsOutsideTheCapsuleThatADoomedRunLeft) {
  for (int i = 4; i < 10; ++i) chip_.emit("ld", {.rd = 6, .rs1 = 10, .imm = i * 64});
  chip_.emit(word(isa::TaskOp::promote));  // which a doomed run ends at, without a return
  constexpr Addr next = kBody + 512;
  chip_.end = next;
  chip_.emit("ld", {.rd = 11, .rs1 = 10, .imm = 8});
  chip_.emit("sd", {.rs1 = 11, .rs2 = 10, .imm = 0});
  chip_.emit(word(isa::TaskOp::finish));
  chip_.at(100, [&] {
    EXPECT_TRUE(chip_.core().abort_task(Cycle{100}));
    chip_.give(0, next);
  });
  start(CapsuleFault::depth_survives_task);
  ASSERT_EQ(chip_.dispatched.size(), 2U);
  EXPECT_EQ(chip_.untracked(), GetParam() ? kData : 0U);
  EXPECT_EQ(chip_.exceptions.size(), GetParam() ? 0U : 1U);
}

TEST_P(CapsuleFaults, ACallThroughWhatIsNoEntryLeadsNowhere) {
  chip_.memory.store<std::uint64_t>(kData, kEntry + 8);
  chip_.emit_return();
  start(CapsuleFault::vector_unchecked);
  EXPECT_EQ(chip_.exceptions.size(), GetParam() ? 0U : 1U);
  EXPECT_EQ(chip_.faults.size(), GetParam() ? 1U : 0U) << "of code at address 0, by a capsule";
}

INSTANTIATE_TEST_SUITE_P(Chips, CapsuleFaults, testing::Values(false, true),
                         [](const auto& chip) { return chip.param ? "Faulty" : "Right"; });

}  // namespace
}  // namespace rubato::chip
