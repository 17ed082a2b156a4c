// Misuse (task model, section "Errors"): every engine says the same sentence.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <stdexcept>
#if !defined(__riscv)
#include <thread>
#endif

#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;

void nothing() {}

void creates_earlier() { create<nonspec>(nothing, {.at = 5}); }
ERROR_CASE(earlier_timestamp,
           "task .*creates_earlier\\(\\) at timestamp 7 creates task .*nothing\\(\\) at timestamp 5: a "
           "child's timestamp "
           "must not be earlier than its creator's") {
  create<nonspec>(creates_earlier, {.at = 7});
  run();
}

ERROR_CASE(timestamp_from_untimestamped,
           "task .*creates_earlier\\(\\) without a timestamp creates task .*nothing\\(\\) at timestamp 5: "
           "only a task "
           "with a timestamp may create tasks with timestamps") {
  create<nonspec>(creates_earlier, {});
  run();
}

void runs() { run(); }
ERROR_CASE(nested_run,
           "task .*runs\\(\\) at timestamp 7 calls run\\(\\), which only code outside tasks may do: to go "
           "on after other "
           "tasks, put them into a TaskGroup \\(\\.group\\) and create the task that follows with \\.after") {
  create<nonspec>(runs, {.at = 7});
  run();
}

ERROR_CASE(negative_timestamp, "a timestamp must not be negative, but -3 was given") {
  volatile int minus_three = -3;
  create<nonspec>(nothing, {.at = static_cast<int>(minus_three)});
}

ERROR_CASE(negative_locale, "a locale must not be negative, but -1 was given") {
  volatile long minus_one = -1;
  create<nonspec>(nothing, {.on = static_cast<long>(minus_one)});
}

void creates_negative() {
  volatile int minus_three = -3;
  create<nonspec>(nothing, {.at = static_cast<int>(minus_three)});
}
ERROR_CASE(
    negative_timestamp_in_a_task,
    "task .*creates_negative\\(\\) at timestamp 7: a timestamp must not be negative, but -3 was given") {
  create<nonspec>(creates_negative, {.at = 7});
  run();
}

void throws() { throw std::runtime_error("no such gate"); }
ERROR_CASE(exception_leaves_task,
           "task .*throws\\(\\) at timestamp 9 ended with an exception: no such gate") {
  create<nonspec>(throws, {.at = 9});
  run();
}

ERROR_CASE(exception_leaves_stateless_callable,
           "task .*exception_leaves_stateless_callable.* without a timestamp ended with an exception: out of "
           "gates") {
  create<nonspec>([](float) { throw std::runtime_error("out of gates"); }, {}, 1.0f);
  run();
}

ERROR_CASE(removed_twice,
           "task .*removed_twice.* without a timestamp: remove\\(\\) was called twice for one resource") {
  const auto r = make_resource<int>({}, 1);
  create<nonspec>(
      [](resource<int> handle) {
        remove(handle);
        remove(handle);
      },
      {}, r);
  run();
}

#if !defined(__riscv)

TaskGroup early_group;
ERROR_CASE(group_that_cannot_complete,
           "no task can run: 1 task waits for a TaskGroup that cannot complete, the first is task "
           ".*nothing\\(\\) at "
           "timestamp 3") {
  create<nonspec>(nothing, {.at = 3, .after = &early_group});
  create<nonspec>(nothing, {.at = 4, .group = &early_group});  // later than the task that waits for it
  run();
}

ERROR_CASE(foreign_thread,
           "task .*nothing\\(\\) is created by another thread than the one that calls run\\(\\): create "
           "tasks before "
           "run\\(\\) or inside tasks") {
  create<nonspec>(
      [] {
        std::exception_ptr error;
        std::thread([&error] {
          try {
            create<nonspec>(nothing, {});
          } catch (...) {
            error = std::current_exception();
          }
        }).join();
        if (error) std::rethrow_exception(error);
      },
      {});
  run();
}

std::uint64_t calls = 0;

CASE(a_failed_run_drops_its_tasks_and_the_next_one_works) {
  static TaskGroup group;
  calls = 0;
  create<nonspec>(throws, {.at = 1});
  create<nonspec>([] { ++calls; }, {.at = 2, .group = &group});
  create<nonspec>([] { ++calls; }, {.at = 3, .after = &group});
  bool has_thrown = false;
  try {
    run();
  } catch (const TaskError& e) {
    has_thrown = true;
    CHECK(e.timestamp() == std::uint64_t{1});
    CHECK(e.function().find("throws()") != std::string::npos);
    try {
      std::rethrow_if_nested(e);
      CHECK(false && "the original exception is nested");
    } catch (const std::runtime_error& original) {
      CHECK(std::string(original.what()) == "no such gate");
    }
  }
  CHECK(has_thrown);
  CHECK(calls == 0);
  CHECK(group.is_complete());
  create<nonspec>([] { ++calls; }, {.at = 0});
  run();
  CHECK(calls == 1);
}

#endif

}  // namespace
