// A run that fails drops messages and tasks. What their destructors, and the listeners of dead letters,
// create meanwhile is dropped with them and is no part of the next run; ends that were begun are. R11, A14,
// A16.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "rubato/actors.hpp"
#include "rubato/delayed.hpp"
#include "tests/at_end.hpp"

namespace rubato {
namespace {

struct Work {};
struct Fail {};
/// Acts when it is destroyed, which is also when it has been moved from and acts no more.
struct Parting {
  explicit Parting(std::function<void()> act) : end(std::move(act)) {}
  AtEnd end;
};

struct Counted : behavior<Work, Fail, Parting> {
  Counted() { ++living; }
  ~Counted() { --living; }
  void on(Work) { ++handled; }
  void on(Fail) { throw std::runtime_error("as asked"); }
  void on(const Parting&) {}
  static inline std::atomic<int> living{0}, handled{0};
};

std::uint64_t dead() {
  return actor_counters().dead_letters[static_cast<unsigned>(DeadLetter::Cause::run_failed)];
}

constexpr int kMessages = 10;

class FailedRun : public ::testing::Test {
 protected:
  FailedRun() { Counted::handled = 0; }
  ~FailedRun() override {
    counted_.stop();
    run();
    EXPECT_EQ(Counted::living, 0);
  }
  /// All but the first of its messages are dropped.
  void fail_with(const std::function<void()>& send) {
    counted_.send(Fail{});
    for (int i = 0; i < kMessages; ++i) send();
    EXPECT_THROW(run(), TaskError);
  }
  const Counted::address counted_ = spawn<Counted>();
  const std::uint64_t before_ = dead();
};

TEST_F(FailedRun, DropsWhatDestructorsOfMessagesSend) {
  const auto receiver = spawn<Counted>();
  fail_with([&] { counted_.send(Parting([receiver] { receiver.send(Work{}); })); });
  EXPECT_EQ(dead() - before_, 2u * kMessages);
  run();
  EXPECT_EQ(Counted::handled, 0);
  receiver.send(Work{});
  receiver.stop();
  run();
  EXPECT_EQ(Counted::handled, 1);
}

TEST_F(FailedRun, DropsTasksThatDestructorsOfMessagesCreate) {
  std::atomic<int> ran{0};
  TaskGroup group;
  fail_with([&] {
    counted_.send(Parting([&] {
      create<nonspec>([&ran] { ++ran; }, {.group = &group});
      create<nonspec>([&ran] { ++ran; }, {.after = &group});
      create<nonspec>(
          [&ran, end = AtEnd([&ran] { create<nonspec>([&ran] { ++ran; }, {.at = 3}); })] { ++ran; },
          {.at = 2});
      create_later<nonspec>(std::chrono::milliseconds(1), [&ran] { ++ran; }, {});
    }));
  });
  EXPECT_TRUE(group.is_complete());
  run();
  EXPECT_EQ(ran, 0);
}

/// The listener gets each message, but not those that it sends, which would go on for ever.
TEST_F(FailedRun, DropsWhatAListenerSends) {
  const auto log = spawn<Counted>();
  const auto bounded = spawn<Counted>({.mailbox = {.capacity = 2, .when_full = WhenFull::refuse}});
  int told = 0;
  {
    const subscription listening = on_dead_letter([&](const DeadLetter& letter) {
      EXPECT_EQ(letter.cause, DeadLetter::Cause::run_failed);
      ++told;
      log.send(Work{});
      EXPECT_EQ(bounded.try_send(Work{}), Sent::accepted);
    });
    fail_with([&] { counted_.send(Work{}); });
  }
  EXPECT_EQ(told, kMessages);
  EXPECT_EQ(dead() - before_, 3u * kMessages);
  run();
  EXPECT_EQ(Counted::handled, 0);
  EXPECT_EQ(bounded.try_send(Work{}), Sent::accepted);
  EXPECT_EQ(bounded.try_send(Work{}), Sent::accepted);
  EXPECT_EQ(bounded.try_send(Work{}), Sent::full) << "places of dropped messages were lost, or found twice";
  log.stop();
  bounded.stop();
  run();
  EXPECT_EQ(Counted::handled, 2);
}

TEST_F(FailedRun, DropsTasksThatAListenerCreates) {
  std::atomic<int> ran{0};
  {
    const subscription listening =
        on_dead_letter([&](const DeadLetter&) { create<nonspec>([&ran] { ++ran; }, {.on = 3}); });
    fail_with([&] { counted_.send(Work{}); });
  }
  run();
  EXPECT_EQ(ran, 0);
}

struct SendsToItself : Counted {
  SendsToItself() {
    actor<Work>(self()).send(Work{});
    created = actor<Work>(self());
  }
  static inline std::optional<actor<Work>> created;
};
/// Actors stay, as always; what they sent to themselves does not.
TEST_F(FailedRun, KeepsActorsThatAListenerSpawns) {
  {
    const subscription listening = on_dead_letter([&](const DeadLetter&) {
      if (!SendsToItself::created) spawn<SendsToItself>();
    });
    fail_with([&] { counted_.send(Work{}); });
  }
  ASSERT_TRUE(SendsToItself::created);
  run();
  EXPECT_EQ(Counted::handled, 0);
  SendsToItself::created->send(Work{});
  SendsToItself::created->stop();
  run();
  EXPECT_EQ(Counted::handled, 1);
}

struct StopsAtOnce : Counted {
  StopsAtOnce() { stop(); }
};
struct Refuses : behavior<Work> {
  Refuses() { throw std::runtime_error("as asked"); }
  void on(Work) {}
};
TEST_F(FailedRun, EndsActorsThatAListenerSpawnsAndStops) {
  {
    const subscription listening = on_dead_letter([&](const DeadLetter&) {
      spawn<StopsAtOnce>();
      spawn<Counted>().kill();
      spawn<Counted>().stop();
      EXPECT_THROW(spawn<Refuses>(), std::runtime_error);
    });
    fail_with([&] { counted_.send(Work{}); });
  }
  run();
  EXPECT_EQ(Counted::living, 1);
  EXPECT_EQ(living_actors().size(), 1u);
}

struct FailsBehind : behavior<Work> {
  explicit FailsBehind(std::function<void()> act) : act_(std::move(act)) {}
  void on(Work) {
    act_();
    stop();
    throw std::runtime_error("as asked");
  }
  std::function<void()> act_;
};
/// The program has said that they are to end, and does not say so again.
TEST_F(FailedRun, EndsActorsThatWereToldToStopInTheNextRun) {
  const auto stopped = spawn<Counted>(), killed = spawn<Counted>();
  const auto failing = spawn<FailsBehind>([&] {
    stopped.stop();
    killed.kill();
  });
  failing.send(Work{});
  EXPECT_THROW(run(), TaskError);
  run();
  EXPECT_EQ(Counted::living, 1);
  EXPECT_EQ(living_actors().size(), 1u);
}

struct Parent : behavior<Work> {
  void on(Work) {
    for (int i = 0; i < kMessages; ++i) spawn<Counted>().send(Fail{});
  }
  Directive on_failure(const Failure&) { return Directive::escalate; }
};
/// The first failure ends the run. That of another child is of the same run.
TEST_F(FailedRun, LeavesNoFailureOfChildrenToTheNextRun) {
  for (int round = 0; round < 20; ++round) {
    const auto parent = spawn<Parent>();
    parent.send(Work{});
    EXPECT_THROW(run(), TaskError);
    EXPECT_NO_THROW(run());
    parent.kill();
    run();
    EXPECT_EQ(Counted::living, 1);
  }
}

struct Lives : behavior<Work, Fail> {
  static constexpr bool restarts = true;
  Lives() { life = ++lives; }
  void on(Work) {
    handled_in = life;
    ++handled;
  }
  void on(Fail) { throw std::runtime_error("as asked"); }
  int life;
  static inline std::atomic<int> lives{0}, handled_in{0}, handled{0};
};
struct Nurse : behavior<Work> {
  explicit Nurse(Counted::address other) : other_(other) {}
  void on(Work) {
    patient = spawn<Lives>({.restarts = {.delay = std::chrono::milliseconds(20)}});
    patient.send(Fail{});
    for (int i = 0; i < kMessages; ++i) patient.send(Work{});
  }
  Directive on_failure(const Failure&) {
    other_.send(Fail{});
    return Directive::restart;
  }
  Counted::address other_;
  static inline Lives::address patient;
};
/// The child waits for the same time, and its former behavior handles nothing meanwhile.
TEST_F(FailedRun, LeavesAChildThatWaitsToBeMadeAgain) {
  Lives::lives = Lives::handled = 0;
  const auto nurse = spawn<Nurse>(counted_);
  nurse.send(Work{});
  EXPECT_THROW(run(), TaskError);
  EXPECT_EQ(Lives::lives, 1);
  EXPECT_EQ(dead() - before_, 1u * kMessages);
  Nurse::patient.send(Work{});
  run();
  EXPECT_EQ(Lives::lives, 2);
  EXPECT_EQ(Lives::handled_in, 2);
  EXPECT_EQ(Lives::handled, 1);
  nurse.send(Work{});  // and again, but it is killed meanwhile
  EXPECT_THROW(run(), TaskError);
  Nurse::patient.kill();
  run();
  EXPECT_EQ(living_actors().size(), 3u);
  nurse.stop();
  run();
  EXPECT_EQ(living_actors().size(), 1u);
}

struct Question {
  using reply = int;
};
struct Answers : behavior<Question> {
  void on(Question, reply<int> answer) {
    answer(42);
    throw std::runtime_error("as asked");
  }
};
TEST_F(FailedRun, DestroysWhatAnAnswerWasToContinueWith) {
  const auto held = std::make_shared<int>(0);
  const auto answers = spawn<Answers>();
  for (int round = 0; round < 20; ++round) {
    answers.ask(Question{}).then([held](int) { ++*held; });
    EXPECT_THROW(run(), TaskError);
    run();
    EXPECT_EQ(held.use_count(), 1);
  }
  answers.stop();
  run();
}

}  // namespace
}  // namespace rubato
