// A thread that loses to one owner again and again, in all orders (T48).
// SPDX-License-Identifier: MIT
#include "tm/thread/losses.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tests/tm/explored.hpp"
#include "tm/thread/gate.hpp"

namespace rubato::tm {
namespace {

struct Arena {
  Lines<Explored> lines;
  Gate<Explored> gate{lines};
  Line<Explored> owner, other;
  Losses<Explored> losses;
  bool is_inside = false, was_early = false, has_waited = false;
  int finished = 0;
};
std::unique_ptr<Arena> arena;

void own_a_record() {
  Arena& a = *arena;
  a.gate.try_enter(a.owner);
  a.is_inside = true;
  for (int i = 0; i < 3; ++i) Explorer::step();
  a.is_inside = false;
  a.gate.leave(a.owner);
  ++a.finished;
}

/// Loses `times` to the owner, once it is inside, and then calls give_way().
void lose(int times) {
  Arena& a = *arena;
  Explorer::block([] { return arena->is_inside || arena->finished != 0; });
  const bool was_inside = a.is_inside;
  for (int i = 0; i < times; ++i) {
    a.losses.meet(a.owner);
    a.losses.count(i == 0);
  }
  a.losses.give_way();
  a.was_early |= was_inside && a.is_inside;
  a.has_waited |= was_inside && !a.is_inside;
  ++a.finished;
}

struct Seen {
  bool was_early = false, waits_ever = false;
};
Seen explore(int times) {
  Seen seen;
  Explorer::sample(
      3000,
      [times] {
        arena = std::make_unique<Arena>();
        Explored::wakes().clear();
        return Explorer::Bodies{own_a_record, [times] { lose(times); }};
      },
      [&] {
        seen.was_early |= arena->was_early;
        seen.waits_ever |= arena->finished != 2;
      },
      [] { return false; });
  return seen;
}

TEST(Losses, FromTheFourthOnTheOwnersEndIsWaitedFor) {
  const Seen seen = explore(4);
  EXPECT_FALSE(seen.was_early);
  EXPECT_FALSE(seen.waits_ever);
}
TEST(Losses, UpToTheThirdNobodyIsWaitedFor) { EXPECT_TRUE(explore(3).was_early); }

TEST(Losses, AnotherOwnerOrTransactionStartsANewRow) {
  Line<Explored> one, two;
  one.slot.store(1, std::memory_order_relaxed);  // inside for ever: to wait for it would hang
  two.slot.store(1, std::memory_order_relaxed);
  Losses<Explored> losses;
  for (int i = 0; i < 12; ++i) {
    losses.meet(i % 3 == 0 ? two : one);
    losses.count(false);
    losses.give_way();
  }
  for (int i = 0; i < 12; ++i) {
    losses.meet(one);
    losses.count(i % 3 == 0);
    losses.give_way();
  }
  losses.count(false);  // to an unknown owner
  losses.give_way();
}

}  // namespace
}  // namespace rubato::tm
