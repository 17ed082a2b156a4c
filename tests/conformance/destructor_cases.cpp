// Destructors of a task's callable: part of the task if it has run; else of the end of its run, which has
// failed.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "rubato/algorithms.hpp"
#include "tests/at_end.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::run_fails_with;

std::uint64_t ran = 0;
void nothing() {}

CASE(a_destructor_of_a_task_has_its_timestamp_and_is_within_its_group) {
  std::uint64_t at = 0;
  bool is_complete = true;
  TaskGroup group;
  create<nonspec>([end = AtEnd([&] {
                     at = timestamp();
                     is_complete = group.is_complete();
                   })] {},
                  {.at = 7, .group = &group});
  run();
  CHECK(at == 7);
  CHECK(!is_complete);
  CHECK(group.is_complete());
}

CASE(a_destructor_of_a_task_creates_in_its_order) {
  std::vector<int> order;
  create<nonspec>([&order, end = AtEnd([&order] {
                             create<nonspec>([&order] { order.push_back(2); }, {.at = 10});
                             create<nonspec>([&order] { order.push_back(4); }, {.at = 30});
                           })] { order.push_back(1); },
                  {.at = 10});
  create<nonspec>([&order] { order.push_back(3); }, {.at = 20});
  run();
  CHECK((order == std::vector<int>{1, 2, 3, 4}));
}

/// Destructors do not throw: the run ends as soon as this one has returned.
ERROR_CASE(
    a_destructor_of_a_task_that_creates_an_earlier_one,
    "task .* at timestamp 10 creates task .*nothing\\(\\) at timestamp 5: a child's timestamp must not be "
    "earlier") {
  create<nonspec>([end = AtEnd([] { create<nonspec>(nothing, {.at = 5}); })] {}, {.at = 10});
  run();
}
ERROR_CASE(a_destructor_of_an_untimestamped_task_that_creates_a_timestamped_one,
           "task .* without a timestamp creates task .*nothing\\(\\) at timestamp 5: only a task") {
  create<nonspec>([end = AtEnd([] { create<nonspec>(nothing, {.at = 5}); })] {}, {});
  run();
}

/// Both calls end with the same sentence, and no task of the algorithm is left.
CASE(a_destructor_of_a_dropped_task_cannot_run_tasks) {
  ran = 0;
  std::vector<std::string> errors;
  const auto note_error = [&errors](auto act) {
    try {
      act();
      errors.emplace_back();
    } catch (const TaskError& e) {
      errors.emplace_back(e.what());
    }
  };
  create<nonspec>([] { throw std::runtime_error("as asked"); }, {.at = 1});
  create<nonspec>([end = AtEnd([&] {
                     note_error([] { run(); });
                     note_error([] { parallel_for(0, 100, [](int) { count(ran); }); });
                   })] {},
                  {.at = 2});
  CHECK(run_fails_with("as asked"));
  CHECK(errors.size() == 2);
  for (const std::string& error : errors) CHECK(error.find("called by the destructor") != std::string::npos);
  run();
  CHECK(ran == 0);
}

/// A child that ends like a program whose last tasks never ran.
CASE(what_is_destroyed_at_the_end_of_the_process_may_create_tasks) {
  std::fflush(stdout);  // else the child writes it, too
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 10; ++i)
      create<nonspec>([end = AtEnd([] { create<nonspec>(nothing, {}); })] {}, {.at = i});
    std::exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
#endif
