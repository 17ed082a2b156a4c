// Holder of a lock, from the tickets that were drawn (P53).
// SPDX-License-Identifier: MIT
#include "chip/os/lock_tickets.hpp"

#include <gtest/gtest.h>

namespace rubato::chip {
namespace {

constexpr Addr kLock = 0x30000, kOther = 0x30040, kDraws = 0x10000, kElsewhere = 0x10200;

class LockTicketsTest : public testing::Test {
 protected:
  LockTicketsTest() {
    memory_.map(kLock, AddressSpace::kPageBytes, Page::kRead | Page::kWrite);
    marks_.add(kDraws + 8, LockMarks::Kind::wanted);
    marks_.add(kDraws + 32, LockMarks::Kind::taken);
    marks_.add(kElsewhere + 32, LockMarks::Kind::released);
  }
  void draw(std::uint32_t core, Addr lock = kLock, Addr pc = kDraws, isa::Op op = isa::Op::amoadd_w) {
    const auto ticket = memory_.load<std::uint32_t>(lock);
    tickets_.on_atomic(CoreId{core}, {.op = op}, pc, lock, ticket, Cycle{++cycle_});
    memory_.store<std::uint32_t>(lock, ticket + 1);
  }
  void serve(std::uint32_t ticket, Addr lock = kLock) {
    memory_.store<std::uint32_t>(LockMarks::served_of(lock), ticket);
  }
  /// 99: the lock has no holder.
  std::uint32_t holder(Addr lock = kLock) const {
    const LockTickets::Draw* const found = tickets_.holder(lock);
    return found != nullptr ? found->core.value : 99;
  }

  AddressSpace memory_;
  LockMarks marks_;
  std::uint64_t cycle_ = 0;
  LockTickets tickets_{memory_, marks_, [](CoreId core) {
                         return LockTickets::Runner{core.value == 0 ? 0u : 10u + core.value, 5};
                       }};
};

TEST_F(LockTicketsTest, WhoseTicketIsServedHoldsTheLock) {
  EXPECT_EQ(holder(), 99u);
  draw(1);
  draw(2);
  draw(3, kOther);
  EXPECT_EQ(holder(), 1u);
  EXPECT_EQ(holder(kOther), 3u);
  EXPECT_TRUE(tickets_.has_turn(CoreId{1}, kLock));
  EXPECT_FALSE(tickets_.has_turn(CoreId{2}, kLock));
  serve(1);
  EXPECT_EQ(holder(), 2u);
  EXPECT_TRUE(tickets_.has_turn(CoreId{2}, kLock));
  serve(2);
  EXPECT_EQ(holder(), 99u);
}

TEST_F(LockTicketsTest, WhoWaitsForItselfHasNotItsTurn) {
  draw(1);
  draw(1);
  EXPECT_EQ(holder(), 1u);
  EXPECT_FALSE(tickets_.has_turn(CoreId{1}, kLock));
}

TEST_F(LockTicketsTest, OnlyTheDrawBeforeAWaitCounts) {
  draw(1, kLock, kDraws, isa::Op::amoor_w);
  draw(1, kLock, kElsewhere);
  draw(1, kLock, kElsewhere + 64);
  EXPECT_EQ(holder(), 99u);
}

TEST_F(LockTicketsTest, ATicketThatWasUndoneIsDrawnAgain) {
  draw(1);
  draw(2);
  memory_.store<std::uint32_t>(kLock, 0);  // both are aborted
  draw(3);
  EXPECT_EQ(holder(), 3u);
  serve(1);
  EXPECT_EQ(holder(), 99u);
}

TEST_F(LockTicketsTest, NumbersWrapAround) {
  const std::uint32_t last = ~std::uint32_t{0};
  memory_.store<std::uint32_t>(kLock, last);
  serve(last);
  draw(1);
  draw(2);
  EXPECT_EQ(holder(), 1u);
  serve(0);
  EXPECT_EQ(holder(), 2u);
}

TEST_F(LockTicketsTest, ItSaysWhoAndWhere) {
  draw(2);
  draw(0, kOther);
  EXPECT_EQ(LockTickets::describe(*tickets_.holder(kLock), {}), "core 2 (task 12, in 0x10000 since cycle 1)");
  EXPECT_EQ(LockTickets::describe(*tickets_.holder(kOther), {}), "thread 5 (in 0x10000 since cycle 2)");
}

}  // namespace
}  // namespace rubato::chip
