// The replay checker against runs told by hand (C19): it accepts those that have a serial order and names the
// first thing that is wrong with every other.
// SPDX-License-Identifier: MIT
#include "chip/replay/replay_checker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "chip/isa/task_instructions.hpp"
#include "tests/chip/isa/machine.hpp"

namespace rubato::chip {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Addr kStack = 0x400000, kStackEnd = kStack + AddressSpace::kPageBytes;
constexpr Addr kUntracked = 0x500000;
constexpr unsigned a0 = reg::a0, a1 = reg::a1, sp = reg::sp;

std::uint32_t task_instruction(isa::TaskOp op, std::uint32_t imm = 0) {
  return isa::kCustom0 | static_cast<std::uint32_t>(op) << 12 | imm << 20;
}

/// Two cores whose tasks a test runs by hand: it says what they load, the checker what it thinks of it.
class ReplayChecker : public ::testing::Test {
 protected:
  void SetUp() override {
    machine.memory.map(kStack, 2 * AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
    // increment(word): *word += 1
    increment = machine.end();
    machine.emit("ld", {.rd = a1, .rs1 = a0});
    machine.emit("addi", {.rd = a1, .rs1 = a1, .imm = 1});
    machine.emit("sd", {.rs1 = a0, .rs2 = a1});
    machine.emit(task_instruction(isa::TaskOp::finish));
    // create(word): creates increment(word), then loads the word
    creator = machine.end();
    machine.emit("auipc", {.rd = reg::a7});
    machine.emit("addi",
                 {.rd = reg::a7, .rs1 = reg::a7, .imm = static_cast<std::int32_t>(increment - creator)});
    machine.emit(task_instruction(isa::TaskOp::create, 1 | 1 << isa::CreateFlags::kArgumentsShift));
    machine.emit("ld", {.rd = a1, .rs1 = a0});
    machine.emit(task_instruction(isa::TaskOp::finish));
    // stack(word): *word = what its stack happens to hold, then what it has put there
    stack = machine.end();
    machine.emit("ld", {.rd = a1, .rs1 = sp, .imm = -16});
    machine.emit("sd", {.rs1 = a0, .rs2 = a1});
    machine.emit("sd", {.rs1 = sp, .rs2 = a0, .imm = -16});
    machine.emit("ld", {.rd = a1, .rs1 = sp, .imm = -16});
    machine.emit(task_instruction(isa::TaskOp::finish));
    // what the simulator serves; frees(block): reads the block first; takes(): writes to the block it gets
    heap = machine.end();
    machine.emit("ebreak");
    const auto call_heap = [&] {
      machine.emit("jal", {.rd = reg::ra, .imm = static_cast<std::int32_t>(heap - machine.end())});
    };
    frees = machine.end();
    machine.emit("ld", {.rd = a1, .rs1 = a0});
    call_heap();
    machine.emit(task_instruction(isa::TaskOp::finish));
    takes = machine.end();
    call_heap();
    machine.emit("sd", {.rs1 = a0, .rs2 = a0});
    machine.emit(task_instruction(isa::TaskOp::finish));
    // passes(block, untracked): reads the block, says in untracked memory that it may be taken, and waits;
    // gets(block, untracked): sees that, and writes to the block
    passes = machine.end();
    machine.emit("ld", {.rd = a1, .rs1 = a0});
    machine.emit("sd", {.rs1 = reg::a1 + 1, .rs2 = a0});
    machine.emit("ecall");
    machine.emit(task_instruction(isa::TaskOp::finish));
    gets = machine.end();
    machine.emit(task_instruction(isa::TaskOp::read, 3) | reg::a0 << 7);
    machine.emit("ld", {.rd = a1, .rs1 = reg::a1 + 1});
    machine.emit("sd", {.rs1 = a1, .rs2 = a1});
    machine.emit(task_instruction(isa::TaskOp::finish));
    // registers(word): a handler with one argument
    registers = machine.end();
    machine.emit(task_instruction(isa::TaskOp::capsule_on_abort, 1 << isa::CreateFlags::kArgumentsShift));
    machine.emit(task_instruction(isa::TaskOp::finish));
    machine.memory.map(kUntracked, AddressSpace::kPageBytes, Page::kRead | Page::kWrite | Page::kUntracked);
    checker.begin_region({{kStack, kStackEnd}, {kStackEnd, kStackEnd + AddressSpace::kPageBytes}},
                         {{heap, 0}});
  }

  TaskDescriptor task(Addr function, std::optional<Timestamp> at = {}, std::optional<Locale> on = {}) const {
    TaskDescriptor d;
    d.function = function;
    d.has_timestamp = at.has_value();
    d.timestamp = at.value_or(0);
    d.has_locale = on.has_value();
    d.locale = on.value_or(0);
    d.type = TaskType::nonspec;
    d.argument_count = 1;
    d.arguments[0] = isa::test::kData;
    return d;
  }
  TaskDescriptor spec(Locale on) const {
    TaskDescriptor d = task(increment, {}, on);
    d.type = TaskType::spec;
    return d;
  }
  void create(std::uint64_t id, const TaskDescriptor& d) {
    checker.on_created(id, 0, d, CoreId{0}, Cycle{0});
  }
  void dispatch(std::uint64_t id, std::uint32_t core, std::uint64_t now) {
    DispatchedTask task;
    task.id = id;
    checker.on_dispatched(CoreId{core}, task, Cycle{now});
    HartState hart;
    hart.x[sp] = kStackEnd;
    checker.on_begin(CoreId{core}, hart);
  }
  /// A call by the code of `task`, at its `instruction`.
  void call_heap(std::uint64_t id, std::uint32_t core, Addr task, unsigned instruction, Addr taken,
                 Addr freed) {
    HartState hart;
    hart.pc = heap;
    hart.x[a0] = isa::test::kData;
    checker.enter_heap(id, hart);
    hart.pc = task + 4 * (instruction + 1);
    checker.leave_heap(CoreId{core}, hart, true, taken, freed);
  }
  void finish(std::uint64_t id, std::uint32_t core, std::uint64_t now) {
    checker.on_finished(id, CoreId{core}, Cycle{now});
  }
  void commit(std::uint64_t id) { checker.on_committed(id, CoreId{0}, Cycle{1000}, false); }
  /// The whole of increment(): it loads `value`.
  void run_increment(std::uint64_t id, std::uint32_t core, std::uint64_t now, std::uint64_t value) {
    dispatch(id, core, now);
    checker.on_load(CoreId{core}, isa::test::kData, 8, value);
    checker.on_store(CoreId{core}, isa::test::kData, 8);
    machine.memory.store<std::uint64_t>(isa::test::kData, value + 1);
    finish(id, core, now + 10);
  }

  static Config two_cores() {
    Config config;
    config.chip.cores = 2;
    return config;
  }

  isa::test::Machine machine;
  Symbols symbols;
  std::string wrong;
  rubato::chip::ReplayChecker checker{machine.memory, symbols, two_cores(),
                                      [this](const std::string& s) { wrong = s; }};
  Addr increment = 0, creator = 0, stack = 0, heap = 0, frees = 0, takes = 0, passes = 0, gets = 0,
       registers = 0;
};

TEST_F(ReplayChecker, AcceptsASerialRunWhateverTheTimesAtWhichTasksRan) {
  create(1, task(increment, 5));
  create(2, task(increment, 6));
  run_increment(1, 0, 100, 0);
  run_increment(2, 1, 90, 1);
  commit(1);
  commit(2);
  checker.end_region();
  EXPECT_THAT(wrong, IsEmpty());
}

TEST_F(ReplayChecker, NamesALoadThatMissedAnEarlierStoreAndWhoStored) {
  create(1, task(increment));
  create(2, task(increment));
  run_increment(1, 0, 100, 0);
  run_increment(2, 1, 100, 0);
  commit(1);
  commit(2);
  EXPECT_THAT(wrong, AllOf(HasSubstr("task 2 "), HasSubstr("loaded 0x0 (8 bytes at 0x200000"),
                           HasSubstr("serial order gives 0x1"), HasSubstr("task 1 ")));
}

TEST_F(ReplayChecker, ForgetsAbortedAttempts) {
  create(1, task(increment));
  create(2, task(increment));
  run_increment(2, 1, 50, 7);
  checker.on_aborted(2, CoreId{1}, {.cause = AbortCause::conflict}, false, Cycle{60});
  run_increment(1, 0, 100, 0);
  run_increment(2, 1, 100, 1);
  commit(1);
  commit(2);
  checker.end_region();
  EXPECT_THAT(wrong, IsEmpty());
}

TEST_F(ReplayChecker, ComparesTheHandlersThatATaskRegisters) {
  for (const Addr argument : {isa::test::kData, isa::test::kData + 8}) {
    const bool is_same = argument == isa::test::kData;
    const std::uint64_t id = is_same ? 1 : 2;
    create(id, task(registers));
    dispatch(id, 0, 100 * id);
    TaskDescriptor handler = task(0);
    handler.arguments[0] = argument;
    checker.on_handler(CoreId{0}, handler);
    finish(id, 0, 100 * id + 10);
    commit(id);
    EXPECT_EQ(wrong.empty(), is_same);
  }
  EXPECT_THAT(wrong, HasSubstr("registered an abort handler with other operands"));
}

TEST_F(ReplayChecker, NoticesAHandlerThatWasNotRegistered) {
  create(1, task(registers));
  dispatch(1, 0, 100);
  finish(1, 0, 110);
  commit(1);
  EXPECT_THAT(wrong, HasSubstr("registration of an abort handler"));
}

TEST_F(ReplayChecker, ComparesTheFinalMemory) {
  create(1, task(increment));
  run_increment(1, 0, 100, 0);
  commit(1);
  machine.memory.store<std::uint64_t>(isa::test::kData + 64, 3);
  checker.end_region();
  EXPECT_THAT(wrong, AllOf(HasSubstr("0x200040"), HasSubstr("is 0x3"), HasSubstr("gives 0x0")));
}

TEST_F(ReplayChecker, RefusesDecreasingTimestamps) {
  create(1, task(increment, 5));
  create(2, task(increment, 4));
  run_increment(1, 0, 100, 0);
  run_increment(2, 0, 120, 1);
  commit(1);
  commit(2);
  EXPECT_THAT(wrong, AllOf(HasSubstr("task 2 "), HasSubstr("commits after a task with timestamp 5")));
}

TEST_F(ReplayChecker, RefusesTasksOfOneLocaleThatOverlapInTime) {
  create(1, task(increment, {}, 9));
  create(2, task(increment, {}, 9));
  run_increment(1, 0, 100, 0);
  run_increment(2, 1, 109, 1);
  commit(1);
  commit(2);
  EXPECT_THAT(wrong, AllOf(HasSubstr("task 2 "), HasSubstr("while task 1 with the same locale")));
}

// task.mapper=random sends SPEC tasks anywhere: their locales keep away the tasks of their tile.
struct RandomlyMapped : ReplayChecker {
  /// Two tasks of one locale at once, on core 0 and on `core`.
  void overlap(const TaskDescriptor& first, const TaskDescriptor& second, std::uint32_t core) {
    OrderCheck order(true, 2);
    AttemptRecord a, b;
    a.id = 1, b.id = 2;
    a.descriptor = first, b.descriptor = second;
    b.core = CoreId{core};
    a.dispatched = Cycle{100}, a.finished = Cycle{110};
    b.dispatched = Cycle{109}, b.finished = Cycle{119};
    order.expect(1, 0);
    order.expect(2, 0);
    EXPECT_THAT(order.commit(a), IsEmpty());
    wrong = order.commit(b);
  }
};

TEST_F(RandomlyMapped, SpecTasksOfOneLocaleOverlapOnDifferentTiles) {
  overlap(spec(9), spec(9), 2);
  EXPECT_THAT(wrong, IsEmpty());
  overlap(spec(9), task(increment, {}, 9), 2);
  EXPECT_THAT(wrong, IsEmpty());
}

TEST_F(RandomlyMapped, NoTasksOfOneLocaleOverlapOnOneTile) {
  overlap(spec(9), spec(9), 1);
  EXPECT_THAT(wrong, HasSubstr("while task 1 with the same locale"));
  overlap(task(increment, {}, 9), spec(9), 1);
  EXPECT_THAT(wrong, HasSubstr("while task 1 with the same locale"));
}

TEST_F(RandomlyMapped, OthersOfOneLocaleOverlapNowhere) {
  overlap(task(increment, {}, 9), task(increment, {}, 9), 2);
  EXPECT_THAT(wrong, HasSubstr("while task 1 with the same locale"));
}

TEST_F(ReplayChecker, AcceptsTasksOfOneLocaleOneRightAfterTheOther) {
  create(1, task(increment, {}, 9));
  create(2, task(increment, {}, 9));
  run_increment(1, 0, 100, 0);
  run_increment(2, 1, 110, 1);
  commit(1);
  commit(2);
  checker.end_region();
  EXPECT_THAT(wrong, IsEmpty());
}

TEST_F(ReplayChecker, MissesATaskThatNeverCommits) {
  create(1, task(increment));
  checker.end_region();
  EXPECT_THAT(wrong, AllOf(HasSubstr("1 task "), HasSubstr("task 1")));
}

TEST_F(ReplayChecker, MissesAChildOfAnAbortedAttemptUnlessItIsDiscarded) {
  const auto create_and_abort = [&](std::uint64_t child, std::uint64_t now) {
    dispatch(1, 0, now);
    checker.on_created(child, 1, task(increment), CoreId{0}, Cycle{now + 1});
    checker.on_aborted(1, CoreId{0}, {.cause = AbortCause::conflict}, false, Cycle{now + 2});
  };
  create(1, task(increment));
  create_and_abort(2, 100);
  checker.on_discarded(2, Cycle{104});
  create_and_abort(3, 110);
  run_increment(1, 0, 120, 0);
  commit(1);
  EXPECT_THAT(wrong, IsEmpty());
  checker.end_region();
  EXPECT_THAT(wrong, AllOf(HasSubstr("1 task "), HasSubstr("task 3, created by task 1")));
}

TEST_F(ReplayChecker, RefusesACommitOfATaskWhoseParentHasNotCommitted) {
  create(1, task(creator));
  dispatch(1, 0, 100);
  checker.on_created(2, 1, task(increment), CoreId{0}, Cycle{101});
  finish(1, 0, 110);
  dispatch(2, 1, 120);
  finish(2, 1, 130);
  commit(2);
  EXPECT_THAT(wrong, AllOf(HasSubstr("task 2 "), HasSubstr("no committed task has created it")));
}

TEST_F(ReplayChecker, ReplaysAParentThatStillRunsAsFarAsTheCreation) {
  create(1, task(creator));
  dispatch(1, 0, 100);
  checker.on_created(2, 1, task(increment), CoreId{0}, Cycle{101});
  // The child commits while its parent runs, which then sees what the child wrote.
  run_increment(2, 1, 110, 0);
  commit(2);
  checker.on_load(CoreId{0}, isa::test::kData, 8, 1);
  finish(1, 0, 200);
  commit(1);
  checker.end_region();
  EXPECT_THAT(wrong, IsEmpty());
}

TEST_F(ReplayChecker, ReplaysATaskThatStillRunsAsFarAsItFreesWhatAnotherIsGiven) {
  create(1, task(frees));
  create(2, task(takes));
  dispatch(1, 0, 100);
  checker.on_load(CoreId{0}, isa::test::kData, 8, 0);
  call_heap(1, 0, frees, 1, 0, isa::test::kData);
  dispatch(2, 1, 110);
  call_heap(2, 1, takes, 0, isa::test::kData, 0);
  checker.on_store(CoreId{1}, isa::test::kData, 8);
  machine.memory.store<std::uint64_t>(isa::test::kData, isa::test::kData);
  finish(2, 1, 120);
  commit(2);
  finish(1, 0, 130);
  commit(1);
  checker.end_region();
  EXPECT_THAT(wrong, IsEmpty());
}

// A block of capalloc changes hands so: its new owner may commit while the old one waits.
TEST_F(ReplayChecker, ReplaysATaskAsFarAsItWaitsBeforeThoseThatUseUntrackedMemoryThen) {
  for (const bool is_used : {true, false}) {
    SetUp();
    const auto with_untracked = [&](Addr function) {
      TaskDescriptor d = task(function);
      d.argument_count = 3;
      d.arguments[2] = kUntracked;
      return d;
    };
    create(1, with_untracked(passes));
    create(2, with_untracked(is_used ? gets : increment));
    dispatch(1, 0, 100);
    checker.on_load(CoreId{0}, isa::test::kData, 8, 0);
    checker.on_store(CoreId{0}, kUntracked, 8);
    checker.enter_kernel(1);
    checker.leave_kernel();
    checker.on_suspended(1, CoreId{0}, Cycle{105});
    if (is_used) {
      dispatch(2, 1, 110);
      checker.on_task_read(CoreId{1}, 3, 0);
      checker.on_load(CoreId{1}, kUntracked, 8, isa::test::kData);
      checker.on_store(CoreId{1}, isa::test::kData, 8);
      machine.memory.store<std::uint64_t>(isa::test::kData, isa::test::kData);
      finish(2, 1, 120);
    } else {
      run_increment(2, 1, 110, 0);
    }
    commit(2);
    DispatchedTask again;
    again.id = 1;
    checker.on_resumed(CoreId{0}, again, Cycle{130});
    HartState after;
    after.pc = passes + 12;
    checker.on_kernel_exit(CoreId{0}, after);
    finish(1, 0, 140);
    commit(1);
    checker.end_region();
    // Nothing else orders the two: then the first is replayed when it has ended, after what it did not see.
    EXPECT_EQ(wrong.empty(), is_used) << wrong;
  }
}

TEST_F(ReplayChecker, RefusesOtherArgumentsOfAHeapFunctionThanInTheReplay) {
  create(1, task(takes));
  dispatch(1, 0, 100);
  HartState hart;
  hart.pc = heap;
  hart.x[a0] = isa::test::kData + 8;
  checker.enter_heap(1, hart);
  hart.pc = takes + 4;
  checker.leave_heap(CoreId{0}, hart, true, 0, 0);
  finish(1, 0, 110);
  commit(1);
  EXPECT_THAT(wrong, AllOf(HasSubstr("argument 0 0x200000"), HasSubstr("it was 0x200008")));
}

TEST_F(ReplayChecker, TakesWhatAStackHeldBeforeFromTheChipAndComparesWhatTheTaskPutThere) {
  create(1, task(stack));
  dispatch(1, 0, 100);
  checker.on_load(CoreId{0}, kStackEnd - 16, 8, 0xdead);
  checker.on_store(CoreId{0}, isa::test::kData, 8);
  checker.on_store(CoreId{0}, kStackEnd - 16, 8);
  checker.on_load(CoreId{0}, kStackEnd - 16, 8, 1);  // but it is the address that it stored
  finish(1, 0, 110);
  commit(1);
  EXPECT_THAT(wrong, AllOf(HasSubstr("loaded 0x1 "), HasSubstr("gives 0x200000")));
}

TEST_F(ReplayChecker, RefusesOtherAddressesThanInTheReplay) {
  create(1, task(increment));
  dispatch(1, 0, 100);
  checker.on_load(CoreId{0}, isa::test::kData + 8, 8, 0);
  finish(1, 0, 110);
  commit(1);
  EXPECT_THAT(wrong, AllOf(HasSubstr("0x200000"), HasSubstr("0x200008")));
}

}  // namespace
}  // namespace rubato::chip
