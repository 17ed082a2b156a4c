// When configure() may be called: between runs, while nothing can create tasks. R3.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "actors/living.hpp"
#include "rubato/actors.hpp"
#include "rubato/algorithms.hpp"
#include "rubato/delayed.hpp"
#include "rubato/outside_event.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;
using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The error of configure(), or nothing.
std::string refusal(unsigned workers) {
  try {
    use_workers(workers);
  } catch (const TaskError& e) {
    return e.what();
  }
  return {};
}

void fail_run() {
  create<nonspec>([] { throw std::runtime_error("as asked"); }, {});
  EXPECT_THROW(run(), TaskError);
}

class Configure : public ::testing::Test {
 protected:
  void SetUp() override { use_workers(2); }
};

TEST_F(Configure, IsRefusedWhileAHoldLetsOtherThreadsCreateTasks) {
  native::Hold open = native::hold();
  EXPECT_THAT(refusal(3), HasSubstr("while a native::hold() is open"));
  open.close();
  EXPECT_EQ(refusal(3), "");
}

struct Tick {};
struct Clock : behavior<Tick> {
  Clock() { every(1ms, Tick{}); }
  void on(Tick) {}
};

/// Whether its message has just come or not.
TEST_F(Configure, IsRefusedWhileATimerThatAFailedRunHasLeftIsPending) {
  const auto clock = spawn<Clock>();
  fail_run();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(refusal(3), HasSubstr("a timer of an actor is pending"));
    std::this_thread::sleep_for(500us);
  }
  clock.stop();
  run();
  EXPECT_EQ(refusal(3), "");
}

TEST_F(Configure, IsRefusedWhileAnOutsideEventIsNotSet) {
  TaskGroup group;
  OutsideEvent event(group);
  EXPECT_THAT(refusal(3), HasSubstr("while an OutsideEvent is not set"));
  event.set();
  EXPECT_THAT(refusal(3), HasSubstr("while there are tasks"));
  run();
  EXPECT_EQ(refusal(3), "");
}

TEST_F(Configure, IsRefusedWhileADelayedTaskWaitsButNotWhenItsRunHasFailed) {
  create_later<nonspec>(1h, [] {}, {});
  EXPECT_THAT(refusal(3), HasSubstr("a delayed task waits for its time"));
  fail_run();
  EXPECT_EQ(refusal(3), "");
}

TEST_F(Configure, IsRefusedInTasksAndInDestructorsOfTasksThatAreDropped) {
  std::string in_task, at_end;
  create<nonspec>([&in_task] { in_task = refusal(3); }, {});
  run();
  EXPECT_THAT(in_task, HasSubstr("in a task or while a run goes on"));
  struct AtEnd {
    explicit AtEnd(std::string* text) : to(text) {}
    AtEnd(AtEnd&& other) noexcept : to(std::exchange(other.to, nullptr)) {}
    ~AtEnd() {
      if (to != nullptr) *to = refusal(3);
    }
    std::string* to;
  };
  TaskGroup never;
  create<nonspec>([] {}, {.group = &never, .after = &never});
  create<nonspec>([end = AtEnd(&at_end)] {}, {.after = &never});
  EXPECT_THROW(run(), TaskError);
  EXPECT_THAT(at_end, HasSubstr("in a task or while a run goes on"));
  EXPECT_EQ(refusal(3), "");
}

TEST_F(Configure, LeavesTheCountersOfActorsAsTheyAre) {
  create<nonspec>(
      [] {
        for (int i = 0; i < 5; ++i) {
          const auto clock = spawn<Clock>();
          clock.send(Tick{});
          clock.stop();
        }
      },
      {});
  run();
  const ActorCounters before = actor_counters();
  EXPECT_GE(before.spawned, 5u);
  use_workers(3);
  const ActorCounters after = actor_counters();
  EXPECT_EQ(after.spawned, before.spawned);
  EXPECT_EQ(after.stopped, before.stopped);
  EXPECT_EQ(after.messages_handled, before.messages_handled);
}

std::atomic<int> ended{0}, ran{0};

struct OfAThread {
  ~OfAThread() {
    if (!is_workers) return;
    ++ended;
    create<nonspec>([] { ++ran; }, {.on = 7});
  }
  bool is_workers = false;
};

TEST_F(Configure, RunsTasksThatThreadLocalObjectsOfEndingWorkersCreate) {
  for (const unsigned workers : {1u, 2u, 8u}) {
    use_workers(4);
    ended = ran = 0;
    std::atomic<int> here{0};
    for (int i = 0; i < 4; ++i)
      create<nonspec>(
          [&here] {
            static thread_local OfAThread object;
            object.is_workers = engine::current_thread->number != 0;
            const auto end = std::chrono::steady_clock::now() + 5s;
            for (++here; here < 4 && std::chrono::steady_clock::now() < end;) std::this_thread::yield();
          },
          {});
    run();
    use_workers(workers);
    EXPECT_NE(ended, 0);
    run();
    EXPECT_EQ(ran, ended);
  }
}

/// Calls this when its thread ends.
struct CallsAtEnd {
  ~CallsAtEnd() {
    if (call == nullptr) return;
    call();
    ++ended;
  }
  void (*call)() = nullptr;
};
/// On each of the workers but this thread.
void call_at_end_of_workers(int workers, void (*call)()) {
  use_workers(static_cast<unsigned>(workers));
  ended = ran = 0;
  std::atomic<int> here{0};
  for (int i = 0; i < workers; ++i)
    create<nonspec>(
        [&here, workers, call] {
          static thread_local CallsAtEnd object;
          if (engine::current_thread->number != 0) object.call = call;
          const auto end = std::chrono::steady_clock::now() + 5s;
          for (++here; here < workers && std::chrono::steady_clock::now() < end;) std::this_thread::yield();
        },
        {});
  run();
}

/// Their algorithms wait until configure() has given the turn back, which it does before it waits for them.
TEST_F(Configure, LetsThreadLocalObjectsOfEndingWorkersCallAlgorithms) {
  for (const unsigned workers : {1u, 2u, 8u}) {
    call_at_end_of_workers(4, [] {
      parallel_for(0, 100, [](int) { ++ran; });
      static_cast<void>(living_actors());
    });
    use_workers(workers);
    EXPECT_NE(ended, 0);
    EXPECT_EQ(ran, 100 * ended);
  }
}
TEST_F(Configure, LetsAThreadLocalObjectOfAnEndingWorkerRunTasksAndConfigure) {
  call_at_end_of_workers(2, [] {
    create<nonspec>([] { ++ran; }, {});
    run();
    native::drop_pending();
    EXPECT_EQ(refusal(1), "");
  });
  use_workers(3);
  EXPECT_EQ(ran, ended);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(native::workers(), 1u);
}

TEST_F(Configure, MayBeCalledBesideThreadsThatReadOptionsAndCounters) {
  std::atomic<bool> must_end{false};
  std::atomic<int> wrong{0};
  const auto read = [&] {
    while (!must_end) {
      const native::Options options = native::options();
      if (options.workers < 1 || options.workers > 3) ++wrong;
      if (native::counters().tasks_run > native::counters().tasks_created) ++wrong;
      static_cast<void>(actor_counters());
      static_cast<void>(native::long_tasks());
      static_cast<void>(native::workers());
    }
  };
  std::thread one(read), other(read);
  for (unsigned i = 0; i < 300; ++i) {
    use_workers(1 + i % 3);
    std::this_thread::yield();
  }
  must_end = true;
  one.join();
  other.join();
  EXPECT_EQ(wrong, 0);
}

/// A monitor asks for the living actors at any time, also at the very end of a run, which may leave its
/// request behind.
TEST_F(Configure, IsNotRefusedBesideThreadsThatListActors) {
  std::atomic<bool> must_end{false};
  const auto list = [&must_end] {
    for (; !must_end; std::this_thread::sleep_for(50us)) static_cast<void>(living_actors());
  };
  std::thread one(list), other(list);
  for (unsigned i = 0; i < 500; ++i) {
    std::atomic<unsigned> sum{0};
    for (unsigned k = 0; k < i % 5; ++k) create<nonspec>([&sum] { ++sum; }, {});
    run();
    EXPECT_EQ(sum, i % 5);
    EXPECT_EQ(refusal(1 + i % 3), "");
  }
  must_end = true;
  one.join();
  other.join();
}

/// The waiting thread keeps a run open, which fails nevertheless.
TEST_F(Configure, IsNotRefusedBesideAThreadThatWaitsForTheEndOfActors) {
  struct Never : behavior<Tick> {
    void on(Tick) {}
  };
  for (unsigned i = 0; i < 100; ++i) {
    const auto never = spawn<Never>();
    std::atomic<bool> has_begun{false}, is_over{false};
    create<nonspec>(
        [&] {
          has_begun = true;
          std::this_thread::sleep_for(100us);
          throw std::runtime_error("as asked");
        },
        {});
    std::thread ending([&] {
      while (!has_begun) std::this_thread::yield();
      while (!is_over) engine::wait_in_run([] { return false; });
    });
    EXPECT_THROW(run(), TaskError);
    EXPECT_EQ(refusal(1 + i % 3), "");
    is_over = true;
    ending.join();
    never.stop();
    run();
  }
}

/// Ends of actors that were begun: the runtime itself has left them for the next run, and they do not count.
TEST_F(Configure, IsNotRefusedForEndsThatAFailedRunHasLeft) {
  struct Stopping : behavior<Tick> {
    explicit Stopping(std::atomic<int>& to) : stopped(to) {}
    ~Stopping() { ++stopped; }
    void on(Tick) { throw std::runtime_error("as asked"); }
    std::atomic<int>& stopped;
  };
  for (const ActorThread thread : {ActorThread::any_worker, ActorThread::own}) {
    std::atomic<int> stopped{0};
    const auto placed = spawn<Stopping>({.core = 1}, std::ref(stopped));
    const auto stopping = spawn<Stopping>({.thread = thread}, std::ref(stopped));
    stopping.send(Tick{});
    stopping.stop();
    placed.stop();
    EXPECT_THROW(run(), TaskError);
    EXPECT_EQ(refusal(1), "");
    EXPECT_EQ(refusal(3), "");
    run();
    EXPECT_EQ(stopped, 2);
  }
}
TEST_F(Configure, IsNotRefusedAfterASpawnThatFailed) {
  struct Failing : behavior<Tick> {
    Failing() { throw std::runtime_error("as asked"); }
    void on(Tick) {}
  };
  EXPECT_THROW(spawn<Failing>(), std::runtime_error);
  EXPECT_EQ(refusal(3), "");
  run();
}
TEST_F(Configure, IsRefusedWhileAMessageOfTheProgramWaits) {
  struct Counting : behavior<Tick> {
    void on(Tick) { ++count; }
    int count = 0;
  };
  const auto counting = spawn<Counting>();
  counting.send(Tick{});
  EXPECT_THAT(refusal(3), HasSubstr("while there are tasks"));
  counting.stop();
  EXPECT_THAT(refusal(3), HasSubstr("while there are tasks"));
  run();
  EXPECT_EQ(refusal(3), "");
}

TEST_F(Configure, KeepsTheOrderOfTasksThatItIsRefusedFor) {
  std::string order;
  use_workers(1);
  for (char c = 'a'; c < 'g'; ++c) create<nonspec>([&order, c] { order += c; }, {});
  EXPECT_THAT(refusal(2), HasSubstr("while there are tasks"));
  create<nonspec>([&order] { order += 'g'; }, {});
  run();
  EXPECT_EQ(order, "abcdefg");
}

/// Another library's algorithm may begin at any time: it waits, or configure() is refused.
TEST_F(Configure, MayBeCalledBesideAlgorithmsOfOtherThreads) {
  std::atomic<bool> must_end{false};
  std::atomic<int> wrong{0};
  const auto loop = [&] {
    while (!must_end) {
      std::atomic<int> sum{0};
      parallel_for(0, 100, [&sum](int i) { sum += i; });
      if (sum != 4950) ++wrong;
    }
  };
  std::thread one(loop), other(loop);
  for (unsigned i = 0; i < 300; ++i) {
    const std::string text = refusal(1 + i % 3);
    EXPECT_THAT(text, AnyOf(IsEmpty(), HasSubstr("while a run goes on"), HasSubstr("there are tasks")));
    std::this_thread::yield();
  }
  must_end = true;
  one.join();
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
