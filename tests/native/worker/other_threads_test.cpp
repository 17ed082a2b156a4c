// Concurrent calls of several threads: on one object, or while run() begins. R10 and R11.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "native/engine.hpp"
#include "native/worker/worker.hpp"
#include "rubato/actors.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

constexpr unsigned kRounds = 20'000;

/// Calls `act(round)` in two threads, for each round as nearly at once as can be. A round takes less than a
/// microsecond, but on a busy machine perhaps a time slice of another program: then there are fewer rounds.
/// @returns how many
unsigned at_once(const std::function<void(unsigned)>& act) {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned kLeast = 200;
  const Clock::time_point enough = Clock::now() + std::chrono::milliseconds(200);
  std::atomic<unsigned> arrived{0}, last{kRounds};
  const auto take_part = [&](bool decides) {
    for (unsigned round = 0;; ++round) {
      if (decides && round >= kLeast && Clock::now() > enough) last = std::min(round, kRounds);
      ++arrived;
      for (unsigned i = 0; arrived < 2 * (round + 1); ++i) {
        if (i > 1000) std::this_thread::yield();
      }
      if (round >= last) return;
      act(round);
    }
  };
  std::thread other(take_part, false);
  take_part(true);
  other.join();
  return last;
}

TEST(OtherThreads, MayCloseAHoldAtOnce) {
  use_workers(2);
  struct alignas(64) OnItsLine {  // which both threads get late, and at about the same time
    native::Hold hold = native::hold();
  };
  std::vector<OnItsLine> holds(kRounds);
  for (unsigned left = at_once([&](unsigned round) { holds[round].hold.close(); }); left < kRounds; ++left)
    holds[left].hold.close();
  EXPECT_EQ(native::the_engine().holds(), 0u);
}

struct Question {
  using reply = int;
};
struct Answering : behavior<Question> {
  int on(Question) { return 42; }
};

/// The answer comes once run() has begun; until then the thread waits.
TEST(OtherThreads, MayAskBeforeRunBeginsWhileAHoldIsOpen) {
  use_workers(2);
  native::Hold hold = native::hold();
  std::atomic<bool> has_asked{false};
  int got = 0;
  std::thread asker([&] {
    const actor<Question> asked = spawn<Answering>();
    auto coming = asked.ask(Question{});
    has_asked = true;
    got = std::move(coming).get();
    asked.stop();
    hold.close();
  });
  while (!has_asked) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // get() waits by now
  run();
  asker.join();
  EXPECT_EQ(got, 42);
}

std::atomic<unsigned> destroyed{0};
struct Object {
  ~Object() { ++destroyed; }
};

/// As tasks of two workers do: in a run, so that nothing is freed before all have tried.
TEST(OtherThreads, AreToldWhoRemovesAnObjectThatTheOtherRemoves) {
  use_workers(2);
  destroyed = 0;
  std::vector<resource<Object>> objects;
  for (unsigned i = 0; i < kRounds; ++i) objects.push_back(make_resource<Object>({}));
  std::atomic<unsigned> refused{0};
  std::atomic<bool> is_running{false};
  create<nonspec>([&is_running] { is_running = true; }, {});
  native::Hold hold = native::hold();
  std::thread remover([&] {
    while (!is_running) std::this_thread::yield();
    const unsigned rounds = at_once([&](unsigned round) {
      try {
        remove(objects[round]);
      } catch (const TaskError&) {
        ++refused;
      }
    });
    EXPECT_EQ(refused, rounds);
    for (unsigned left = rounds; left < kRounds; ++left) remove(objects[left]);
    hold.close();
  });
  run();
  remover.join();
  EXPECT_EQ(destroyed, kRounds);
}

std::atomic<bool> has_run_late{false};

/// Hands a task over as create() of another thread does that has seen no run, and lost its CPU then.
void create_late(std::uint64_t at) {
  engine::ThreadState& self = engine::attach_thread();
  auto* const task = static_cast<engine::Task*>(self.heap.allocate<sizeof(engine::Task)>());
  task->handle = engine::handle_of<TaskType::nonspec>(self, {.at = at}, false);
  engine::fill_task(task, [] { has_run_late = true; });
  task->words[engine::kInlineWords - 1] = at;
  native::Engine& engine = native::the_engine();
  if (engine.inbox.push(task, task)) engine.inbox_ready.add(0, native::kNormalRank);
  engine.events.notify_all();
}

/// The order of a task that comes late would depend on how far the run is: the run ends with an error.
TEST(OtherThreads, EndARunThatBeganWhileTheyCreatedATimestamp) {
  for (const unsigned workers : {1u, 2u, 8u}) {
    use_workers(workers);
    has_run_late = false;
    std::atomic<bool> is_running{false};
    std::atomic<unsigned> ran{0};
    for (std::uint64_t at = 1; at < 10; ++at) create<nonspec>([&ran] { ++ran; }, {.at = at});
    create<nonspec>([&is_running] { is_running = true; }, {.at = 10});
    native::Hold hold = native::hold();
    std::thread other([&] {
      while (!is_running) std::this_thread::yield();
      create_late(5);
      hold.close();
    });
    try {
      run();
      ADD_FAILURE() << "run() throws";
    } catch (const TaskError& e) {
      EXPECT_NE(std::string(e.what()).find("is created by another thread"), std::string::npos) << e.what();
    }
    other.join();
    EXPECT_FALSE(has_run_late);
    EXPECT_EQ(ran, 9u);
    create<nonspec>([&ran] { ++ran; }, {.at = 1});
    run();
    EXPECT_EQ(ran, 10u);
  }
}

/// The same at the end: another worker takes the task when it is about to pause. Here this thread does it.
TEST(OtherThreads, EndARunThatEndsWhileTheyCreatedATimestamp) {
  use_workers(2);
  std::atomic<unsigned> ran{0};
  const auto count = [&ran] { ++ran; };
  create<nonspec>(count, {});
  run();
  create<nonspec>(count, {.at = 5});
  native::Worker& other = native::the_engine().worker(1);
  EXPECT_TRUE(native::has_emptied(other.empty_inbox()));
  other.seen.has_kept.store(true);  // as it says when it pauses
  try {
    run();
    ADD_FAILURE() << "run() throws";
  } catch (const TaskError& e) {
    EXPECT_NE(std::string(e.what()).find("is created by another thread"), std::string::npos) << e.what();
  }
  EXPECT_EQ(ran, 1u);
  create<nonspec>(count, {.at = 1});
  run();
  EXPECT_EQ(ran, 2u);
}

/// ThreadSanitizer tells.
TEST(Counters, MayBeReadWhileThePrefetchDistanceAdapts) {
  native::Options options = native::options();
  const native::Options before = options;
  options.workers = 2;
  options.oversubscribe = true;
  options.prefetch = {native::PrefetchMode::Kind::adapted, 4};
  native::configure(options);
  std::atomic<bool> is_over{false};
  std::thread reader([&is_over] {
    while (!is_over) EXPECT_LE(native::counters().prefetch_distance, 32u);
  });
  for (int i = 0; i < 50'000; ++i) create<nonspec>([] {}, {});
  run();
  is_over = true;
  reader.join();
  native::configure(before);
}

/// On x86 only ThreadSanitizer can tell: a count shows what was before it.
TEST(Counts, ShowWhatWasDoneBeforeTheyWereIncreased) {
  native::Count created, finished;
  std::uint64_t plain = 0;
  std::thread counting([&] {
    plain = 17;
    created.add();
    finished.add_ordered();
  });
  while (finished.get_ordered() == 0) std::this_thread::yield();
  EXPECT_EQ(plain, 17u);
  EXPECT_EQ(created.get(), 1u);
  counting.join();
}

}  // namespace
