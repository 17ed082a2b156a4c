// Nothing runnable stays behind a task that goes on: what its worker holds and what the task has created runs
// on a worker that is idle. In each test tasks wait for each other, so that it ends only if this holds.
// R2 and R10.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/actors.hpp"
#include "rubato/algorithms.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

constexpr int kRounds = 40;

class Watch : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
  unsigned workers() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Workers, Watch, testing::Values(2u, 3u, 8u));

/// Short tasks of the same function before: it is not taken for a long one.
template <class F>
void make_known_as_short(F function) {
  for (int i = 0; i < 2000; ++i) create<nonspec>(function, {}, static_cast<std::barrier<>*>(nullptr));
  run();
}
void meet(std::barrier<>* barrier) {
  if (barrier != nullptr) barrier->arrive_and_wait();
}

TEST_P(Watch, LetsPartsOfALoopMeet) {
  for (int round = 0; round < kRounds; ++round) {
    std::barrier<> barrier(workers());
    parallel_for(blocked_range<unsigned>(0, workers(), 1), [&](const auto&) { meet(&barrier); });
  }
}

TEST_P(Watch, LetsTasksMeetThatWereCreatedBeforeTheRun) {
  make_known_as_short(meet);
  for (int round = 0; round < kRounds; ++round) {
    std::barrier<> barrier(workers());
    for (unsigned i = 0; i < workers(); ++i) create<nonspec>(meet, {}, &barrier);
    run();
  }
}

TEST_P(Watch, LetsTasksOfATaskMeet) {
  make_known_as_short(meet);
  for (int round = 0; round < kRounds; ++round) {
    std::barrier<> barrier(workers());
    create<nonspec>(
        [](std::barrier<>* b, unsigned count) {
          for (unsigned i = 0; i < count; ++i) create<nonspec>(meet, {}, b);
        },
        {}, &barrier, workers());
    run();
  }
}

/// A task that meets those that it has created itself, one more each time.
TEST_P(Watch, LetsATaskMeetItsChildren) {
  for (unsigned children = 1; children < workers(); ++children) {
    for (int round = 0; round < kRounds / 4; ++round) {
      std::barrier<> barrier(children + 1);
      create<nonspec>(
          [](std::barrier<>* b, unsigned count) {
            for (unsigned i = 0; i < count; ++i) create<nonspec>(meet, {}, b);
            meet(b);
          },
          {}, &barrier, children);
      run();
    }
  }
}

/// A reader of a file, or a coordinator: it creates, goes on, and creates more.
TEST_P(Watch, HandsOverWhatALongTaskCreatesOneAfterTheOther) {
  std::atomic<int> ran{0};
  create<nonspec>(
      [&ran] {
        for (int i = 0; i < kRounds / 4; ++i) {
          create<nonspec>([&ran] { ++ran; }, {});
          while (ran <= i) std::this_thread::yield();
        }
      },
      {});
  run();
  EXPECT_EQ(ran, kRounds / 4);
}

/// Each kind of private list; in groups and with arguments of two lines, too.
TEST_P(Watch, HandsOverTasksOfEveryKind) {
  static std::atomic<int> ran;
  const auto child = [](std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d, std::uint64_t e) {
    if (a + b + c + d + e == 15) ++ran;
  };
  const std::array<Annotations, 4> kinds = {
      {{}, {.priority = Priority::high}, {.priority = Priority::low}, {.fair = true}}};
  for (unsigned kind = 0; kind < 2 * kinds.size(); ++kind) {
    ran = 0;
    TaskGroup group;
    std::atomic<bool> is_behind{false};
    Annotations annotations = kinds[kind / 2];
    if (kind % 2 != 0) annotations.group = &group;
    create<nonspec>(
        [&annotations, child] {
          for (int i = 0; i < 5; ++i) create<nonspec>(child, annotations, 1ul, 2ul, 3ul, 4ul, 5ul);
          while (ran != 5) std::this_thread::yield();
        },
        {.group = &group});
    create<nonspec>([&is_behind] { is_behind = ran == 5; }, {.after = &group});
    run();
    EXPECT_TRUE(is_behind) << "kind " << kind;
    EXPECT_TRUE(group.is_complete());
  }
}

/// Whatever a callable holds moves with it, and is destroyed once.
TEST_P(Watch, HandsOverCallablesThatOwn) {
  std::atomic<int> ran{0};
  const auto owned = std::make_shared<int>(17);
  create<nonspec>(
      [&ran, owned] {
        create<nonspec>([&ran, owned] { ran += *owned; }, {});
        while (ran != 17) std::this_thread::yield();
        create<nonspec>(
            [&ran, text = std::string("0123456789"), owned] { ran += text == "0123456789" ? *owned : 0; },
            {});
        while (ran != 34) std::this_thread::yield();
      },
      {});
  run();
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_P(Watch, CountsTasksOnce) {
  std::atomic<int> ran{0};
  const native::Counters before = native::counters();
  create<nonspec>(
      [&ran] {
        for (int i = 0; i < 3; ++i) create<nonspec>([&ran] { ++ran; }, {});
        while (ran != 3) std::this_thread::yield();
      },
      {});
  run();
  const native::Counters after = native::counters();
  EXPECT_EQ(after.tasks_created - before.tasks_created, 4u);
  EXPECT_EQ(after.tasks_run - before.tasks_run, 4u);
}

/// The parent's worker is left with what stands for a task that ran elsewhere, and drops it.
TEST_P(Watch, CountsTasksOnceWhenTheyFailElsewhere) {
  for (int round = 0; round < kRounds / 4; ++round) {
    std::atomic<bool> has_begun{false};
    create<nonspec>(
        [&has_begun] {
          create<nonspec>(
              [&has_begun] {
                has_begun = true;
                throw std::runtime_error("elsewhere");
              },
              {});
          while (!has_begun) std::this_thread::yield();
          std::this_thread::sleep_for(std::chrono::milliseconds(2));  // until the run has failed
        },
        {});
    EXPECT_THROW(run(), TaskError);
    EXPECT_EQ(native::counters().tasks_created, native::counters().tasks_run);
  }
}

/// An exception ends the run, and what was handed over is destroyed as everything is.
TEST_P(Watch, IsNoneOfAFailuresBusiness) {
  for (int round = 0; round < kRounds / 4; ++round) {
    const auto owned = std::make_shared<int>(0);
    std::atomic<bool> has_failed{false};
    create<nonspec>(
        [&has_failed, owned] {
          for (int i = 0; i < 300; ++i) create<nonspec>([owned] {}, {});
          create<nonspec>(
              [&has_failed] {
                has_failed = true;
                throw 1;
              },
              {.priority = Priority::high});
          while (!has_failed) std::this_thread::yield();
        },
        {});
    EXPECT_THROW(run(), TaskError);
    EXPECT_EQ(owned.use_count(), 1);
  }
}

struct Ask {
  std::atomic<bool>* was_handled;
};
struct Told : behavior<Ask> {
  void on(const Ask& ask) { *ask.was_handled = true; }
};
struct Begin {
  actor<Ask> other;
  std::atomic<bool>* was_handled;
};
struct Telling : behavior<Begin> {
  void on(const Begin& begin) {
    begin.other.send(Ask{begin.was_handled});
    while (!*begin.was_handled) std::this_thread::yield();
  }
};

/// Messages that a handler has sent do not wait until it ends.
TEST_P(Watch, HandsOverTheTurnsOfActors) {
  for (int round = 0; round < kRounds / 4; ++round) {
    std::atomic<bool> was_handled{false};
    const actor<Ask> told = spawn<Told>();
    const actor<Begin> telling = spawn<Telling>();
    telling.send(Begin{told, &was_handled});
    run();
    EXPECT_TRUE(was_handled);
    telling.stop();
    told.stop();
    run();
  }
}

using Clock = std::chrono::steady_clock;
void spin(std::chrono::microseconds how_long) {
  const Clock::time_point end = Clock::now() + how_long;
  while (Clock::now() < end) {
  }
}
struct Stamped {
  Clock::time_point at;
};
struct Least : behavior<Stamped> {
  explicit Least(std::atomic<Clock::duration>& found) : found_(found) {}
  void on(Stamped sent) { found_ = std::min(found_.load(), Clock::now() - sent.at); }
  std::atomic<Clock::duration>& found_;
};
struct Step {
  int left;
};
struct Ignoring : behavior<Step> {
  void on(Step) {}
};
/// Short handlers, each of which makes a turn due, then a long one.
struct Mixed : behavior<Step> {
  Mixed(actor<Stamped> to, actor<Step> other) : to_(to), other_(other) {}
  void on(Step step) {
    if (step.left != 0) {
      spin(std::chrono::microseconds(1));
      other_.send(step);
      return self().send(Step{step.left - 1});
    }
    to_.send(Stamped{Clock::now()});
    spin(std::chrono::microseconds(2000));
  }
  actor<Stamped> to_;
  actor<Step> other_;
};

/// By one look at the worker's clock: two looks at the same handler would be half a millisecond apart, or a
/// whole one from the send.
TEST_P(Watch, FindsALongHandlerBehindShortOnesByASingleLook) {
  constexpr std::chrono::microseconds kMost{900};
  std::atomic<Clock::duration> found{Clock::duration::max()};
  const actor<Stamped> least = spawn<Least>(found);
  const actor<Step> ignoring = spawn<Ignoring>(), mixed = spawn<Mixed>(least, ignoring);
  for (int round = 0; round < 200 && found.load() > kMost; ++round) {
    mixed.send(Step{12'000});
    run();
  }
  EXPECT_LE(found.load(), kMost);
  mixed.stop();
  ignoring.stop();
  least.stop();
  run();
}

struct Each {
  std::atomic<int>* gone_out;
};
constexpr int kSends = 400, kGoneOut = 10;
/// Sends to one actor after the other, until some messages have gone out by their sends themselves.
struct SendingEach : behavior<Each> {
  void on(const Each& each) {
    for (int i = 0; i < kSends && *each.gone_out < kGoneOut; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // the other worker idles meanwhile
      std::atomic<bool> was_handled{false};
      const actor<Ask> told = spawn<Told>();
      const std::uint64_t before = native::counters().chunks_published;
      told.send(Ask{&was_handled});
      if (native::counters().chunks_published != before) ++*each.gone_out;
      while (!was_handled) std::this_thread::yield();
      told.stop();
    }
  }
};

/// A handler that was found to be long publishes by each send: nothing it sends later waits for the watch,
/// which itself publishes within a send very rarely.
TEST_P(Watch, LetsALongHandlerPublishByItsSends) {
  std::atomic<int> gone_out{0};
  const actor<Each> sending = spawn<SendingEach>();
  sending.send(Each{&gone_out});
  run();
  EXPECT_EQ(gone_out, kGoneOut);
  sending.stop();
  run();
}

/// Two tasks on two workers wait for a third one.
void stand_still(unsigned seconds) {
  native::Options options = native::options();
  options.workers = 2;
  options.oversubscribe = true;
  options.standstill_seconds = seconds;
  native::configure(options);
  std::atomic<int> begun{0};
  for (int i = 0; i < 3; ++i) {
    create<nonspec>(
        [&begun] {
          ++begun;
          while (begun != 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        },
        {});
  }
  // The first words are waited for, however long they take; for none, and for second ones, a while.
  int ends[2];
  if (pipe(ends) != 0) std::_Exit(1);
  const int real = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  std::thread([real, from = ends[0], seconds] {
    std::array<char, 1000> text{};
    const auto pass_on = [&] {
      const ssize_t size = read(from, text.data(), text.size());
      if (size > 0 && write(real, text.data(), static_cast<std::size_t>(size)) != size) std::_Exit(1);
    };
    if (seconds != 0) pass_on();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    fcntl(from, F_SETFL, O_NONBLOCK);
    pass_on();
    std::_Exit(7);
  }).detach();
  run();
}

TEST(Standstill, IsSaidOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      stand_still(1), testing::ExitedWithCode(7),
      "^rubato: no task has started or ended for 1 s though tasks wait: each of the 2 workers is in a "
      "task, one of them in [^\n]*; a task that waits for another one keeps its worker "
      "\\(RUBATO_STANDSTILL=0 leaves this out\\)\n$");
  EXPECT_EXIT(stand_still(0), testing::ExitedWithCode(7), "^$");
}

}  // namespace
