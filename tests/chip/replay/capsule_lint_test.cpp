// Findings of run.check_capsules in capsules (P104): on both sides of each bound.
// SPDX-License-Identifier: MIT
#include "chip/replay/capsule_lint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rubato::chip {
namespace {

using isa::Insn;
using isa::Op;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Addr kTracked = 0x20000, kUntracked = 0x30000, kConstant = 0x40000, kStack = 0x50000;
constexpr std::uint8_t a0 = reg::a0, a1 = reg::a1;

class CapsuleLintTest : public testing::Test {
 protected:
  CapsuleLintTest() {
    constexpr std::uint64_t page = AddressSpace::kPageBytes;
    memory_.map(kTracked, page, Page::kRead | Page::kWrite);
    memory_.map(kUntracked, page, Page::kRead | Page::kWrite | Page::kUntracked);
    memory_.map(kConstant, page, Page::kRead);
    memory_.map(kStack, page, Page::kRead | Page::kWrite);
    enter();
  }
  void enter(std::uint32_t core = 0) {
    depths_[core] = 1;
    execute({.op = Op::capsule_call}, 0, core);
  }
  void leave() {
    depths_[0] = 0;
    execute({.op = Op::capsule_return});
  }
  void execute(const Insn& insn, Addr address = 0, std::uint32_t core = 0, Addr pc = 0x10000) {
    lint_.on_instruction({.core = CoreId{core},
                          .issued = Cycle{1},
                          .pc = pc,
                          .insn = insn,
                          .registers = nullptr,
                          .address = address,
                          .has_access = address != 0});
  }
  void load(std::uint8_t base, Addr address, std::uint32_t core = 0) {
    execute({.op = Op::ld, .rd = a1, .rs1 = base, .bytes = 8, .flags = Insn::kLoads}, address, core);
  }
  void store(std::uint8_t base, Addr address) {
    execute({.op = Op::sd, .rs1 = base, .rs2 = a1, .bytes = 8, .flags = Insn::kStores}, address);
  }

  AddressSpace memory_;
  void mark(Addr pc, std::uint32_t core = 0) { execute({.op = Op::addi, .rd = a1, .rs1 = a1}, 0, core, pc); }
  /// Draws a ticket of the lock, as the chip does and shows.
  void draw(Addr lock, std::uint32_t core = 0) {
    const Insn insn{
        .op = Op::amoadd_w, .rd = a1, .rs1 = a0, .bytes = 4, .flags = Insn::kLoads | Insn::kStores};
    const auto ticket = memory_.load<std::uint32_t>(lock);
    tickets_.on_atomic(CoreId{core}, insn, kDraws, lock, ticket, Cycle{ticket});
    memory_.store<std::uint32_t>(lock, ticket + 1);
    execute(insn, lock, core, kDraws);
  }
  void take(Addr lock, std::uint32_t core = 0) {
    draw(lock, core);
    mark(kTaken, core);
  }

  static constexpr Addr kDraws = 0x100e0, kWanted = 0x100f0, kTaken = 0x10100, kReleased = 0x10200;
  static constexpr Addr kFirst = kUntracked + 64, kSecond = kUntracked + 128;
  Symbols symbols_;
  LockMarks locks_ = [] {
    LockMarks marks;
    marks.add(kWanted, LockMarks::Kind::wanted);
    marks.add(kTaken, LockMarks::Kind::taken);
    marks.add(kReleased, LockMarks::Kind::released);
    return marks;
  }();
  LockTickets tickets_{memory_, locks_, [](CoreId core) { return LockTickets::Runner{core.value + 7, 1}; }};
  std::uint32_t depths_[3] = {};
  std::string wrong_;
  CapsuleLint lint_{memory_,
                    symbols_,
                    locks_,
                    tickets_,
                    3,
                    [this](CoreId core) {
                      return CapsuleLint::Place{depths_[core.value], kStack, kStack + 4096};
                    },
                    [this](const std::string& s) { wrong_ = s; }};
};

TEST_F(CapsuleLintTest, WhatACallerPointsToIsItsOwn) {
  load(a0, kTracked);
  store(a0, kTracked + 8);
  EXPECT_THAT(wrong_, IsEmpty());
}

TEST_F(CapsuleLintTest, AddressesOfItsOwnMakingAreOfUntrackedMemoryOrOfConstants) {
  execute({.op = Op::auipc, .rd = a0});
  execute({.op = Op::addi, .rd = a0, .rs1 = a0});
  load(a0, kUntracked);
  load(a0, kConstant);
  EXPECT_THAT(wrong_, IsEmpty());
  load(a0, kTracked);
  EXPECT_THAT(wrong_, HasSubstr("accesses 0x20000, which tasks can write to"));
}

TEST_F(CapsuleLintTest, WhatIsLoadedIsNoAddressOfItsOwnMaking) {
  execute({.op = Op::auipc, .rd = a1});
  load(a1, kUntracked);  // into a1
  load(a1, kTracked);
  EXPECT_THAT(wrong_, IsEmpty());
}

TEST_F(CapsuleLintTest, GpIsTheProgramsAndTpTheCallers) {
  load(reg::gp, kUntracked);
  EXPECT_THAT(wrong_, IsEmpty());
  execute({.op = Op::lui, .rd = a1});
  execute({.op = Op::add, .rd = a1, .rs1 = a1, .rs2 = reg::tp});
  load(a1, kStack + 64);  // beside which thread-local variables may lie
  EXPECT_THAT(wrong_, HasSubstr("by tp"));
}

TEST_F(CapsuleLintTest, ItDoesNotReadBackWhatItStoredInTheSameCall) {
  store(a0, kTracked);
  store(a0, kStack + 8);
  load(a0, kStack + 8);
  load(a0, kTracked + 8);
  leave();
  enter();
  load(a0, kTracked);
  EXPECT_THAT(wrong_, IsEmpty());
  store(a0, kTracked + 4);
  load(a0, kTracked);
  EXPECT_THAT(wrong_, HasSubstr("loads what it has stored at 0x20000"));
}

TEST_F(CapsuleLintTest, ALockIsHeldAroundWorkOnUntrackedMemory) {
  load(a0, kTracked);
  mark(kTaken);
  load(a0, kUntracked);
  store(a0, kStack + 8);
  mark(kTaken);
  mark(kReleased);
  mark(kReleased);
  load(a0, kTracked);
  execute({.op = Op::task_create});
  leave();
  EXPECT_THAT(wrong_, IsEmpty());
}

TEST_F(CapsuleLintTest, WithALockHeldItMustNotAccessTrackedMemory) {
  mark(kTaken);
  mark(kTaken);
  mark(kReleased);
  load(a0, kTracked);
  EXPECT_THAT(wrong_, HasSubstr("accesses 0x20000, which is tracked, with a lock held"));
}

TEST_F(CapsuleLintTest, WithALockHeldItMustNotCreate) {
  mark(kTaken);
  execute({.op = Op::task_create});
  EXPECT_THAT(wrong_, HasSubstr("0x10000 creates a task with a lock held"));
}

TEST_F(CapsuleLintTest, WithALockHeldItMustNotEnd) {
  mark(kTaken);
  leave();
  EXPECT_THAT(wrong_, HasSubstr("0x10100 takes a lock that its capsule holds where it returns"));
}

TEST_F(CapsuleLintTest, ItMayWaitForALockWhoseHolderGoesOn) {
  enter(1);
  enter(2);
  take(kFirst, 1);
  draw(kFirst);
  draw(kFirst, 2);
  take(kSecond, 1);
  EXPECT_THAT(wrong_, IsEmpty());
}

TEST_F(CapsuleLintTest, ItMustNotWaitForALockThatItHolds) {
  take(kFirst);
  draw(kFirst);
  EXPECT_THAT(wrong_,
              HasSubstr("0x100e0 waits for the lock 0x30040, held by core 0 (task 7, in 0x100e0 since "
                        "cycle 0): for ever"));
}

TEST_F(CapsuleLintTest, HoldersMustNotWaitForEachOther) {
  enter(1);
  enter(2);
  take(kFirst);
  take(kSecond, 1);
  take(kUntracked, 2);
  draw(kSecond);
  draw(kUntracked, 1);
  EXPECT_THAT(wrong_, IsEmpty());
  draw(kFirst, 2);
  EXPECT_THAT(wrong_,
              HasSubstr("waits for the lock 0x30040, held by core 0 (task 7, in 0x100e0 since cycle 0), "
                        "which waits for the lock 0x30080, held by core 1 (task 8, in 0x100e0 since cycle "
                        "0), which waits for the lock 0x30000, held by core 2 (task 9, "));
}

TEST_F(CapsuleLintTest, WhoHasGotALockDoesNotWait) {
  enter(1);
  take(kFirst);
  take(kSecond, 1);
  draw(kSecond);
  memory_.store<std::uint32_t>(LockMarks::served_of(kSecond), 1);  // and core 0's turn has come
  draw(kFirst, 1);
  EXPECT_THAT(wrong_, IsEmpty());
}

TEST_F(CapsuleLintTest, OutsideCapsulesAndOnOtherCoresAllIsAllowed) {
  execute({.op = Op::auipc, .rd = a0});
  load(a0, kTracked, 1);
  leave();
  load(reg::tp, kTracked);
  EXPECT_THAT(wrong_, IsEmpty());
}

}  // namespace
}  // namespace rubato::chip
