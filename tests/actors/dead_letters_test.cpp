// Listeners of dead letters (A16), on every engine: they may do whatever a program does.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <typeinfo>
#include <utility>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

struct Hello {};
struct Question {
  using reply = int;
};
struct Gone : behavior<Hello, Question> {
  void on(Hello) {}
  int on(Question) { return 1; }
};

class DeadLetters : public ::testing::Test {
 protected:
  DeadLetters() {
    gone.stop();
    run();
  }
  /// On the native engine they are dead when a run delivers them.
  void send_one() const {
    gone.send(Hello{});
    run();
  }
  static std::uint64_t counted() { return actor_counters().dead_letters[0]; }
  const Gone::address gone = spawn<Gone>();
  const std::uint64_t before = counted();
};

TEST_F(DeadLetters, AListenerMayEndItsOwnSubscriptionAndThatOfOthers) {
  int first = 0, second = 0, third = 0, fourth = 0;
  subscription one, two, three;
  one = on_dead_letter([&](const DeadLetter&) {
    ++first;
    one.cancel();
    two.cancel();
  });
  two = on_dead_letter([&](const DeadLetter&) { ++second; });
  three = on_dead_letter([&](const DeadLetter&) {
    ++third;
    three.cancel();
  });
  const subscription four = on_dead_letter([&](const DeadLetter&) { ++fourth; });
  for (int i = 0; i < 3; ++i) gone.send(Hello{});
  run();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  EXPECT_EQ(third, 1);
  EXPECT_EQ(fourth, 3);
}

TEST_F(DeadLetters, AListenerMaySubscribeAnother) {
  int late = 0;
  std::vector<subscription> all;
  const subscription adding = on_dead_letter(
      [&](const DeadLetter&) { all.push_back(on_dead_letter([&late](const DeadLetter&) { ++late; })); });
  send_one();
  EXPECT_EQ(late, 0);
  send_one();
  EXPECT_EQ(late, 1);
}

/// The captures of a listener are destroyed when it has ended, not while it is called.
TEST_F(DeadLetters, AListenerKeepsWhatItHoldsWhileItIsCalled) {
  subscription own;
  const auto held = std::make_shared<int>(0);
  own = on_dead_letter([&own, count = held](const DeadLetter&) {
    own.cancel();
    ++*count;
  });
  send_one();
  EXPECT_EQ(*held, 1);
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(DeadLetters, ThoseOfAListenerAreCountedButNotTold) {
  int told = 0;
  const subscription sending = on_dead_letter([&](const DeadLetter&) {
    ++told;
    gone.send(Hello{});
  });
  for (int i = 0; i < 3; ++i) send_one();
  run();
  EXPECT_EQ(told, 3);
  EXPECT_EQ(counted() - before, 6u);
}

TEST_F(DeadLetters, AnExceptionOfAListenerIsNotTheSenders) {
  int told = 0;
  const subscription throwing =
      on_dead_letter([](const DeadLetter&) { throw std::runtime_error("as asked"); });
  const subscription strange = on_dead_letter([](const DeadLetter&) { throw 1; });
  const subscription other = on_dead_letter([&](const DeadLetter&) { ++told; });
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(send_one());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "rubato: a listener of dead letters ended with an exception: as asked\n"
            "rubato: a listener of dead letters ended with an exception: of an unknown type\n");
  EXPECT_EQ(told, 1);
}

TEST_F(DeadLetters, ARequestIsToldByItsOwnType) {
  std::vector<const std::type_info*> types;
  const subscription listening =
      on_dead_letter([&types](const DeadLetter& letter) { types.push_back(letter.type); });
  gone.ask(Question{}).then([](int) {});
  run();
  ASSERT_EQ(types.size(), 1u);
  EXPECT_EQ(*types[0], typeid(Question));
}

}  // namespace
}  // namespace rubato
