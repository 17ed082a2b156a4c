// OutsideEvents and delayed tasks on several workers, beside threads that set them at any time: run() waits
// for all of them, none is lost, and a run that fails drops them. What they mean is in tests/conformance.
// R10 and R11.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "native/engine.hpp"
#include "rubato/actors.hpp"
#include "rubato/algorithms.hpp"
#include "rubato/coroutine.hpp"
#include "rubato/delayed.hpp"
#include "rubato/outside_event.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;
using namespace std::chrono_literals;

class OutsideEvents : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
  void TearDown() override { EXPECT_EQ(native::the_engine().unset_events.count(), 0u); }
};
INSTANTIATE_TEST_SUITE_P(Workers, OutsideEvents, testing::Values(1u, 2u, 8u));

std::string error_of_run() {
  try {
    run();
  } catch (const TaskError& e) {
    return e.what();
  }
  return "";
}

/// A thread that sets the events it is given, as the thread of a library does.
class Setter {
 public:
  Setter() : thread_([this] { work(); }) {}
  ~Setter() {
    must_end_ = true;
    thread_.join();
  }
  void add(std::shared_ptr<OutsideEvent> event) {
    const std::lock_guard lock(mutex_);
    given_.push_back(std::move(event));
  }

 private:
  void work() {
    while (!must_end_ || !given_.empty()) {
      std::vector<std::shared_ptr<OutsideEvent>> taken;
      {
        const std::lock_guard lock(mutex_);
        taken.swap(given_);
      }
      for (const auto& event : taken) event->set();
      if (taken.empty()) std::this_thread::yield();
    }
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<OutsideEvent>> given_;
  std::atomic<bool> must_end_{false};
  std::thread thread_;
};

/// The group is the task's that waits for it.
struct Request {
  explicit Request(unsigned left_rounds) : left(left_rounds) {}
  TaskGroup arrived;
  std::uint64_t written = 0;
  unsigned left;
};

/// Each request waits again and again, and is gone after its last round.
struct Rounds {
  void ask(std::shared_ptr<Request> request) {
    const auto event = std::make_shared<OutsideEvent>(request->arrived);
    TaskGroup* const arrived = &request->arrived;
    create<nonspec>(
        [this, request = std::move(request)] {
          ++answers;
          if (--request->left != 0) ask(request);
        },
        {.after = arrived});
    setter.add(event);
  }
  std::atomic<std::uint64_t> answers{0};
  Setter setter;
};

TEST_P(OutsideEvents, NoneIsLostOfManyRequests) {
  constexpr unsigned kRequests = 100, kRounds = 50;
  Rounds rounds;
  for (unsigned i = 0; i < kRequests; ++i)
    create<nonspec>([&] { rounds.ask(std::make_shared<Request>(kRounds)); }, {});
  run();
  EXPECT_EQ(rounds.answers, kRequests * kRounds);
}

/// A single event at a time: all workers go to sleep between two, and the end of the run is near each time.
TEST_P(OutsideEvents, WakeWorkersThatSleep) {
  Rounds rounds;
  create<nonspec>([&rounds] { rounds.ask(std::make_shared<Request>(2000)); }, {});
  run();
  EXPECT_EQ(rounds.answers, 2000u);
}

TEST_P(OutsideEvents, MayBeSetWhileARunBeginsAndEnds) {
  for (unsigned round = 0; round < 500; ++round) {
    std::atomic<unsigned> ran{0};
    TaskGroup arrived;
    OutsideEvent event(arrived);
    std::thread other([&event] { event.set(); });
    create<nonspec>([&ran] { ++ran; }, {.after = &arrived});
    run();
    EXPECT_EQ(ran, 1u);
    other.join();
  }
}

/// The task that waits sees all that the thread wrote before set(): ThreadSanitizer tells.
TEST_P(OutsideEvents, OrderTheThreadBeforeTheTask) {
  constexpr unsigned kEvents = 200;
  struct Read {
    TaskGroup arrived;
    OutsideEvent event{arrived};
    std::uint64_t data = 0;
  };
  std::vector<std::unique_ptr<Read>> reads;
  std::atomic<std::uint64_t> sum{0};
  for (unsigned i = 0; i < kEvents; ++i) {
    reads.push_back(std::make_unique<Read>());
    create<nonspec>([&sum](Read* read) { sum += read->data; }, {.after = &reads.back()->arrived},
                    reads.back().get());
  }
  std::thread other([&reads] {
    for (const auto& read : reads) {
      read->data = 3;
      read->event.set();
    }
  });
  run();
  other.join();
  EXPECT_EQ(sum, 3 * kEvents);
}

TEST_P(OutsideEvents, LetTheWorkerRunOtherTasksMeanwhile) {
  std::atomic<unsigned> ran{0};
  TaskGroup arrived;
  OutsideEvent event(arrived);
  create<nonspec>([&ran] { ran += 1000; }, {.after = &arrived});
  for (unsigned i = 0; i < 100; ++i) create<nonspec>([&ran] { ++ran; }, {});
  std::thread other([&] {
    while (ran < 100) std::this_thread::yield();
    EXPECT_EQ(ran, 100u);
    event.set();
  });
  run();
  other.join();
  EXPECT_EQ(ran, 1100u);
}

/// As while a hold is open.
TEST_P(OutsideEvents, LetAllThreadsCreateTasks) {
  std::atomic<unsigned> ran{0};
  std::atomic<bool> is_running{false};
  TaskGroup arrived;
  OutsideEvent event(arrived);
  create<nonspec>([&is_running] { is_running = true; }, {});
  std::thread other([&] {
    while (!is_running) std::this_thread::yield();
    TaskGroup second;
    OutsideEvent own(second);
    create<nonspec>([&ran] { ++ran; }, {.group = &second});
    create<nonspec>([&ran] { ran += 10; }, {.after = &second});
    own.set();
    while (ran != 11) std::this_thread::yield();
    event.set();
  });
  run();
  other.join();
  EXPECT_EQ(ran, 11u);
}

TEST_P(OutsideEvents, KeepAlgorithmsOpenToo) {
  std::atomic<unsigned> ran{0};
  Rounds rounds;
  parallel_for(0, 20, [&](int) {
    ++ran;
    rounds.ask(std::make_shared<Request>(3));
  });
  EXPECT_EQ(ran, 20u);
  EXPECT_EQ(rounds.answers, 60u);
}

/// The run fails at any moment of the events' lives; nothing of it is left, and the address sanitizer is
/// content.
TEST_P(OutsideEvents, AreDroppedByARunThatFailsAtAnyTime) {
  for (unsigned round = 0; round < 300; ++round) {
    Rounds rounds;
    for (unsigned i = 0; i < 20; ++i)
      create<nonspec>([&rounds] { rounds.ask(std::make_shared<Request>(1000)); }, {});
    create_later<nonspec>(std::chrono::microseconds(round), [] { throw std::runtime_error("as asked"); }, {});
    EXPECT_NE(error_of_run().find("as asked"), std::string::npos);
    EXPECT_EQ(native::the_engine().unset_events.count(), 0u);
  }
  unsigned ran = 0;
  create<nonspec>([&ran] { ++ran; }, {});
  run();
  EXPECT_EQ(ran, 1u);
}

TEST_P(OutsideEvents, AreDroppedWithTasksThatNeverRun) {
  const auto owned = std::make_shared<int>(0);
  TaskGroup arrived, set;
  OutsideEvent event(arrived), early(set);
  create<nonspec>([owned] {}, {.after = &arrived});
  create<nonspec>([owned] {}, {.after = &set});
  create_later<nonspec>(1h, [owned] {}, {});
  early.set();
  native::drop_pending();
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_TRUE(arrived.is_complete());
  EXPECT_TRUE(set.is_complete());
  event.set();  // late: nothing happens
  run();
}

TEST_P(OutsideEvents, ThatAreDestroyedInARunEndIt) {
  auto event = std::make_unique<OutsideEvent>();
  TaskGroup arrived;
  *event = OutsideEvent(arrived, "reader.cpp", 17);
  std::atomic<bool> has_run{false};
  create<nonspec>([&has_run] { has_run = true; }, {.after = &arrived});
  std::thread other([&event] { event.reset(); });
  EXPECT_NE(error_of_run().find("the OutsideEvent made at reader.cpp:17 was destroyed before set()"),
            std::string::npos);
  other.join();
  EXPECT_FALSE(has_run);
}

TEST_P(OutsideEvents, AreRefusedInATaskThatMayRunTwice) {
  if (GetParam() == 1) return;  // none runs twice there
  const auto resource = make_resource<int>({.isolation = Isolation::shared_reads}, 0);
  create<nonspec>(
      [] {
        TaskGroup group;
        OutsideEvent(group).set();
      },
      {.on = resource, .access = reads});
  EXPECT_NE(error_of_run().find("in a task that only reads a resource"), std::string::npos);
  create<nonspec>([] { create_later<nonspec>(1ms, [] {}, {}); }, {.on = resource, .access = reads});
  EXPECT_NE(error_of_run().find("in a task that only reads a resource"), std::string::npos);
  remove(resource);
}

TEST_P(OutsideEvents, AreRefusedToAThreadThatMayNotCreateTasks) {
  std::atomic<bool> is_running{false}, is_over{false};
  create<nonspec>(
      [&] {
        is_running = true;
        while (!is_over) std::this_thread::yield();
      },
      {});
  std::thread other([&] {
    while (!is_running) std::this_thread::yield();
    TaskGroup group;
    EXPECT_THROW(OutsideEvent{group}, TaskError);
    EXPECT_TRUE(group.is_complete());
    is_over = true;
  });
  run();
  other.join();
}

/// Standard error names the event that a run waits for, in place of a silent standstill.
TEST_P(OutsideEvents, ThatMayHaveBeenForgottenAreNamedOnce) {
  native::Options options = native::options();
  const native::Options before = options;
  options.standstill_seconds = 1;
  native::configure(options);
  static bool has_been_said = false;  // once in a process
  testing::internal::CaptureStderr();
  TaskGroup arrived;
  OutsideEvent event(arrived, "reader.cpp", 17);
  std::thread other([&event] {
    std::this_thread::sleep_for(2500ms);
    event.set();
  });
  run();
  other.join();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("run() has waited for nothing but 1 OutsideEvent, made at reader.cpp:17: it goes on "
                      "when set() is called (RUBATO_STANDSTILL=0 leaves this out)") == std::string::npos,
            has_been_said)
      << said;
  has_been_said = true;
  native::configure(before);
}

// ---- Delayed tasks ----

struct Tick {};
struct Ticking : behavior<Tick> {
  explicit Ticking(std::atomic<unsigned>* counted) : ticks(counted) { after(3ms, Tick{}); }
  void on(Tick) {
    ++*ticks;
    create_later<nonspec>(2ms, [t = ticks] { *t += 10; }, {});
    stop();
  }
  std::atomic<unsigned>* ticks;
};

/// Delayed tasks and timers of actors share a thread; both keep a run open.
TEST_P(OutsideEvents, DelayedTasksGoTogetherWithTimersOfActors) {
  std::atomic<unsigned> ticks{0};
  spawn<Ticking>(&ticks);
  create_later<nonspec>(1ms, [&ticks] { ticks += 100; }, {});
  run();
  EXPECT_EQ(ticks, 111u);
}

TEST_P(OutsideEvents, DelayedTasksAndAManualClockExcludeEachOther) {
  DelayedTask task = create_later<nonspec>(1h, [] {}, {});
  EXPECT_THROW(manual_clock{}, TaskError);
  task.cancel();
  run();
  const manual_clock clock;
  EXPECT_THROW(create_later<nonspec>(1ms, [] {}, {}), TaskError);
}

TEST_P(OutsideEvents, ManyDelayedTasksAllRun) {
  constexpr unsigned kTasks = 2000;
  std::atomic<unsigned> ran{0}, early{0};
  TaskGroup all;
  for (unsigned i = 0; i < kTasks; ++i) {
    const auto due = TaskClock::now() + std::chrono::microseconds(10 * (i % 100));
    create_later<nonspec>(due,
                          [&, due] {
                            ++ran;
                            early += TaskClock::now() < due ? 1 : 0;
                          },
                          {.group = &all});
  }
  create<nonspec>([&ran] { ran += ran == kTasks ? 1 : 0; }, {.after = &all});
  run();
  EXPECT_EQ(ran, kTasks + 1);
  EXPECT_EQ(early, 0u);
}

// ---- Coroutines ----

Coroutine ask_again(Setter* setter, std::atomic<unsigned>* answers, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) {
    TaskGroup arrived;
    const auto event = std::make_shared<OutsideEvent>(arrived);
    setter->add(event);
    co_await completed(arrived);
    ++*answers;
    if (round % 16 == 0) co_await passed(10us);
  }
}

TEST_P(OutsideEvents, ManyCoroutinesWaitAtOnce) {
  Setter setter;
  std::atomic<unsigned> answers{0};
  GuardedGroup all;
  for (unsigned i = 0; i < 50; ++i) create<nonspec>(ask_again(&setter, &answers, 50), {.group = &all});
  run();
  all.rethrow_if_failed();
  EXPECT_EQ(answers, 2500u);
  EXPECT_TRUE(all.is_complete());
}

/// The run fails while they run, wait for a thread, or wait for their time.
TEST_P(OutsideEvents, CoroutinesOfARunThatFailsAreDestroyed) {
  for (unsigned round = 0; round < 100; ++round) {
    Setter setter;
    std::atomic<unsigned> answers{0};
    for (unsigned i = 0; i < 10; ++i) create<nonspec>(ask_again(&setter, &answers, 100'000), {});
    create_later<nonspec>(std::chrono::microseconds(10 * round), [] { throw 42; }, {});
    EXPECT_NE(error_of_run().find("of an unknown type"), std::string::npos);
  }
}

}  // namespace
