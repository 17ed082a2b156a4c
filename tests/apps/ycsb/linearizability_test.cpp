// The checker: small histories with known answers, and the fast ways against the search on random ones.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/linearizability.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.hpp"

namespace rubato::apps::ycsb {
namespace {

KeyEvent found(std::uint64_t from, std::uint64_t to, Value value) {
  return {from, to, Kind::lookup, 0, {value, true}};
}
KeyEvent nothing(std::uint64_t from, std::uint64_t to) { return {from, to, Kind::lookup, 0, {}}; }
KeyEvent updated(std::uint64_t from, std::uint64_t to, Value value) {
  return {from, to, Kind::update, value, {0, true}};
}
KeyEvent inserted(std::uint64_t from, std::uint64_t to, Value value) {
  return {from, to, Kind::insert, value, {}};
}
KeyEvent added(std::uint64_t from, std::uint64_t to, Value before) {
  return {from, to, Kind::add, 1, {before, true}};
}
KeyEvent removed(std::uint64_t from, std::uint64_t to, Value before) {
  return {from, to, Kind::remove, 0, {before, true}};
}

/// Both ways must say the same.
Verdict judge(const std::vector<KeyEvent>& events, KeyState initial) {
  const Verdict verdict = check_key(events, initial).verdict;
  EXPECT_EQ(verdict, check_key_by_search(events, initial).verdict);
  return verdict;
}
constexpr Verdict kYes = Verdict::linearizable, kNo = Verdict::not_linearizable;

TEST(Register, FindsTheLatestValue) {
  EXPECT_EQ(judge({}, {}), kYes);
  EXPECT_EQ(judge({found(1, 2, 7)}, 7), kYes);
  EXPECT_EQ(judge({found(1, 2, 8)}, 7), kNo) << "never written";
  EXPECT_EQ(judge({updated(1, 2, 8), found(3, 4, 8)}, 7), kYes);
  EXPECT_EQ(judge({updated(1, 2, 8), found(3, 4, 7)}, 7), kNo) << "replaced before";
  EXPECT_EQ(judge({found(1, 2, 8), updated(3, 4, 8)}, 7), kNo) << "from the future";
}

TEST(Register, LetsConcurrentRequestsTakeEffectInAnyOrder) {
  EXPECT_EQ(judge({updated(1, 10, 8), found(3, 4, 7), found(5, 6, 8)}, 7), kYes);
  EXPECT_EQ(judge({updated(1, 10, 8), found(3, 4, 8), found(5, 6, 7)}, 7), kNo) << "back to the old value";
  EXPECT_EQ(judge({updated(1, 4, 8), updated(2, 5, 9), found(6, 7, 8)}, 7), kYes);
  EXPECT_EQ(judge({updated(1, 4, 8), updated(2, 5, 9), found(6, 7, 8), found(8, 9, 9)}, 7), kNo);
  EXPECT_EQ(judge({updated(1, 2, 8), found(2, 3, 7)}, 7), kYes) << "at the same moment counts as concurrent";
}

TEST(Register, SeesAWriteInTheMiddleOfAnotherValuesTime) {
  // 8 was found at 2 and at 9, and 9 written in between.
  EXPECT_EQ(judge({updated(1, 10, 8), found(2, 3, 8), updated(4, 5, 9), found(8, 9, 8)}, 7), kNo);
}

TEST(Register, IsAbsentUntilItIsInserted) {
  EXPECT_EQ(judge({nothing(1, 2), inserted(3, 4, 5), found(5, 6, 5)}, {}), kYes);
  EXPECT_EQ(judge({inserted(3, 4, 5), nothing(5, 6)}, {}), kNo);
  EXPECT_EQ(judge({found(1, 2, 5), inserted(3, 4, 5)}, {}), kNo);
  EXPECT_EQ(judge({inserted(1, 2, 5), inserted(3, 4, 6)}, {}), kNo) << "both found nothing";
  EXPECT_EQ(judge({nothing(1, 2)}, 7), kNo);
  EXPECT_EQ(judge({inserted(1, 2, 8)}, 7), kNo);
  EXPECT_EQ(judge({updated(1, 2, 5)}, {}), kNo);
  EXPECT_EQ(judge({inserted(1, 10, 5), updated(2, 3, 6), found(11, 12, 6)}, {}), kYes);
  EXPECT_EQ(judge({inserted(1, 10, 5), updated(2, 3, 6), found(11, 12, 5)}, {}), kNo)
      << "the inserted value is the first";
}

TEST(Counter, CountsEveryAddition) {
  EXPECT_EQ(judge({added(1, 2, 5), added(3, 4, 6), found(5, 6, 7)}, 5), kYes);
  EXPECT_EQ(judge({added(1, 2, 5), added(3, 4, 5), found(5, 6, 6)}, 5), kNo) << "one is lost";
  EXPECT_EQ(judge({added(1, 2, 5), added(3, 4, 6), found(5, 6, 6)}, 5), kNo) << "stale";
  EXPECT_EQ(judge({added(1, 9, 6), added(2, 8, 5), found(10, 11, 7)}, 5), kYes);
  EXPECT_EQ(judge({added(1, 2, 6), added(3, 4, 5)}, 5), kNo) << "in the wrong order";
  EXPECT_EQ(judge({added(1, 2, 5), found(3, 4, 9)}, 5), kNo);
}

TEST(Search, KnowsRemovals) {
  EXPECT_EQ(judge({removed(1, 2, 7), nothing(3, 4), inserted(5, 6, 8), removed(7, 8, 8), nothing(9, 10)}, 7),
            kYes);
  EXPECT_EQ(judge({removed(1, 2, 7), found(3, 4, 7)}, 7), kNo);
  EXPECT_EQ(judge({removed(1, 2, 7), removed(3, 4, 7)}, 7), kNo);
  EXPECT_EQ(judge({removed(1, 9, 7), nothing(2, 3), inserted(4, 5, 8), found(6, 7, 8)}, 7), kYes);
}

TEST(Search, GivesUpInsteadOfGuessing) {
  std::vector<KeyEvent> events;
  for (Value v = 0; v < 70; ++v) events.push_back(updated(1, 2, v));
  EXPECT_EQ(check_key_by_search(events, 100).verdict, Verdict::undecided);
  EXPECT_EQ(check_key(events, 100).verdict, kYes) << "zones decide any number";
}

/// A history of `count` requests that a correct register or counter could have had: requests overlap, and
/// take effect one after the other.
std::vector<KeyEvent> random_history(Rng& rng, unsigned count, bool is_counter, KeyState state) {
  std::vector<KeyEvent> events;
  Value next = 1000;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t moment = 1000 + 10 * i;
    KeyEvent e{moment - rng.below(60), moment + rng.below(60), Kind::lookup, 0, {}};
    e.answer = {state.value_or(0), state.has_value()};
    const std::uint64_t what = rng.below(3);
    if (what == 1 && is_counter) {
      e.kind = Kind::add;
      e.argument = 1;
      ++*state;
    } else if (what == 1) {
      e.kind = Kind::update;
      e.argument = next++;
      if (state) state = e.argument;
    } else if (what == 2 && !is_counter) {
      e.kind = Kind::insert;
      e.argument = next++;
      if (!state) state = e.argument;
    }
    events.push_back(e);
  }
  return events;
}

TEST(Life, HasOneBeginningAndOneEnd) {
  EXPECT_EQ(judge({nothing(1, 2), inserted(3, 6, 5), found(4, 7, 5), removed(5, 9, 5), nothing(8, 10)}, {}),
            kYes);
  EXPECT_EQ(judge({inserted(1, 2, 5), nothing(3, 4), removed(5, 6, 5)}, {}), kNo);
  EXPECT_EQ(judge({inserted(1, 9, 5), nothing(3, 4), removed(2, 6, 5)}, {}), kYes) << "a moment is enough";
  EXPECT_EQ(judge({removed(1, 2, 5), inserted(3, 4, 5)}, {}), kNo);
  EXPECT_EQ(judge({inserted(1, 20, 5), found(2, 3, 5), nothing(4, 5), removed(6, 7, 5)}, {}), kNo);
  EXPECT_EQ(judge({inserted(1, 2, 5), removed(3, 20, 5), nothing(4, 5), found(6, 7, 5)}, {}), kNo);
}

TEST(Life, IsJudgedHoweverManyRequestsThereAreAtATime) {
  std::vector<KeyEvent> events{inserted(1, 2, 5), removed(8, 9, 5)};
  for (int i = 0; i < 70; ++i) events.push_back(found(1, 9, 5));
  EXPECT_EQ(check_key_by_search(events, {}).verdict, Verdict::undecided);
  EXPECT_EQ(check_key(events, {}).verdict, kYes);
  events.push_back(nothing(4, 5));
  EXPECT_EQ(check_key(events, {}).verdict, kNo);
}

TEST(FastWays, AgreeWithTheSearchOnRandomHistoriesAndOnMutatedOnes) {
  Rng rng(5);
  int rejected = 0;
  for (int round = 0; round < 20'000; ++round) {
    const bool is_counter = round % 2 == 0;
    const KeyState initial = is_counter || round % 4 == 1 ? KeyState(500) : KeyState();
    std::vector<KeyEvent> events =
        random_history(rng, static_cast<unsigned>(2 + rng.below(12)), is_counter, initial);
    ASSERT_EQ(judge(events, initial), kYes) << "round " << round;
    KeyEvent& mutated = events[rng.below(events.size())];
    const KeyEvent& other = events[rng.below(events.size())];
    switch (rng.below(4)) {
      case 0:
        mutated.answer = other.answer;
        break;
      case 1:
        mutated.answer.is_found = !mutated.answer.is_found;
        break;
      case 2:
        mutated.answer.value = other.kind == Kind::update ? other.argument : other.answer.value + 1;
        break;
      default:  // earlier than it was
        mutated.invoked = 100 + rng.below(900);
        mutated.responded = mutated.invoked + rng.below(30);
    }
    const Judgement fast = check_key(events, initial), slow = check_key_by_search(events, initial);
    ASSERT_EQ(fast.verdict, slow.verdict) << "round " << round << ": " << fast.reason << slow.reason;
    rejected += fast.verdict == kNo;
  }
  EXPECT_GT(rejected, 3000);
}

TEST(FastWays, AgreeWithTheSearchOnRandomLives) {
  Rng rng(6);
  int accepted = 0, rejected = 0;
  for (int round = 0; round < 100'000; ++round) {
    const KeyState initial = round % 3 == 0 ? KeyState(5) : KeyState();
    std::vector<KeyEvent> events;
    const auto interval = [&](KeyEvent e) {
      e.invoked = 1 + rng.below(30);
      e.responded = e.invoked + rng.below(12);
      events.push_back(e);
    };
    if (!initial && rng.below(8) != 0) interval(inserted(0, 0, 5));
    if (rng.below(4) != 0) interval(removed(0, 0, 5));
    for (std::uint64_t n = rng.below(4); n-- > 0;) interval(found(0, 0, 5));
    for (std::uint64_t n = rng.below(3); n-- > 0;) interval(nothing(0, 0));
    if (rng.below(4) == 0) interval({0, 0, Kind::insert, 6, {5, true}});
    if (rng.below(4) == 0) interval({0, 0, Kind::remove, 0, {}});
    (judge(events, initial) == kYes ? accepted : rejected)++;
  }
  EXPECT_GT(accepted, 10'000);
  EXPECT_GT(rejected, 10'000);
}

}  // namespace
}  // namespace rubato::apps::ycsb
