// OutsideEvents: tasks that wait for a thread outside of the engine, on the host engines.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rubato/algorithms.hpp"
#include "rubato/outside_event.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::run_fails_with;

std::uint64_t ran = 0, written = 0, seen = 0;

TYPED_CASE(a_task_waits_for_another_thread_and_sees_what_that_wrote) {
  written = seen = 0;
  TaskGroup arrived;
  OutsideEvent event(arrived);
  std::atomic<bool> may_set{false};
  create<type>([] { seen = written; }, {.after = &arrived});
  create<nonspec>([&may_set] { may_set = true; }, {});  // runs although the other one waits
  std::thread other([&] {
    while (!may_set) std::this_thread::yield();
    written = 42;
    event.set();
  });
  run();
  other.join();
  CHECK(seen == 42);
  CHECK(arrived.is_complete());
}

CASE(an_event_may_be_set_before_run_and_by_a_task) {
  ran = 0;
  TaskGroup arrived;
  OutsideEvent before(arrived), by_task(arrived);
  create<nonspec>([] { count(ran); }, {.after = &arrived});
  create<nonspec>([&by_task] { by_task.set(); }, {});
  before.set();
  run();
  CHECK(ran == 1);
}

CASE(a_run_waits_for_an_event_for_which_no_task_waits) {
  TaskGroup arrived;
  OutsideEvent event(arrived);
  std::atomic<bool> is_set{false};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_set = true;
    event.set();
  });
  run();
  CHECK(is_set);
  other.join();
}

CASE(an_algorithm_waits_for_events_of_earlier_tasks) {
  ran = 0;
  TaskGroup arrived;
  OutsideEvent event(arrived);
  create<nonspec>([] { count(ran); }, {.after = &arrived});
  std::thread other([&event] { event.set(); });
  parallel_for(0, 10, [](int) { count(ran); });
  other.join();
  CHECK(ran == 11);
}

CASE(a_group_waits_for_all_its_events_and_tasks) {
  constexpr unsigned kEvents = 20;
  ran = seen = 0;
  TaskGroup all;
  std::vector<OutsideEvent> events;
  for (unsigned i = 0; i < kEvents; ++i) events.emplace_back(all);
  for (unsigned i = 0; i < kEvents; ++i) create<nonspec>([] { count(ran); }, {.group = &all});
  create<nonspec>([] { seen = ran; }, {.after = &all});
  std::thread other([&events] {
    for (OutsideEvent& event : events) {
      count(ran);
      event.set();
    }
  });
  run();
  other.join();
  CHECK(seen == 2 * kEvents);
}

CASE(of_threads_that_try_to_set_one_does) {
  constexpr unsigned kThreads = 4;
  for (unsigned round = 0; round < 50; ++round) {
    std::atomic<unsigned> setters{0};
    ran = 0;
    TaskGroup arrived;
    OutsideEvent event(arrived);
    create<nonspec>([] { count(ran); }, {.after = &arrived});
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back([&] { setters += event.try_set() ? 1 : 0; });
    run();
    for (std::thread& thread : threads) thread.join();
    CHECK(setters == 1);
    CHECK(ran == 1);
    CHECK(!event.try_set());
  }
}

CASE(a_timestamped_task_that_waits_holds_later_timestamps_back) {
  std::vector<int> order;  // by tasks that timestamps keep apart
  TaskGroup arrived;
  OutsideEvent event(arrived);
  create<nonspec>([&order] { order.push_back(1); }, {.at = 1});
  create<nonspec>([&order] { order.push_back(2); }, {.at = 2, .after = &arrived});
  create<nonspec>([&order] { order.push_back(3); }, {.at = 3});
  std::thread other([&event] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    event.set();
  });
  run();
  other.join();
  CHECK((order == std::vector<int>{1, 2, 3}));
}

CASE(an_event_can_be_moved) {
  ran = 0;
  TaskGroup first, second;
  OutsideEvent event(first);
  OutsideEvent moved(std::move(event));
  CHECK(!event.try_set());
  OutsideEvent other;
  CHECK(!other.try_set());
  other = std::move(moved);
  create<nonspec>([] { count(ran); }, {.after = &first});
  other.set();
  run();
  CHECK(ran == 1);
}

/// The run ends with the sentence of the task; the events that no thread will set any more do not matter.
CASE(a_run_that_fails_drops_its_events) {
  ran = 0;
  const auto owned = std::make_shared<int>(0);
  TaskGroup arrived;
  OutsideEvent event(arrived), never(arrived), other(arrived);
  create<nonspec>([owned] { count(ran); }, {.after = &arrived});
  create<nonspec>([] { throw std::runtime_error("as asked"); }, {});
  CHECK(run_fails_with("as asked"));
  CHECK(owned.use_count() == 1);
  CHECK(arrived.is_complete());
  event.set();  // late: nothing happens
  CHECK(!other.try_set());
  create<nonspec>([] { count(ran); }, {});
  run();
  CHECK(ran == 1);
}

/// The task that waits owns the group and the event: all of it goes with the run.
CASE(a_run_that_fails_drops_tasks_that_own_their_events) {
  struct Request {
    TaskGroup arrived;
    OutsideEvent event{arrived};
  };
  for (unsigned round = 0; round < 20; ++round) {
    auto request = std::make_shared<Request>();
    const std::weak_ptr<Request> left = request;
    TaskGroup* const arrived = &request->arrived;
    create<nonspec>([request] { request->event.set(); }, {.at = 10});
    create<nonspec>([request] {}, {.after = arrived});
    create<nonspec>([request = std::move(request)] {}, {.at = 11});
    create<nonspec>([] { throw 42; }, {.at = 1});
    CHECK(run_fails_with("of an unknown type"));
    CHECK(left.expired());
  }
}

CASE(a_guarded_group_keeps_the_error_of_an_event_that_was_destroyed) {
  ran = 0;
  GuardedGroup arrived;
  {
    const OutsideEvent event(arrived, "reader.cpp", 17);
    create<nonspec>([] { count(ran); }, {.after = &arrived});
  }
  run();
  CHECK(ran == 1);
  CHECK(arrived.failures() == 1);
  CHECK(arrived.error().find("the OutsideEvent made at reader.cpp:17 was destroyed before set()") !=
        std::string::npos);
}

CASE(a_cancelled_task_that_waits_ends_unrun_when_its_event_is_set) {
  ran = 0;
  TaskGroup arrived;
  OutsideEvent event(arrived);
  GuardedGroup request;
  create<nonspec>([] { ran += 100; }, {.group = &request, .after = &arrived});
  create<nonspec>([] { count(ran); }, {.after = &request});
  create<nonspec>(
      [&] {
        request.cancel();
        event.set();
      },
      {});
  run();
  CHECK(ran == 1);
  CHECK(request.is_complete());
}

ERROR_CASE(an_event_that_is_destroyed_unset,
           "the OutsideEvent made at reader.cpp:17 was destroyed before set") {
  TaskGroup arrived;
  create<nonspec>([] {}, {.after = &arrived});
  { const OutsideEvent event(arrived, "reader.cpp", 17); }
  run();
}

ERROR_CASE(an_event_that_is_set_twice, "set\\(\\) is called for an OutsideEvent that is set already") {
  TaskGroup arrived;
  OutsideEvent event(arrived);
  event.set();
  event.set();
}

}  // namespace
#endif
