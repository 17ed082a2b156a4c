// Timers of actors (A13), on every engine: they belong to their actor, never come after they were called off,
// and fail as their actor does.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Go {};
struct Fail {};
struct End {};
struct Tick {
  int life = 0;
};

std::string error_of_run() {
  try {
    run();
  } catch (const TaskError& e) {
    return e.what();
  }
  return "";
}

/// A native run() that a timer of an hour holds open does not end; on the serial engine time tells.
void run_without_an_hour() {
  const std::uint64_t before = engine::actor_nanoseconds();
  run();
#if defined(RUBATO_ENGINE_NATIVE)
  static_cast<void>(before);
#else
  EXPECT_LT(engine::actor_nanoseconds() - before, 3'600'000'000'000u);
#endif
}

/// A parent that has its child made again.
struct Boss : behavior<Go, End> {
  void on(Go) {}
  void on(End) { stop(); }
  Directive on_failure(const Failure&) { return Directive::restart; }
};

struct Poller : behavior<Tick, Fail> {
  static constexpr bool restarts = true;
  explicit Poller(actor<End> boss) : boss_(boss), life_(++lives) {
    every(milliseconds(1), Tick{life_});
    after(milliseconds(1), Tick{life_});
    self().send(Fail{});
  }
  void on(Tick tick) {
    EXPECT_EQ(tick.life, life_) << "a timer of a former life";
    if (life_ == 4 && ++ticks_ == 20) boss_.send(End{});
  }
  void on(Fail) {
    if (life_ < 4) throw std::runtime_error("as asked");
  }
  static inline int lives = 0;
  actor<End> boss_;
  const int life_;
  int ticks_ = 0;
};

TEST(Timers, AreCancelledWhenTheirActorIsMadeAgain) {
  struct PollingBoss : Boss {
    PollingBoss() { spawn<Poller>(self()); }
  };
  Poller::lives = 0;
  spawn<PollingBoss>();
  run();
  EXPECT_EQ(Poller::lives, 4);
}

struct Beating : behavior<Tick, End, Fail> {
  Beating() {
    every(hours(1), Tick{});
    after(hours(1), Tick{});
  }
  void on(Tick) { ADD_FAILURE() << "an hour has not passed"; }
  void on(End) { stop(); }
  void on(Fail) { throw std::runtime_error("as asked"); }
};

TEST(Timers, OfAnActorThatHasEndedDoNotHoldTheRunOpen) {
  const ActorCounters before = actor_counters();
  spawn<Beating>().send(End{});
  spawn<Beating>().stop();
  const auto killed = spawn<Beating>();
  spawn_from([killed](Go) { killed.kill(); }).send(Go{});
  struct Stopping : Boss {
    Stopping() { spawn<Beating>().send(Fail{}); }
    Directive on_failure(const Failure&) {
      stop();
      return Directive::stop;
    }
  };
  spawn<Stopping>();
  run_without_an_hour();
  EXPECT_EQ(actor_counters().stopped - before.stopped, 5u);
  EXPECT_EQ(actor_counters().dead_letters[0], before.dead_letters[0]) << "called off, not lost";
}

TEST(Timers, OfAnActorThatWaitsForItsChildrenDoNotComeAnyMore) {
  struct Child : behavior<Go> {
    void on(Go) {}
  };
  struct Parent : behavior<Go, Tick> {
    void on(Go) {
      for (int i = 0; i < 10; ++i) spawn<Child>();
      after(hours(1), Tick{});
      stop();
    }
    void on(Tick) {}
  };
  spawn<Parent>().send(Go{});
  run_without_an_hour();
}

struct Question {
  using reply = int;
};
/// Never answers.
struct Keeper : behavior<Question, End> {
  void on(Question, reply<int> r) { kept_.push_back(std::move(r)); }
  void on(End) { stop(); }
  std::vector<reply<int>> kept_;
};

TEST(Timers, OfAnAskEndWithTheAskingActor) {
  const auto keeper = spawn<Keeper>();
  struct Asker : behavior<Go> {
    explicit Asker(actor<Question> keeper) : keeper_(keeper) {}
    void on(Go) {
      keeper_.ask(Question{}, {.timeout = hours(1)}).then([](int) {}, [](AskError) { ADD_FAILURE(); });
      stop();
    }
    actor<Question> keeper_;
  };
  spawn<Asker>(keeper).send(Go{});
  run_without_an_hour();
  keeper.stop();
  run();
}

struct AskingAgain : behavior<Go> {
  static constexpr bool restarts = true;
  explicit AskingAgain(Keeper::address keeper) : keeper_(keeper) {}
  void on(Go) {
    keeper_.ask(Question{}, {.timeout = milliseconds(5)})
        .then([](int) {}, [](AskError e) { errors.push_back(e); });
    throw std::runtime_error("as asked");
  }
  static inline std::vector<AskError> errors;
  Keeper::address keeper_;
};

TEST(Timers, OfAnAskGoOnWhenTheAskingActorIsMadeAgain) {
  AskingAgain::errors.clear();
  struct AskingBoss : Boss {
    explicit AskingBoss(Keeper::address keeper) { spawn<AskingAgain>(keeper).send(Go{}); }
  };
  const auto keeper = spawn<Keeper>();
  const auto boss = spawn<AskingBoss>(keeper);
  run();
  EXPECT_THAT(AskingAgain::errors, ElementsAre(AskError::timeout));
  boss.stop();
  keeper.stop();
  run();
}

/// Calls them off when their messages are in the mailbox already.
TEST(Timers, DoNotComeAfterTheyWereCancelled) {
  struct Client : behavior<Go, Tick, End> {
    void on(Go) {
      timer once = after(Duration::zero(), Tick{});
      timer again = every(microseconds(1), Tick{});
      const auto is_sent = std::make_shared<std::atomic<bool>>(false);
      engine::call_after(milliseconds(1), [is_sent] { *is_sent = true; });
#if defined(RUBATO_ENGINE_NATIVE)
      while (!*is_sent) std::this_thread::yield();
#endif
      once.cancel();
      again.cancel();
    }
    void on(Tick) { ADD_FAILURE() << "it was cancelled"; }
    void on(End) { stop(); }
  };
  for (const bool is_bounded : {false, true}) {
    const auto client = spawn<Client>({.mailbox = {.capacity = is_bounded ? 1u : 0u}});
    client.send(Go{});
    run();
    client.send(End{});
    run();
  }
}

TEST(Timers, MayBeCancelledByTheirOwnMessageAndBySomebodyElse) {
  static int ticks;
  ticks = 0;
  struct Other : behavior<Go> {
    explicit Other(timer t) : timer_(t) {}
    void on(Go) {
      timer_.cancel();
      stop();
    }
    timer timer_;
  };
  struct Once : behavior<Tick> {
    Once() : own_(every(milliseconds(1), Tick{})) { spawn<Other>(after(hours(1), Tick{})).send(Go{}); }
    void on(Tick) {
      if (++ticks == 3) own_.cancel();
    }
    timer own_;
  };
  const auto once = spawn<Once>();
  run_without_an_hour();
  EXPECT_EQ(ticks, 3);
  once.stop();
  run();
}

TEST(Timers, LeaveOutWhatASlowActorHasNotHandled) {
  static int ticks, waiting;
  ticks = waiting = 0;
  struct Slow : behavior<Tick, End> {
    Slow() : ticks_(every(microseconds(1), Tick{})) {}
    void on(Tick) {
      if (++ticks != 1) return;
      const auto is_later = std::make_shared<std::atomic<bool>>(false);
      engine::call_after(milliseconds(5), [is_later] { *is_later = true; });
#if defined(RUBATO_ENGINE_NATIVE)
      while (!*is_later) std::this_thread::yield();
#endif
      self().send(End{});
    }
    void on(End) {
      waiting = ticks - 1;
      stop();
    }
    timer ticks_;
  };
  spawn<Slow>();
  run();
  EXPECT_LE(waiting, 1);
}

// Times that nanoseconds cannot say.
static_assert(AnyDuration(hours::max()) == kForever && AnyDuration(hours::min()) == Duration::min());
static_assert(AnyDuration(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})) == kForever);
static_assert(AnyDuration(std::chrono::duration<int>(2'000'000'000)).count() == 2'000'000'000'000'000'000);
static_assert(AnyDuration(milliseconds(-5)) == milliseconds(-5) && AnyDuration() == Duration::zero());
static_assert(AnyDuration(Duration::min()) == Duration::min() && AnyDuration(kForever) == kForever);
static_assert(!std::is_convertible_v<std::chrono::duration<double>, AnyDuration>, "as std::chrono has it");
static_assert(!std::is_convertible_v<int, AnyDuration>);

TEST(Timers, LetAnswersComeWithinTheLongestTime) {
  struct Inquiry {
    using reply = int;
  };
  struct Informer : behavior<Inquiry> {
    int on(Inquiry) { return 7; }
  };
  const auto server = spawn<Informer>();
  int answered = 0;
  AskError failed{};
  server.ask(Inquiry{}, {.timeout = std::chrono::seconds::max()})
      .then([&](int a) { answered = a; }, [&](AskError e) { failed = e; });
  run();
  EXPECT_EQ(answered, 7) << static_cast<int>(failed);
  EXPECT_TRUE(shutdown(hours::max()).empty());
}

TEST(Timers, NeverComeAfterForever) {
  struct Patient : behavior<Tick, Go> {
    Patient() {
      after(kForever, Tick{});
      after(kForever - Duration(1), Tick{});
      every(kForever, Tick{});
      after(hours::max(), Tick{});
      every(std::chrono::seconds::max(), Tick{});
      cancelled_ = after(kForever, Tick{});
      after(milliseconds(5), Go{});
    }
    void on(Tick) { ADD_FAILURE() << "forever is over"; }
    void on(Go) {
      cancelled_.cancel();
      stop();
    }
    timer cancelled_;
  };
  spawn<Patient>();
  run_without_an_hour();
  struct Waiting : behavior<Tick> {
    Waiting() { after(kForever, Tick{}); }
    void on(Tick) { ADD_FAILURE(); }
  };
  const auto waiting = spawn<Waiting>();
  run_without_an_hour();
  waiting.stop();
  run();
}

TEST(Timers, RefuseAPeriodThatIsNotAboveZero) {
  struct Hasty : behavior<Tick> {
    explicit Hasty(Duration period) { every(period, Tick{}); }
    void on(Tick) {}
  };
  for (const Duration period : {Duration::zero(), Duration(milliseconds(-5))}) {
    try {
      spawn<Hasty>(period);
      ADD_FAILURE() << period.count();
    } catch (const TaskError& e) {
      EXPECT_EQ(std::string(e.what()), "every() is called with a period of " +
                                           std::to_string(period.count()) + " ns: a period must be above 0");
    }
  }
  run();
  spawn<Hasty>(Duration(milliseconds(1))).stop();
  run();
}

/// A message whose copies fail now and then.
struct Batch {
  Batch() = default;
  Batch(const Batch&) {
    if (++copies % 3 == 0) throw std::runtime_error("no memory for a copy");
  }
  Batch(Batch&&) noexcept = default;
  static inline int copies = 0;
};
struct Copying : behavior<Batch> {
  static constexpr bool restarts = true;
  explicit Copying(actor<End> boss) : boss_(boss) { every(milliseconds(1), Batch{}); }
  void on(const Batch&) {
    if (++handled == 10) boss_.send(End{});
  }
  static inline int handled = 0;
  actor<End> boss_;
};

TEST(Timers, WhoseMessageCannotBeCopiedAreAFailureOfTheirActor) {
  struct CopyingBoss : Boss {
    CopyingBoss() { spawn<Copying>(self()); }
    Directive on_failure(const Failure& failure) {
      EXPECT_THAT(std::string(failure.message), HasSubstr("Batch"));
      ++failures;
      return failures % 2 == 0 ? Directive::restart : Directive::resume;
    }
    int failures = 0;
  };
  Batch::copies = Copying::handled = 0;
  spawn<CopyingBoss>();
  run();
  EXPECT_EQ(Copying::handled, 10);

  Batch::copies = 0;
  const auto alone = spawn<Copying>({.name = "alone"}, actor<End>());
  const std::string error = error_of_run();
  EXPECT_THAT(error, HasSubstr("actor alone ("));
  EXPECT_THAT(error, HasSubstr("Copying) handling "));
  EXPECT_THAT(error, HasSubstr("Batch ended with an exception: no memory for a copy"));
  alone.stop();
  run();
}

TEST(Timers, GoOnAfterAFailedRun) {
  static int ticks;
  ticks = 0;
  struct Beat : behavior<Tick, Fail> {
    Beat() { every(milliseconds(1), Tick{}); }
    void on(Tick) {
      if (++ticks == 5) stop();
    }
    void on(Fail) { throw std::runtime_error("as asked"); }
  };
  spawn<Beat>().send(Fail{});
  EXPECT_THAT(error_of_run(), HasSubstr("as asked"));
  EXPECT_LT(ticks, 5);
  run();
  EXPECT_EQ(ticks, 5);
}

TEST(Timers, StopAnActorThatSendsToItselfUntilThen) {
  struct Spinning : behavior<Go, Tick> {
    Spinning() {
      after(milliseconds(2), Tick{1});
      after(milliseconds(1), Tick{0});
      self().send(Go{});
    }
    void on(Go) { self().send(Go{}); }
    void on(Tick tick) {
      EXPECT_EQ(tick.life, ticks_++) << "due in order";
      if (ticks_ == 2) stop();
    }
    int ticks_ = 0;
  };
  spawn<Spinning>();
  run();
  EXPECT_EQ(error_of_run(), "");
}

TEST(Timers, OfADestructorAreDeadLetters) {
  struct Leaving : behavior<Tick> {
    ~Leaving() {
      after(hours(1), Tick{});
      every(hours(1), Tick{});
    }
    void on(Tick) { ADD_FAILURE(); }
  };
  const std::uint64_t before = actor_counters().dead_letters[0];
  spawn<Leaving>().stop();
  run_without_an_hour();
  EXPECT_EQ(actor_counters().dead_letters[0] - before, 2u);
}

TEST(Timers, AreCountedAsMessagesWhenTheyAreHandled) {
  struct Two : behavior<Tick> {
    Two() {
      after(Duration::zero(), Tick{});
      after(milliseconds(1), Tick{});
      after(milliseconds(2), Tick{}).cancel();
    }
    void on(Tick) {
      if (++seen_ == 2) stop();
    }
    int seen_ = 0;
  };
  const std::uint64_t before = actor_counters().messages_handled;
  spawn<Two>();
  run();
  EXPECT_EQ(actor_counters().messages_handled - before, 2u);
}

}  // namespace
}  // namespace rubato
