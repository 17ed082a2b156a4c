// Coroutines as tasks, on the host engines.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/coroutine.hpp"
#include "rubato/outside_event.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::run_fails_with;
using namespace std::chrono_literals;

std::uint64_t ran = 0;

Coroutine add_up(std::uint64_t first, std::uint64_t* sum, TaskGroup* done) {
  std::uint64_t parts[3] = {};
  for (std::uint64_t& part : parts) {
    TaskGroup group;
    create<nonspec>([&part, first] { part = first; }, {.group = &group});
    co_await completed(group);
    *sum += part;
    ++first;
  }
  create<nonspec>([] { count(ran); }, {.group = done});
}

CASE(a_coroutine_goes_on_when_a_group_is_complete) {
  ran = 0;
  std::uint64_t sums[10] = {};
  TaskGroup all;
  for (std::uint64_t i = 0; i < 10; ++i) create<nonspec>(add_up(i, &sums[i], &all), {.group = &all});
  create<nonspec>([] { ran += 100; }, {.after = &all});
  run();
  CHECK(ran == 110);
  for (std::uint64_t i = 0; i < 10; ++i) CHECK(sums[i] == 3 * i + 3);
}

Coroutine ask_twice(std::vector<std::thread>* threads, std::string* result) {
  const char* const words[] = {"from ", "outside"};
  for (const char* const word : words) {
    std::string got;
    TaskGroup arrived;
    OutsideEvent event(arrived);
    threads->emplace_back([&got, &event, word] {
      got = word;
      event.set();
    });
    co_await completed(arrived);
    *result += got;
  }
}

CASE(a_coroutine_waits_for_threads_outside) {
  for (unsigned round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    std::string result;
    create<nonspec>(ask_twice(&threads, &result), {});
    run();
    for (std::thread& thread : threads) thread.join();
    CHECK(result == "from outside");
  }
}

Coroutine pass(std::vector<int>* order, int number, TaskClock::duration delay) {
  const TaskClock::time_point begin = TaskClock::now();
  co_await passed(delay);
  order->push_back(number);
  co_await passed(begin + delay);  // has passed
  if (TaskClock::now() - begin >= delay) order->push_back(number + 10);
}

CASE(a_coroutine_waits_for_its_time) {
  std::vector<int> order;
  create<nonspec>(pass(&order, 1, 3ms), {.on = 7});
  run();
  CHECK((order == std::vector<int>{1, 11}));
}

Coroutine in_order(std::vector<int>* order, int number) {
  for (int part = 0; part < 3; ++part) {
    order->push_back(number);
    co_await passed(100us);
  }
}

CASE(a_coroutine_keeps_its_timestamp) {
  std::vector<int> order;  // by tasks that timestamps keep apart
  for (const int number : {2, 1}) create<nonspec>(in_order(&order, number), {.at = number});
  create<nonspec>([&order] { order.push_back(3); }, {.at = 3});
  run();
  CHECK((order == std::vector<int>{1, 1, 1, 2, 2, 2, 3}));
}

/// Counts the coroutines that have not been destroyed.
struct Living {
  Living() { ++alive; }
  ~Living() { --alive; }
  Living(const Living&) = delete;
  Living& operator=(const Living&) = delete;
  static inline std::atomic<int> alive{0};
};

Coroutine fail(bool at_once) {
  const Living living;
  if (!at_once) co_await passed(100us);
  throw std::runtime_error("as asked");
}

CASE(an_exception_of_a_coroutine_is_that_of_a_task) {
  for (const bool at_once : {false, true}) {
    GuardedGroup group;
    create<nonspec>(fail(at_once), {.group = &group});
    run();
    CHECK(group.failures() == 1);
    CHECK(group.error().find("as asked") != std::string::npos);
    CHECK(Living::alive == 0);
    create<nonspec>(fail(at_once), {});
    CHECK(run_fails_with("as asked"));
    CHECK(Living::alive == 0);
  }
}

Coroutine wait_for(TaskGroup* group) {
  const Living living;
  co_await completed(*group);
  count(ran);
}

CASE(a_coroutine_that_never_goes_on_is_destroyed) {
  ran = 0;
  { const Coroutine never_started = wait_for(nullptr); }
  TaskGroup arrived;
  OutsideEvent event(arrived);
  create<nonspec>(wait_for(&arrived), {.at = 1});
  create<nonspec>(wait_for(&arrived), {});
  create<nonspec>([] { throw std::runtime_error("as asked"); }, {});
  CHECK(run_fails_with("as asked"));
  CHECK(ran == 0);
  CHECK(Living::alive == 0);
}

CASE(a_coroutine_that_is_cancelled_is_destroyed) {
  ran = 0;
  TaskGroup arrived;
  OutsideEvent event(arrived);
  GuardedGroup group;
  create<nonspec>(wait_for(&arrived), {.group = &group});
  create_later<nonspec>(1ms,
                        [&] {
                          group.cancel();
                          event.set();
                        },
                        {});
  run();
  CHECK(ran == 0);
  CHECK(group.is_complete());
  CHECK(Living::alive == 0);
}

Coroutine go_on_after_an_error() {
  try {
    co_await passed(TaskClock::duration::max());
  } catch (const TaskError&) {
    count(ran);
  }
  co_await passed(1ms);
  count(ran);
}

CASE(an_error_of_a_wait_is_the_coroutines) {
  ran = 0;
  create<nonspec>(go_on_after_an_error(), {});
  run();
  CHECK(ran == 2);
}

}  // namespace
#endif
