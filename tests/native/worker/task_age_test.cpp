// Age of a running task by the looks of the watch: by hand from policy.hpp, on both sides of each bound.
// SPDX-License-Identifier: MIT
#include "native/worker/task_age.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace {

using rubato::native::TaskAge;
using rubato::native::ticks_of;
using Age = TaskAge::Age;
namespace policy = rubato::native::policy;

constexpr std::uint64_t kStart = 1'000'000'000;

/// Looks at a worker that has run short tasks, with a look at the clock now and then, until the first of
/// them.
class Looks {
 public:
  explicit Looks(bool has_actors = true) : sight_{true, 100, kStart, has_actors} {
    age_.look(sight_, kStart);
  }

  /// More short tasks; the one that runs has begun right after `began`.
  Looks& after_short_tasks(std::uint64_t began) {
    sight_.ended += 10;
    sight_.looked_at_clock = began;
    return *this;
  }
  Looks& after_tasks_without_a_clock() {
    sight_.ended += 10;
    return *this;
  }
  Looks& idle() {
    sight_.is_in_task = false;
    return *this;
  }
  Age at(std::uint64_t now) { return age_.look(sight_, now); }
  bool is_same() const { return age_.is_same(); }
  bool may_hold_back() const { return age_.may_hold_back(); }
  void hand_over() { age_.note_handed_over(); }
  bool is_found() { return age_.is_found(); }

 private:
  TaskAge::Sight sight_;
  TaskAge age_;
};

TEST(TaskAge, OfATurnIsKnownByASingleLook) {
  const std::uint64_t began = kStart + 1000, waited = ticks_of(policy::kWaitedMicroseconds),
                      lengthy = ticks_of(policy::kLengthyMicroseconds);
  EXPECT_EQ(Looks().after_short_tasks(began).at(began + waited - 1), Age::young);
  EXPECT_EQ(Looks().after_short_tasks(began).at(began + waited), Age::waited_for);
  EXPECT_EQ(Looks().after_short_tasks(began).at(began + lengthy - 1), Age::waited_for);
  EXPECT_EQ(Looks().after_short_tasks(began).at(began + lengthy), Age::lengthy);
  EXPECT_EQ(Looks().after_short_tasks(began).at(began + ticks_of(1'000'000)), Age::lengthy)
      << "the task before may have taken most of it";
}

/// A turn that is known to be lengthy.
Looks lengthy_turn(bool has_actors = true) {
  Looks looks(has_actors);
  looks.after_short_tasks(kStart + 1000);
  EXPECT_EQ(looks.at(kStart + 1000 + ticks_of(policy::kLengthyMicroseconds)),
            has_actors ? Age::lengthy : Age::young);
  return looks;
}

TEST(TaskAge, FindsATurnOnceThatIsLengthyAndWhoseMessagesWaited) {
  Looks looks = lengthy_turn();
  EXPECT_FALSE(looks.is_found()) << "nothing has waited";
  looks.hand_over();
  EXPECT_TRUE(looks.is_found());
  looks.at(kStart + ticks_of(1'000'000));
  looks.hand_over();
  EXPECT_FALSE(looks.is_found()) << "it is the same";
}

TEST(TaskAge, FindsATurnThatIsLengthyOnlyAfterItsMessagesWereHandedOver) {
  Looks looks;
  looks.after_short_tasks(kStart + 1000).at(kStart + 1000 + ticks_of(policy::kWaitedMicroseconds));
  looks.hand_over();
  EXPECT_FALSE(looks.is_found());
  looks.at(kStart + 1000 + ticks_of(policy::kLengthyMicroseconds));
  EXPECT_TRUE(looks.is_found());
}

TEST(TaskAge, FindsNoTurnForMessagesOfTheOneBefore) {
  Looks looks = lengthy_turn();
  looks.hand_over();
  looks.after_short_tasks(kStart + ticks_of(1'000)).at(kStart + ticks_of(2'000));
  EXPECT_FALSE(looks.is_found());
}

TEST(TaskAge, FindsNoTaskThatIsNoTurn) {
  Looks looks = lengthy_turn(false);
  looks.hand_over();
  looks.at(kStart + ticks_of(1'000));
  looks.at(kStart + ticks_of(2'000));
  EXPECT_EQ(looks.at(kStart + ticks_of(3'000)), Age::old);
  EXPECT_FALSE(looks.is_found());
}

TEST(TaskAge, OfATaskThatIsNoTurnTakesThreeLooks) {
  Looks looks(false);
  looks.after_short_tasks(kStart + 1);
  const std::uint64_t late = kStart + ticks_of(1'000'000);
  EXPECT_EQ(looks.at(late), Age::young);
  EXPECT_FALSE(looks.is_same());
  EXPECT_EQ(looks.at(late + 1), Age::young);
  EXPECT_TRUE(looks.is_same());
  EXPECT_EQ(looks.at(late + 2), Age::waited_for);
}

TEST(TaskAge, IsThatOfAPublishingOneAfterThreeLooksAndItsTime) {
  const std::uint64_t publishing = ticks_of(policy::kPublishingMicroseconds);
  for (const bool has_actors : {false, true}) {
    Looks looks(has_actors);
    looks.after_short_tasks(kStart + 1).at(kStart + 1);
    EXPECT_LT(looks.at(kStart + publishing + 1), Age::old) << "the second look";
    looks = Looks(has_actors);
    looks.after_short_tasks(kStart + 1).at(kStart + 1);
    looks.at(kStart + 2);
    EXPECT_LT(looks.at(kStart + publishing), Age::old) << "a tick less";
    EXPECT_EQ(looks.at(kStart + publishing + 1), Age::old);
  }
}

TEST(TaskAge, MayHoldBackUntilItPublishes) {
  const std::uint64_t publishing = ticks_of(policy::kPublishingMicroseconds);
  for (const bool has_actors : {false, true}) {
    Looks looks(has_actors);
    EXPECT_EQ(looks.may_hold_back(), has_actors);
    looks.at(kStart + 1);
    looks.at(kStart + publishing - 1);
    EXPECT_EQ(looks.may_hold_back(), has_actors);
    EXPECT_EQ(looks.at(kStart + publishing), Age::old);
    EXPECT_FALSE(looks.may_hold_back());
  }
  Looks looks;
  looks.idle().at(kStart + 1);
  EXPECT_FALSE(looks.may_hold_back());
}

TEST(TaskAge, SaysNothingByALookAtTheClockThatOtherTasksFollowed) {
  Looks looks;
  EXPECT_EQ(looks.after_tasks_without_a_clock().at(kStart + ticks_of(1'000'000)), Age::young);
  // Now the same task has run for longer than the time between the two looks.
  EXPECT_EQ(looks.at(kStart + ticks_of(2'000'000)), Age::lengthy);
}

TEST(TaskAge, IsNoneWithoutATaskAndBeginsAnewAfterIt) {
  Looks looks;
  EXPECT_EQ(looks.idle().at(kStart + ticks_of(1'000'000)), Age::young);
  EXPECT_TRUE(looks.is_same()) << "nothing to look for";
}

TEST(TaskAge, IsNoneWhereTheClocksOfTwoCpusDisagree) {
  EXPECT_EQ(Looks().after_short_tasks(kStart + 1000).at(kStart + 999), Age::young);
}

}  // namespace
