// Delayed tasks on the host engines: natively they take their time, on the serial engine it is virtual.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "rubato/delayed.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::run_fails_with;
using namespace std::chrono_literals;

std::uint64_t ran = 0, sum = 0;
TaskClock::time_point started;

void add(std::uint64_t* to, std::uint64_t what) { *to += what; }

/// Never early; how late is the machine's.
TYPED_CASE(a_delayed_task_starts_when_its_time_has_come) {
  ran = 0;
  const TaskClock::time_point begin = TaskClock::now();
  create_later<type>(3ms,
                     [] {
                       started = TaskClock::now();
                       count(ran);
                     },
                     {});
  run();
  CHECK(ran == 1);
  CHECK(started - begin >= 3ms);
}

CASE(a_delayed_task_has_arguments) {
  sum = 0;
  create_later<nonspec>(1ms, add, {.on = 1}, &sum, std::uint64_t{40});
  create_later<nonspec>(
      TaskClock::now() + 1ms, [](std::uint64_t what) { sum += what; }, {.on = 1}, std::uint64_t{2});
  run();
  CHECK(sum == 42);
}

CASE(a_time_that_has_passed_is_now) {
  ran = 0;
  create_later<nonspec>(-5ms, [] { count(ran); }, {});
  create_later<nonspec>(0ms, [] { count(ran); }, {});
  create_later<nonspec>(TaskClock::now() - 1h, [] { count(ran); }, {});
  create_later<nonspec>(TaskClock::time_point(-1ns), [] { count(ran); }, {});
  run();
  CHECK(ran == 4);
}

/// Natively a machine that is busy may keep the first from starting until the last is due.
CASE(delayed_tasks_start_in_the_order_of_their_times) {
  std::vector<int> order;  // one locale
  for (const int ms : {6, 2, 4})
    create_later<nonspec>(std::chrono::milliseconds(ms), [&order, ms] { order.push_back(ms); }, {.on = 7});
  create<nonspec>([&order] { order.push_back(0); }, {.on = 7});
  run();
#if defined(RUBATO_ENGINE_NATIVE)
  CHECK(order.size() == 4);
#else
  CHECK((order == std::vector<int>{0, 2, 4, 6}));
#endif
}

CASE(a_delayed_task_belongs_to_its_group_at_once) {
  ran = 0;
  TaskGroup group;
  create_later<nonspec>(2ms, [] { count(ran); }, {.group = &group});
  CHECK(!group.is_complete());
  create<nonspec>([] { ran = ran == 1 ? 2 : 0; }, {.after = &group});
  run();
  CHECK(ran == 2);
}

CASE(a_delayed_task_keeps_its_place_in_the_order) {
  std::vector<int> order;  // by tasks that timestamps keep apart
  create_later<nonspec>(5ms, [&order] { order.push_back(1); }, {.at = 1});
  create<nonspec>([&order] { order.push_back(2); }, {.at = 2});
  create<nonspec>(
      [&order] {
        order.push_back(0);
        create_later<nonspec>(1ms, [&order] { order.push_back(3); }, {.at = 3});
      },
      {.at = 0});
  run();
  CHECK((order == std::vector<int>{0, 1, 2, 3}));
}

CASE(a_cancelled_delayed_task_does_not_run_nor_hold_the_run_open) {
  ran = 0;
  const auto owned = std::make_shared<int>(0);
  const TaskClock::time_point begin = TaskClock::now();
  TaskGroup group;
  DelayedTask by_main = create_later<nonspec>(1h, [owned] { count(ran); }, {.group = &group});
  DelayedTask by_task = create_later<nonspec>(1h, [owned] { count(ran); }, {.group = &group});
  CHECK(by_main.cancel());
  CHECK(!by_main.cancel());
  bool is_cancelled = false, is_complete = false;
  create<nonspec>([&by_task, &is_cancelled] { is_cancelled = by_task.cancel(); }, {});
  create<nonspec>([&is_complete] { is_complete = true; }, {.after = &group});
  run();
  CHECK(is_cancelled);
  CHECK(is_complete);
  CHECK(ran == 0);
  CHECK(owned.use_count() == 1);
  CHECK(TaskClock::now() - begin < 1h);
  CHECK(!DelayedTask().cancel());
}

CASE(a_delayed_task_that_has_begun_is_not_cancelled) {
  ran = 0;
  DelayedTask task = create_later<nonspec>(1ms, [] { count(ran); }, {});
  run();
  CHECK(ran == 1);
  CHECK(!task.cancel());
}

/// The other thread needs no run, and this one makes delayed tasks meanwhile.
CASE(a_thread_outside_may_cancel_delayed_tasks_between_runs) {
  constexpr unsigned kTasks = 2000;
  ran = 0;
  std::vector<DelayedTask> tasks;
  for (unsigned i = 0; i < kTasks; ++i) tasks.push_back(create_later<nonspec>(1h, [] { count(ran); }, {}));
  std::uint64_t cancelled = 0;
  std::thread other([&] {
    for (DelayedTask& task : tasks) cancelled += task.cancel() ? 1 : 0;
  });
  for (unsigned i = 0; i < kTasks; ++i) create_later<nonspec>(1us, [] { count(ran); }, {});
  other.join();
  const TaskClock::time_point begin = TaskClock::now();
  run();
  CHECK(cancelled == kTasks);
  CHECK(ran == kTasks);
  CHECK(TaskClock::now() - begin < 1h);
}

/// Each is either cancelled or runs, whichever thread is first.
CASE(a_thread_outside_may_cancel_a_delayed_task_at_any_time) {
  constexpr unsigned kTasks = 200;
  ran = 0;
  std::vector<DelayedTask> tasks;
  for (unsigned i = 0; i < kTasks; ++i)
    tasks.push_back(create_later<nonspec>(std::chrono::microseconds(20 * i), [] { count(ran); }, {}));
  std::uint64_t cancelled = 0;
  std::thread other([&] {
    for (unsigned i = kTasks; i-- > 0;) cancelled += tasks[i].cancel() ? 1 : 0;
  });
  run();
  other.join();
  CHECK(ran + cancelled == kTasks);
}

CASE(a_run_that_fails_drops_its_delayed_tasks) {
  ran = 0;
  const auto owned = std::make_shared<int>(0);
  const TaskClock::time_point begin = TaskClock::now();
  TaskGroup group;
  DelayedTask later = create_later<nonspec>(1h, [owned] { count(ran); }, {.group = &group});
  create_later<nonspec>(1ms, [] { throw std::runtime_error("as asked"); }, {});
  CHECK(run_fails_with("as asked"));
  CHECK(group.is_complete());
  create<nonspec>([] { count(ran); }, {});
  run();
  CHECK(ran == 1);
  CHECK(TaskClock::now() - begin < 1h);
  CHECK(!later.cancel());
  CHECK(owned.use_count() == 1);
}

/// However far the time of a task is, nothing of it is left.
CASE(a_run_that_fails_ends_the_timers_of_its_delayed_tasks) {
  std::weak_ptr<engine::Delay> left;
  {
    const auto delay = std::make_shared<engine::Delay>(engine::time_of(1h));
    left = delay;
    delay->begin();
    delay->start();
    create<nonspec>([delay] {}, {.after = delay->due()});
  }
  create<nonspec>([] { throw std::runtime_error("as asked"); }, {});
  CHECK(run_fails_with("as asked"));
  CHECK(left.expired());
}

CASE(a_cancelled_group_lets_its_delayed_tasks_end_unrun) {
  ran = 0;
  GuardedGroup group;
  DelayedTask later = create_later<nonspec>(2ms, [] { count(ran); }, {.group = &group});
  group.cancel();
  run();
  CHECK(ran == 0);
  CHECK(group.is_complete());
  CHECK(!later.cancel());
}

/// A thread outside cancels while the run fails. After the run there is nothing to cancel.
CASE(delayed_tasks_are_cancelled_or_dropped_with_their_run) {
  constexpr unsigned kTasks = 100;
  for (unsigned round = 0; round < 5; ++round) {
    ran = 0;
    std::vector<DelayedTask> tasks;
    for (unsigned i = 0; i < kTasks; ++i) tasks.push_back(create_later<nonspec>(1h, [] { count(ran); }, {}));
    create<nonspec>([] { throw std::runtime_error("as asked"); }, {});
    std::thread other([&] {
      for (DelayedTask& task : tasks) task.cancel();
    });
    const bool has_failed = run_fails_with("as asked");
    other.join();
    CHECK(has_failed);
    for (DelayedTask& task : tasks) CHECK(!task.cancel());
    CHECK(ran == 0);
    create<nonspec>([] { count(ran); }, {});
    run();
    CHECK(ran == 1);
  }
}

/// On the serial engine, too, time passes for a program that never has nothing to do.
std::atomic<bool> must_end{false};
void go_on() {
  if (!must_end) create<nonspec>(go_on, {});
}
CASE(a_delayed_task_comes_though_others_never_run_out) {
  must_end = false;
  create_later<nonspec>(2ms, [] { must_end = true; }, {});
  create<nonspec>(go_on, {});
  run();
  CHECK(must_end);
}

ERROR_CASE(a_delayed_task_with_after, "create_later\\(\\) is called with .after") {
  TaskGroup group;
  create_later<nonspec>(1ms, [] {}, {.after = &group});
}

ERROR_CASE(a_delay_beyond_the_nanoseconds, "create_later\\(\\) is called with a time that never comes") {
  create_later<nonspec>(std::chrono::hours::max(), [] {}, {});
}
ERROR_CASE(a_delay_without_end, "create_later\\(\\) is called with a time that never comes") {
  create_later<nonspec>(TaskClock::duration::max(), [] {}, {});
}

ERROR_CASE(a_delayed_task_that_throws, "without a timestamp ended with an exception: as asked") {
  create_later<nonspec>(1ms, [] { throw std::runtime_error("as asked"); }, {});
  run();
}

}  // namespace
#endif
