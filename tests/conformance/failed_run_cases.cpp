// The end of a run that fails: its tasks are dropped, with all that their destructors create.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rubato/delayed.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::run_fails_with;
using namespace std::chrono_literals;

std::uint64_t ran = 0, destroyed = 0;

/// Creates a task when it is destroyed, which has another such object, and so on.
class Creates {
 public:
  explicit Creates(const Annotations& annotations, unsigned generations = 3)
      : annotations_(annotations), left_(generations) {}
  Creates(Creates&& other) noexcept
      : annotations_(other.annotations_), left_(std::exchange(other.left_, 0)) {}
  Creates& operator=(Creates&&) = delete;
  ~Creates() {
    if (left_ == 0) return;
    count(destroyed);
    create<nonspec>([next = Creates(annotations_, left_ - 1)] { count(ran); }, annotations_);
  }

 private:
  Annotations annotations_;
  unsigned left_;
};

void fail() { throw std::runtime_error("as asked"); }

/// The next run has its own tasks only.
void check_next_run() {
  const std::uint64_t before = ran;
  run();
  CHECK(ran == before);
  create<nonspec>([] { count(ran); }, {});
  run();
  CHECK(ran == before + 1);
}

/// Tasks that cannot run before the run has failed, with such objects.
void drop_those_that_create(const Annotations& created, unsigned tasks) {
  ran = destroyed = 0;
  TaskGroup never;
  create<nonspec>([] {}, {.group = &never, .after = &never});
  for (unsigned i = 0; i < tasks; ++i)
    create<nonspec>([c = Creates(created)] { count(ran); }, {.after = &never});
  CHECK(run_fails_with("no task can run"));
  CHECK(ran == 0);
  CHECK(destroyed == 3 * tasks);
  CHECK(never.is_complete());
  check_next_run();
}

CASE(tasks_that_destructors_create_are_dropped_with_a_failed_run) {
  for (const unsigned tasks : {1u, 20u, 1000u}) drop_those_that_create({}, tasks);
}
CASE(timestamped_tasks_that_destructors_create_are_dropped_with_a_failed_run) {
  drop_those_that_create({.at = 9}, 20);
}
CASE(tasks_with_a_locale_that_destructors_create_are_dropped_with_a_failed_run) {
  drop_those_that_create({.on = 9}, 20);
}
CASE(tasks_with_a_place_that_destructors_create_are_dropped_with_a_failed_run) {
  drop_those_that_create({.core = 1}, 20);
}
CASE(members_of_a_group_that_destructors_create_leave_it) {
  TaskGroup group;
  drop_those_that_create({.group = &group}, 20);
  CHECK(group.is_complete());
  drop_those_that_create({.group = &group, .after = &group}, 20);
  CHECK(group.is_complete());
}

/// However the run fails: those of later timestamps, of a locale, or that no worker has begun.
CASE(tasks_that_destructors_create_are_dropped_wherever_their_creators_wait) {
  for (const Annotations& waiting :
       {Annotations{.at = 9}, Annotations{.at = 9, .on = 4}, Annotations{.at = 5, .on = 4}}) {
    ran = 0;
    create<nonspec>(fail, {.at = 1});
    for (unsigned i = 0; i < 100; ++i) create<spec>([c = Creates(Annotations{})] {}, waiting);
    CHECK(run_fails_with("as asked"));
    check_next_run();
  }
}

CASE(delayed_tasks_that_destructors_create_are_dropped_with_a_failed_run) {
  struct CreatesLater {
    bool is_here = true;
    CreatesLater() = default;
    CreatesLater(CreatesLater&& other) noexcept : is_here(std::exchange(other.is_here, false)) {}
    ~CreatesLater() {
      if (is_here) create_later<nonspec>(1h, [] { count(ran); }, {});
    }
  };
  ran = 0;
  const TaskClock::time_point begin = TaskClock::now();
  create<nonspec>(fail, {.at = 1});
  create<nonspec>([c = CreatesLater()] {}, {.at = 2});
  CHECK(run_fails_with("as asked"));
  check_next_run();
  CHECK(TaskClock::now() - begin < 1h);
}

/// The task that ends the run leaves its group like those that are dropped.
CASE(a_group_is_complete_after_a_run_that_its_member_has_ended) {
  TaskGroup group;
  ran = 0;
  create<nonspec>(fail, {.group = &group});
  CHECK(run_fails_with("as asked"));
  CHECK(group.is_complete());
  create<nonspec>([] { count(ran); }, {.group = &group});
  create<nonspec>([] { count(ran); }, {.after = &group});
  run();
  CHECK(ran == 2);
}

}  // namespace
#endif
