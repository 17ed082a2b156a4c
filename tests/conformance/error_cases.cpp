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

// ---- Groups that cannot complete: found on every engine, on the chip with exit code 4 ----

TaskGroup group_a, group_b, group_c;

ERROR_CASE(group_that_cannot_complete,
           "no task can run: 1 task waits for a TaskGroup that cannot complete, the first is task "
           ".*nothing\\(\\) at timestamp 3") {
  create<nonspec>(nothing, {.at = 3, .after = &group_a});
  create<nonspec>(nothing, {.at = 4, .group = &group_a});  // later than the task that waits for it
  run();
}

ERROR_CASE(speculative_group_that_cannot_complete,
           "no task can run: 1 task waits for a TaskGroup that cannot complete, the first is task "
           ".*nothing\\(\\) at timestamp 3") {
  create<spec>(nothing, {.at = 3, .after = &group_a});
  for (std::uint64_t i = 0; i < 20; ++i) create<mayspec>(nothing, {.at = 4 + i, .group = &group_a});
  run();
}

void touches(int) {}
void weighs(double, float) {}
void weighs_five(double, float, int, long, double) {}

template <TaskType type>
void wait_in_a_circle(Annotations a, Annotations b) {
  a.group = b.after = &group_a;
  b.group = a.after = &group_b;
  create<type>(touches, a, 1);
  create<type>(touches, b, 2);
  run();
}
#define CIRCLE_CASE(type)                                                                              \
  ERROR_CASE(untimestamped_groups_in_a_circle_of_##type,                                               \
             "no task can run: 2 tasks wait for TaskGroups that cannot complete, the first is task "   \
             ".*touches\\(int\\) without a timestamp") {                                               \
    wait_in_a_circle<type>({}, {});                                                                    \
  }                                                                                                    \
  ERROR_CASE(timestamped_groups_in_a_circle_of_##type,                                                 \
             "no task can run: 2 tasks wait for TaskGroups that cannot complete, the first is task "   \
             ".*touches\\(int\\) at timestamp 3") {                                                    \
    wait_in_a_circle<type>({.at = 3}, {.at = 3});                                                      \
  }                                                                                                    \
  ERROR_CASE(mixed_groups_in_a_circle_of_##type,                                                       \
             "no task can run: 2 tasks wait for TaskGroups that cannot complete, the first is task "   \
             ".*touches\\(int\\) without a timestamp") {                                               \
    wait_in_a_circle<type>({.at = 3}, {});                                                             \
  }                                                                                                    \
  ERROR_CASE(untimestamped_group_that_waits_for_itself_of_##type,                                      \
             "no task can run: 1 task waits for a TaskGroup that cannot complete, the first is task "  \
             ".*weighs\\(double, float\\) without a timestamp") {                                      \
    create<type>(weighs, {.group = &group_a, .after = &group_a}, 1.0, 2.0f);                           \
    run();                                                                                             \
  }                                                                                                    \
  ERROR_CASE(timestamped_group_that_waits_for_itself_of_##type,                                        \
             "no task can run: 1 task waits for a TaskGroup that cannot complete, the first is task "  \
             ".*weighs_five\\(double, float, int, long, double\\) at timestamp 9") {                   \
    create<type>(weighs_five, {.at = 9, .group = &group_a, .after = &group_a}, 1.0, 2.0f, 3, 4L, 5.0); \
    run();                                                                                             \
  }
CIRCLE_CASE(nonspec)
CIRCLE_CASE(mayspec)
CIRCLE_CASE(spec)

void busy(std::uint64_t rounds) { conformance::linger(static_cast<unsigned>(rounds)); }

/// Others run long while tasks look at their group in vain: no reason to give up before they have ended.
ERROR_CASE(circle_beside_tasks_that_run_long,
           "no task can run: 41 tasks wait for TaskGroups that cannot complete, the first is task "
           ".*touches\\(int\\) at timestamp 3") {
  create<nonspec>(touches, {.at = 3, .group = &group_a, .after = &group_b}, 1);
  for (int i = 0; i < 40; ++i)
    create<mayspec>(touches, {.at = 3, .on = i % 7, .group = &group_b, .after = &group_a}, 2);
  for (int i = 0; i < 5; ++i) create<nonspec>(busy, {.group = &group_c}, 20000);
  create<nonspec>(busy, {.at = 3, .after = &group_c}, 20000);
  run();
}

// ---- The name of a task is its function's, whatever its parameters and annotations ----

void throws_weight(double, float) { throw std::runtime_error("too heavy"); }
void throws_weights(double, float, int, long, double) { throw std::runtime_error("too heavy"); }
ERROR_CASE(name_with_parameters_in_floating_point,
           "task .*throws_weight\\(double, float\\) at timestamp 9 ended with an exception: too heavy") {
  create<nonspec>(throws_weight, {.at = 9}, 1.0, 2.0f);
  run();
}
ERROR_CASE(name_with_five_parameters,
           "task .*throws_weights\\(double, float, int, long, double\\) without a timestamp ended with an "
           "exception: too heavy") {
  create<nonspec>(throws_weights, {}, 1.0, 2.0f, 3, 4L, 5.0);
  run();
}
ERROR_CASE(name_of_a_member,
           "task .*creates_earlier\\(\\) at timestamp 7 creates task .*nothing\\(\\) at "
           "timestamp 5: a child's timestamp must not be earlier") {
  create<nonspec>(creates_earlier, {.at = 7, .group = &group_a});
  run();
}
ERROR_CASE(
    name_of_a_task_after_a_group,
    "task .*throws_weights\\(double, float, int, long, double\\) at timestamp 9 ended with an exception: "
    "too heavy") {
  for (int i = 0; i < 6; ++i) create<nonspec>(busy, {.group = &group_a}, 1000);
  create<mayspec>(throws_weights, {.at = 9, .after = &group_a}, 1.0, 2.0f, 3, 4L, 5.0);
  run();
}

#if !defined(__riscv)

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
