// The kit for tests of actors, on every engine: a clock that stands still until it is moved, and probes in
// place of actors.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rubato/actors.hpp"

namespace kit {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const TaskError& error) {
    return error.what();
  }
  return "";
}

struct Beat {
  int number = 0;
};
struct Wait {
  Duration time;
};
/// Says how late it is at each beat.
struct Heart : behavior<Beat, Wait, Idle> {
  explicit Heart(actor<Beat> to) : to_(to) {}
  void on(Wait wait) { every(wait.time, Beat{}); }
  void on(Beat) { to_.send(Beat{++beats_}); }
  void on(Idle) { to_.send(Beat{-1}); }
  actor<Beat> to_;
  int beats_ = 0;
};

TEST(ManualClock, TimersAreDueWhenTheClockIsMovedAndNotBefore) {
  manual_clock clock;
  probe<Beat> seen;
  const auto heart = spawn<Heart>(seen.handle());
  heart.send(Wait{minutes(1)});
  seen.expect_nothing();  // the run ends though a timer is pending
  clock.advance(minutes(1) - std::chrono::nanoseconds(1));
  seen.expect_nothing();
  clock.advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(seen.expect<Beat>().number, 1);
  seen.expect_nothing();
  const Duration before = clock.now();
  clock.advance(hours(1));
  EXPECT_EQ(clock.now() - before, hours(1));
  for (int i = 2; i <= 61; ++i) EXPECT_EQ(seen.expect<Beat>().number, i);
  seen.expect_nothing();
  heart.stop();
  clock.advance(hours(1));
  seen.expect_nothing();
}

TEST(ManualClock, TimersOfSeveralActorsAreDueInOrder) {
  manual_clock clock;
  struct Delayed : behavior<Wait, Beat> {
    Delayed(actor<Beat> to, int number) : to_(to), number_(number) {}
    void on(Wait wait) { after(wait.time, Beat{number_}); }
    void on(Beat beat) { to_.send(beat), stop(); }
    actor<Beat> to_;
    int number_;
  };
  probe<Beat> seen;
  for (const int number : {3, 1, 4, 2})
    spawn<Delayed>(seen.handle(), number).send(Wait{milliseconds(number)});
  run();
  clock.advance(seconds(1));
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(seen.expect<Beat>().number, i);
}

struct Question {
  using reply = int;
  int number = 0;
};
struct Order {
  using reply = void;
};

TEST(ManualClock, TimeLimitsOfAsksAndIdlenessAreMovedToo) {
  manual_clock clock;
  probe<Question> asked;
  std::optional<AskError> error;
  asked.handle().ask(Question{1}, {.timeout = seconds(5)}).then([](int) {}, [&](AskError e) { error = e; });
  auto [question, late] = asked.expect<Question>();
  clock.advance(seconds(4));
  EXPECT_FALSE(error);
  clock.advance(seconds(1));
  EXPECT_EQ(error, AskError::timeout);
  late(1);

  struct Sleepy : behavior<Beat, Idle> {
    explicit Sleepy(actor<Beat> to) : to_(to) { idle_after(seconds(10)); }
    void on(Beat) {}
    void on(Idle) { to_.send(Beat{1}); }
    actor<Beat> to_;
  };
  probe<Beat> seen;
  const auto sleepy = spawn<Sleepy>(seen.handle());
  run();
  clock.advance(seconds(9));
  sleepy.send(Beat{});
  clock.advance(seconds(9));
  seen.expect_nothing();
  clock.advance(seconds(1));
  EXPECT_EQ(seen.expect<Beat>().number, 1);
  sleepy.stop();
  run();
}

TEST(ManualClock, IsTheOnlyOneAndIsMadeOutsideTasks) {
  std::string in_task;
  create<nonspec>([&] { in_task = error_of([] { manual_clock(); }); }, {});
  run();
  EXPECT_THAT(in_task, HasSubstr("while a run goes on"));
  {
    manual_clock clock;
    EXPECT_THAT(error_of([] { manual_clock(); }), HasSubstr("there is a manual_clock already"));
  }
  // Time goes on again: a run lasts until the timer is due.
  probe<Beat> seen;
  const auto heart = spawn<Heart>(seen.handle());
  const std::uint64_t begin = engine::actor_nanoseconds();
  struct Once : behavior<Wait, Beat> {
    void on(Wait wait) { after(wait.time, Beat{}); }
    void on(Beat) { stop(); }
  };
  spawn<Once>().send(Wait{milliseconds(3)});
  run();
  EXPECT_GE(engine::actor_nanoseconds() - begin, 3'000'000u);
  heart.stop();
  run();
}

TEST(Probe, GivesMessagesOneByOneAndAnswersRequests) {
  struct Client : behavior<Beat> {
    explicit Client(actor<Beat, Question, Order> server) : server_(server) {}
    void on(Beat beat) {
      server_.send(beat);
      server_.ask(Question{beat.number}).then([this](int n) { server_.send(Beat{100 * n}); });
      server_.ask(Order{}).then([this] { server_.send(Beat{-1}); });
    }
    actor<Beat, Question, Order> server_;
  };
  probe<Beat, Question, Order> server;
  const auto client = spawn<Client>(server.handle());
  client.send(Beat{7});
  EXPECT_EQ(server.expect<Beat>().number, 7);
  auto [question, answer] = server.expect<Question>();
  EXPECT_EQ(question.number, 7);
  auto order = server.expect<Order>();
  EXPECT_EQ(server.size(), 0u);
  answer(5);
  EXPECT_EQ(server.expect<Beat>().number, 500);
  order.second();
  EXPECT_EQ(server.expect<Beat>().number, -1);
  server.expect_nothing();
  client.stop();
  run();
}

TEST(Probe, SaysWhatItExpectedAndWhatCame) {
  probe<Beat, Question> seen;
  EXPECT_EQ(error_of([&] { static_cast<void>(seen.expect<Beat>()); }),
            "a probe expected kit::Beat, but no message came");
  seen.handle().send(Beat{1});
  EXPECT_EQ(error_of([&] { static_cast<void>(seen.expect<Question>()); }),
            "a probe expected kit::Question, but got kit::Beat");
  EXPECT_EQ(error_of([&] { seen.expect_nothing(); }), "a probe expected no message, but got kit::Beat");
  EXPECT_EQ(seen.expect<Beat>().number, 1);
}

}  // namespace kit
