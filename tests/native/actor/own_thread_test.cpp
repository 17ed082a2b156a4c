// Actors with a thread of their own on the native engine: a blocking handler keeps no worker.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "native/worker/shared.hpp"
#include "rubato/actors.hpp"
#include "rubato/algorithms.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class OwnThread : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, OwnThread, testing::Values(1u, 2u, 8u));

constexpr Spawn kOwn{.thread = ActorThread::own};

struct Wait {
  std::counting_semaphore<>* until;
};
struct Release {
  std::counting_semaphore<>* what;
};
struct Waiting : behavior<Wait> {
  void on(Wait wait) { wait.until->acquire(); }
};
struct Releasing : behavior<Release> {
  void on(Release release) { release.what->release(); }
};

/// Each waits for the next one, and the last one for an actor of the workers, of which there may be only one.
TEST_P(OwnThread, BlocksNoWorker) {
  constexpr int kActors = 10;
  std::vector<std::unique_ptr<std::counting_semaphore<>>> semaphores;
  const auto releasing = spawn<Releasing>();
  std::vector<actor<Wait>> waiting;
  for (int i = 0; i < kActors; ++i) {
    semaphores.push_back(std::make_unique<std::counting_semaphore<>>(0));
    waiting.push_back(spawn<Waiting>(kOwn));
    waiting.back().send(Wait{semaphores.back().get()});
  }
  for (const auto& semaphore : semaphores) releasing.send(Release{semaphore.get()});
  run();
  for (const auto& w : waiting) w.stop();
  releasing.stop();
  run();
  EXPECT_TRUE(living_actors().empty());
}

struct Where {
  std::thread::id* thread;
};
struct Telling : behavior<Where> {
  void on(Where where) { *where.thread = std::this_thread::get_id(); }
};

TEST_P(OwnThread, HandlesAllMessagesOfARunOnOneThread) {
  const auto a = spawn<Telling>(kOwn), b = spawn<Telling>(kOwn);
  std::thread::id of_a[2], of_b;
  a.send(Where{&of_a[0]});
  a.send(Where{&of_a[1]});
  b.send(Where{&of_b});
  run();
  EXPECT_EQ(of_a[0], of_a[1]);
  EXPECT_NE(of_a[0], of_b);
  EXPECT_NE(of_a[0], std::this_thread::get_id());
  a.stop();
  b.stop();
  run();
}

/// While a handler blocks, lists tell so, and name the messages behind it; kill() takes effect after it.
TEST_P(OwnThread, IsListedWhileItsHandlerBlocks) {
  std::counting_semaphore<> until{0};
  const auto waiting = spawn<Waiting>({.name = "the waiting", .thread = ActorThread::own});
  native::Hold hold = native::hold();
  std::thread runner([] { run(); });
  waiting.send(Wait{&until});
  waiting.send(Wait{nullptr});  // never handled
  std::vector<LivingActor> all;
  do {
    all = living_actors();
  } while (all.size() != 1 || !all[0].is_in_handler);
  EXPECT_EQ(all[0].name, "the waiting");
  EXPECT_EQ(all[0].waiting, 1u);
  EXPECT_NE(living_actors_text().find("1 waiting, in a handler on its own thread\n"), std::string::npos);
  waiting.kill();
  EXPECT_EQ(living_actors().size(), 1u);
  until.release();
  hold.close();
  runner.join();
  EXPECT_TRUE(living_actors().empty());
}

struct Number {
  int n;
};
/// Each message is put aside once, which changes the cell's flags.
struct Stashing : behavior<Number> {
  explicit Stashing(std::atomic<int>& handled) : handled_(handled) {}
  void on(Number number) {
    if (std::exchange(was_stashed_, !was_stashed_)) {
      ++handled_;
    } else {
      stash(number);
      unstash_all();
    }
  }
  std::atomic<int>& handled_;
  bool was_stashed_ = false;
};

/// For the thread sanitizer.
TEST_P(OwnThread, StashesWhileItIsListed) {
  constexpr int kMessages = 200;
  std::atomic<int> handled{0};
  const auto stashing = spawn<Stashing>(kOwn, handled);
  native::Hold hold = native::hold();
  std::thread runner([] { run(); });
  for (int i = 0; i < kMessages; ++i) stashing.send(Number{i});
  while (handled < kMessages) EXPECT_EQ(living_actors().size(), 1u);
  hold.close();
  runner.join();
  stashing.stop();
  run();
}

struct Counting : behavior<Number> {
  explicit Counting(std::atomic<int>& sum) : sum_(sum) {}
  void on(Number number) { sum_ += number.n; }
  std::atomic<int>& sum_;
};
struct Filling : behavior<Number> {
  explicit Filling(actor<Number> to) : to_(to) {}
  void on(Number number) {
    for (int i = 0; i < number.n; ++i) to_.send(Number{1});
  }
  actor<Number> to_;
};

struct Ball {
  int left;
};
/// Hands balls to and fro, two for one as long as there are few.
struct Playing : behavior<Ball, actor<Ball>> {
  explicit Playing(std::atomic<int>& handled) : handled_(handled) {}
  void on(actor<Ball> other) { other_ = other; }
  void on(Ball ball) {
    if (++handled_ < 20) other_.send(Ball{ball.left});
    if (ball.left > 0) other_.send(Ball{ball.left - 1});
  }
  std::atomic<int>& handled_;
  actor<Ball> other_;
};

/// A full mailbox mutes the sending actor, and blocks no thread: two that fill each other's go on.
TEST_P(OwnThread, IsMutedLikeEveryActor) {
  std::atomic<int> handled{0};
  const Spawn bounded{.mailbox = {.capacity = 2}, .thread = ActorThread::own};
  const auto a = spawn<Playing>(bounded, handled), b = spawn<Playing>(bounded, handled);
  a.send(actor<Ball>(b));
  b.send(actor<Ball>(a));
  a.send(Ball{100});
  run();
  EXPECT_GT(handled, 100);
  a.stop();
  b.stop();
  run();
}

/// All messages that one handler sends are taken, however full the mailbox.
TEST_P(OwnThread, SendsIntoAFullMailbox) {
  std::atomic<int> sum{0};
  const auto counting = spawn<Counting>({.mailbox = {.capacity = 3}}, sum);
  const auto filling = spawn<Filling>(kOwn, counting);
  filling.send(Number{1000});
  run();
  EXPECT_EQ(sum, 1000);
  filling.stop();
  counting.stop();
  run();
}

/// A run that fails waits for the handler, whose result is dropped, and the actor works in the next run.
TEST_P(OwnThread, LetsARunFailBesideIt) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> sum{0};
    const auto counting = spawn<Counting>({.mailbox = {.capacity = 1}}, sum);
    const auto filling = spawn<Filling>(kOwn, counting);
    std::counting_semaphore<> until{0};
    const auto waiting = spawn<Waiting>(kOwn);
    waiting.send(Wait{&until});
    filling.send(Number{50});
    create<nonspec>(
        [&until] {
          until.release();
          throw 1;
        },
        {});
    EXPECT_THROW(run(), TaskError);
    EXPECT_LE(sum, 50);
    sum = 0;
    filling.send(Number{50});
    until.release();
    waiting.send(Wait{&until});
    run();
    EXPECT_EQ(sum, 50) << round;
    filling.stop();
    waiting.stop();
    counting.stop();
    run();
    ASSERT_TRUE(living_actors().empty());
  }
}

// ---- A handler goes on when its run has ended: what only a run can bring does not come ----

using Act = std::function<void()>;
struct Acting : behavior<Act> {
  void on(const Act& act) { act(); }
};
struct Question {
  using reply = int;
};
struct Answering : behavior<Question> {
  int on(Question) { return 42; }
};

/// The actor's handler calls `act` while a run fails, or after that. @returns what `act` has thrown
std::string error_beside_a_failure(const Act& act, bool waits_for_the_end) {
  const auto acting = spawn<Acting>(kOwn);
  std::atomic<bool> has_begun{false};
  std::string error;
  acting.send(Act([&] {
    has_begun = true;
    while (waits_for_the_end && native::the_shared().is_running()) std::this_thread::yield();
    try {
      for (;;) act();
    } catch (const TaskError& e) {
      error = e.what();
    }
  }));
  create<nonspec>(
      [&has_begun] {
        while (!has_begun) std::this_thread::yield();
        throw 1;
      },
      {});
  EXPECT_THROW(run(), TaskError);
  acting.stop();
  run();
  return error;
}

TEST_P(OwnThread, GetsNoAnswerOnceItsRunHasFailed) {
  for (const Duration patience : {kForever, Duration(std::chrono::hours(1))}) {
    const auto answering = spawn<Answering>();
    const Act act = [&] { EXPECT_EQ(answering.ask(Question{}).get(patience), 42); };
    EXPECT_THAT(error_beside_a_failure(act, true), testing::HasSubstr("get()"));
    EXPECT_THAT(error_beside_a_failure(act, false), testing::Not(testing::IsEmpty()));
    answering.stop();
    run();
  }
}

TEST_P(OwnThread, ListsNoActorsOnceItsRunHasFailed) {
  const Act act = [] { EXPECT_FALSE(living_actors().empty()); };
  EXPECT_THAT(error_beside_a_failure(act, true),
              testing::HasSubstr("living_actors() is called on an actor's own thread"));
}

/// Its algorithms are part of the run, which fails before they are complete, or are refused.
TEST_P(OwnThread, CallsNoAlgorithmOnceItsRunHasFailed) {
  const Act act = [] { parallel_for(0, 100, [](int) {}); };
  EXPECT_THAT(error_beside_a_failure(act, true),
              testing::HasSubstr("an algorithm is called on an actor's own thread"));
  for (int round = 0; round < 50; ++round)
    EXPECT_THAT(error_beside_a_failure(act, false), testing::Not(testing::IsEmpty()));
}

struct Tick {};
struct Later : behavior<Question, Tick> {
  void on(Question, reply<int> answer) {
    waiting_.emplace(std::move(answer));
    after(std::chrono::milliseconds(5), Tick{});
  }
  void on(Tick) { (*waiting_)(42); }
  std::optional<reply<int>> waiting_;
};

/// An algorithm of another thread does not wait for holds, but for handlers, and for what these wait for.
TEST_P(OwnThread, KeepsAnAlgorithmsRunOpen) {
  const auto later = spawn<Later>();
  const auto acting = spawn<Acting>(kOwn);
  std::atomic<int> answer{0};
  acting.send(Act([&] { answer = later.ask(Question{}).get(); }));
  parallel_for(0, 10, [](int) {});
  EXPECT_EQ(answer, 42);
  acting.stop();
  later.stop();
  run();
}

/// Called by an object of an actor's own thread, when that ends.
struct OfThread {
  OfThread() = default;
  OfThread(const OfThread&) = delete;
  OfThread& operator=(const OfThread&) = delete;
  ~OfThread() {
    if (act) act();
  }
  Act act;
};
/// Lets an own thread end with the run or, in the run, with its actor, and calls `act` then. @returns its
/// error
std::string error_at_end_of_thread(bool ends_in_run, const Act& act) {
  std::string error;
  std::atomic<bool> has_ended{false};
  const Act caught = [&] {
    try {
      act();
    } catch (const TaskError& e) {
      error = e.what();
    }
    has_ended = true;
  };
  const auto acting = spawn<Acting>(kOwn);
  acting.send(Act([&caught] {
    static thread_local OfThread object;
    object.act = caught;
  }));
  std::thread closing;
  if (ends_in_run) {
    acting.stop();
    closing = std::thread([&has_ended, hold = native::hold()]() mutable {
      while (!has_ended) std::this_thread::yield();
      hold.close();
    });
  }
  run();
  if (ends_in_run) closing.join();
  acting.stop();
  run();
  return error;
}

struct Silent : behavior<Question> {
  void on(Question, reply<int> answer) { kept.push_back(std::move(answer)); }
  std::vector<reply<int>> kept;
};

/// A worker waits for the end of the thread, which would wait for a worker.
TEST_P(OwnThread, CallsNothingThatWaitsForTheRunWhenItEnds) {
  using testing::HasSubstr;
  const auto silent = spawn<Silent>();
  for (const bool ends_in_run : {true, false}) {
    const auto error_of = [ends_in_run](const Act& act) { return error_at_end_of_thread(ends_in_run, act); };
    EXPECT_THAT(error_of([] { parallel_for(0, 100, [](int) {}); }), HasSubstr("an algorithm is called on"));
    EXPECT_THAT(error_of([] { static_cast<void>(living_actors()); }),
                HasSubstr("living_actors() is called on"));
    EXPECT_THAT(error_of([] { static_cast<void>(shutdown()); }), Not(testing::IsEmpty()));
    for (const Duration patience : {kForever, Duration(std::chrono::hours(1))})
      EXPECT_THAT(error_of([&] { static_cast<void>(silent.ask(Question{}).get(patience)); }),
                  HasSubstr("answer::get()"));
  }
  silent.stop();
  run();
}

/// Between runs a thread does not wait for room either.
TEST_P(OwnThread, WaitsForNoRoomWhenItEnds) {
  struct Answers : behavior<Question> {
    explicit Answers(std::atomic<int>& to) : count(to) {}
    void on(Question, reply<int> answer) { answer(++count); }
    std::atomic<int>& count;
  };
  for (const bool ends_in_run : {true, false}) {
    std::atomic<int> count{0};
    const auto answers = spawn<Answers>({.mailbox = {.capacity = 1}}, std::ref(count));
    EXPECT_EQ(error_at_end_of_thread(ends_in_run,
                                     [&] {
                                       for (int i = 0; i < 5; ++i) answers.send(Question{});
                                     }),
              "");
    EXPECT_EQ(count, 5);
    answers.stop();
    run();
  }
}

}  // namespace
