// GuardedGroup: failures and cancellation by group, on the host engines. A guest program has no exceptions.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "rubato/algorithms.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;

struct BadRequest : std::runtime_error {
  explicit BadRequest(int of) : std::runtime_error("request " + std::to_string(of) + " is bad"), number(of) {}
  int number;
};

/// The number of the BadRequest that the group keeps; -1: it keeps none, or another exception.
int bad_request_of(const GuardedGroup& group) {
  try {
    group.rethrow_if_failed();
  } catch (const BadRequest& bad) {
    return bad.number;
  } catch (...) {
  }
  return -1;
}

std::uint64_t answered = 0, ran = 0;
void serve(int number) {
  if (number == 500) throw BadRequest(number);
  count(answered);
}

TYPED_CASE(a_failure_stays_in_its_guarded_group) {
  answered = 0;
  GuardedGroup requests(OnFailure::go_on);
  for (int i = 0; i < 1000; ++i) create<type>(serve, {.group = &requests}, i);
  for (int i = 0; i < 10; ++i) create<type>(serve, {}, i);  // of no group
  run();
  CHECK(answered == 1009);
  CHECK(requests.is_complete());
  CHECK(!requests.is_cancelled());
  CHECK(requests.failures() == 1);
  CHECK(bad_request_of(requests) == 500);
}

CASE(a_failure_has_the_name_of_the_users_task) {
  GuardedGroup group;
  create<nonspec>(serve, {.at = 7, .group = &group}, 500);
  run();
  const std::string said = group.error();
  CHECK(said.find("serve(int) at timestamp 7 ended with an exception: request 500 is bad") !=
        std::string::npos);
  GuardedGroup other;
  create<nonspec>([] { throw 42; }, {.group = &other});
  run();
  CHECK(other.error().find("without a timestamp ended with an exception: of an unknown type") !=
        std::string::npos);
  CHECK(other.error().find("rubato::") == std::string::npos);
}

CASE(a_broken_rule_stays_in_its_guarded_group) {
  GuardedGroup group;
  create<nonspec>([] { run(); }, {.group = &group});
  run();
  CHECK(group.failures() == 1);
  CHECK(group.error().find("calls run(), which only code outside tasks may do") != std::string::npos);
}

TYPED_CASE(a_failure_cancels_the_later_tasks_of_its_group) {
  answered = ran = 0;
  GuardedGroup group;
  for (int i = 0; i < 20; ++i) {
    create<type>(serve, {.at = i, .group = &group}, i == 10 ? 500 : i);
    create<type>([] { count(ran); }, {.at = i});
  }
  run();
  CHECK(answered == 10);
  CHECK(ran == 20);
  CHECK(group.is_cancelled());
  CHECK(group.failures() == 1);
  CHECK(bad_request_of(group) == 500);
}

TYPED_CASE(a_cancelled_task_never_runs_and_is_destroyed) {
  ran = 0;
  const auto owned = std::make_shared<int>(0);
  GuardedGroup group;
  for (int i = 0; i < 100; ++i) create<type>([owned] { count(ran); }, {.group = &group});
  create<type>([&group] { ran += group.is_complete() ? 1000 : 0; }, {.after = &group});
  group.cancel();
  CHECK(owned.use_count() == 101);
  run();
  CHECK(ran == 1000);  // the task after the group starts in any case
  CHECK(owned.use_count() == 1);
  CHECK(group.is_complete());
  CHECK(group.failures() == 0);
  CHECK(group.exception() == nullptr);
  CHECK(group.error().empty());
}

TYPED_CASE(cancelled_tasks_with_locales_and_resources_never_run) {
  ran = 0;
  GuardedGroup group;
  const auto exclusive = make_resource<int>({}, 0);
  for (const Frequency frequency : {Frequency::normal, Frequency::high}) {
    for (const Ratio ratio : {Ratio::mostly_reads, Ratio::mostly_writes}) {
      const auto shared = make_resource<int>(
          {.isolation = Isolation::shared_reads, .ratio = ratio, .frequency = frequency}, 0);
      for (int i = 0; i < 40; ++i) {
        const Access access = i % 2 == 0 ? reads : writes;
        create<type>([] { count(ran); }, {.on = shared, .group = &group, .access = access});
      }
      create<nonspec>([shared] { remove(shared); }, {.after = &group});
    }
  }
  for (int i = 0; i < 20; ++i) {
    create<type>([] { count(ran); }, {.on = i % 3, .group = &group});
    create<type>([] { count(ran); }, {.on = exclusive, .group = &group});
    create<type>([] { count(ran); }, {.group = &group, .priority = Priority::high, .core = 0});
    create<type>([] { count(ran); }, {.group = &group, .fair = true});
  }
  create<nonspec>([exclusive] { remove(exclusive); }, {.after = &group});
  group.cancel();
  run();
  CHECK(ran == 0);
  CHECK(group.is_complete());
}

TYPED_CASE(tasks_with_locales_and_resources_of_a_guarded_group_keep_their_isolation) {
  GuardedGroup group;
  struct Counter {
    std::uint64_t value = 0;
  };
  const auto resource = make_resource<Counter>({.isolation = Isolation::shared_reads});
  static std::uint64_t on_locale;
  on_locale = 0;
  for (int i = 0; i < 500; ++i) {
    create<type>([resource] { ++resource->value; }, {.on = resource, .group = &group});
    create<type>([] { ++on_locale; }, {.on = 17, .group = &group});
    create<type>([resource] { static_cast<void>(resource->value); },
                 {.on = resource, .group = &group, .access = reads});
  }
  run();
  CHECK(resource->value == 500);
  CHECK(on_locale == 500);
  CHECK(group.failures() == 0);
  remove(resource);
}

CASE(a_running_task_sees_that_it_is_cancelled) {
  static std::uint64_t outside;
  ran = outside = 0;
  GuardedGroup group;
  create<nonspec>(
      [&group] {
        if (is_cancelled()) return;
        group.cancel();
        if (is_cancelled()) count(ran);
      },
      {.group = &group});
  create<nonspec>(
      [] {
        if (is_cancelled()) count(outside);
      },
      {});
  run();
  CHECK(ran == 1);
  CHECK(outside == 0);
  CHECK(!is_cancelled());
}

CASE(a_guarded_group_is_used_again_after_reset) {
  answered = 0;
  GuardedGroup group;
  create<nonspec>(serve, {.group = &group}, 500);
  run();
  create<nonspec>(serve, {.group = &group}, 1);
  run();
  CHECK(answered == 0);  // it is still cancelled
  create<nonspec>(serve, {.group = &group}, 1);
  bool is_refused = false;
  try {
    group.reset();
  } catch (const TaskError&) {
    is_refused = true;
  }
  CHECK(is_refused);
  run();
  group.reset();
  CHECK(group.failures() == 0);
  CHECK(group.exception() == nullptr);
  create<nonspec>(serve, {.group = &group}, 1);
  run();
  CHECK(answered == 1);
}

CASE(a_failure_outside_the_group_still_ends_the_run) {
  GuardedGroup group;
  create<nonspec>(serve, {.at = 0, .group = &group}, 500);
  create<nonspec>(serve, {.at = 1}, 500);
  create<nonspec>(serve, {.at = 2, .group = &group}, 1);
  bool has_ended = false;
  try {
    run();
  } catch (const TaskError& error) {
    has_ended = true;
    try {
      rethrow_original(error);
    } catch (const BadRequest&) {
    }
  }
  CHECK(has_ended);
  CHECK(group.is_complete());
  CHECK(group.failures() == 1);
}

CASE(an_algorithm_throws_what_its_body_has_thrown) {
  int thrown = 0;
  try {
    parallel_for(0, 100, [](int i) {
      if (i == 17) throw BadRequest(i);
    });
  } catch (const BadRequest& bad) {
    thrown = bad.number;
  }
  CHECK(thrown == 17);
  int number = 0;
  try {
    parallel_invoke([] {}, [] { throw 42; });
  } catch (const int n) {
    number = n;
  }
  CHECK(number == 42);
}

CASE(an_algorithm_of_a_guarded_group_fails_into_it) {
  GuardedGroup group;
  std::uint64_t went_on = 0, came_after = 0;
  create<nonspec>(
      [&] {
        parallel_for(
            0, 1000,
            [](int i) {
              if (i == 17) throw BadRequest(i);
            },
            then([&went_on] { count(went_on); }, &group));
      },
      {.group = &group});
  create<nonspec>([&came_after] { count(came_after); }, {.after = &group});
  run();
  CHECK(went_on == 0);
  CHECK(came_after == 1);
  CHECK(group.failures() == 1);
  CHECK(bad_request_of(group) == 17);
}

CASE(an_algorithm_of_a_cancelled_group_stops) {
  GuardedGroup group;
  std::uint64_t bodies = 0, went_on = 0;
  create<nonspec>(
      [&] {
        parallel_for(
            blocked_range(0, 10'000, 1),
            [&](const auto&) {
              count(bodies);
              group.cancel();
            },
            then([&went_on] { count(went_on); }, &group));
      },
      {.group = &group});
  run();
  CHECK(bodies != 0);
  CHECK(bodies < 5000);  // as many as there are workers
  CHECK(went_on == 0);
  CHECK(group.is_complete());
}

CASE(a_part_of_an_algorithm_sees_that_its_group_is_cancelled) {
  GuardedGroup group;
  std::uint64_t saw = 0;
  create<nonspec>(
      [&] {
        parallel_for(
            0, 1,
            [&](int) {
              saw += is_cancelled() ? 100 : 0;
              group.cancel();
              saw += is_cancelled() ? 1 : 0;
            },
            then([] {}, &group));
      },
      {});
  run();
  CHECK(saw == 1);
}

/// As that of a task does; and the group has it while parts still run.
CASE(a_part_of_an_algorithm_fails_into_a_cancelled_group) {
  GuardedGroup group;
  std::uint64_t went_on = 0;
  create<nonspec>(
      [&] {
        parallel_for(
            blocked_range(0, 1, 1),
            [&](const auto&) {
              group.cancel();
              throw BadRequest(17);
            },
            then([&went_on] { count(went_on); }, &group));
      },
      {});
  run();
  CHECK(went_on == 0);
  CHECK(group.failures() == 1);
  CHECK(bad_request_of(group) == 17);
  CHECK(group.error().find("parallel_for(") != std::string::npos);
}

CASE(an_algorithm_that_fails_has_no_result_where_others_go_on) {
  GuardedGroup group(OnFailure::go_on);
  std::uint64_t results = 0, others = 0;
  create<nonspec>(
      [&] {
        parallel_reduce(
            blocked_range(0, 100, 1), 0,
            [](const auto& range, int sum) {
              if (range.begin() == 50) throw BadRequest(50);
              return sum + 1;
            },
            std::plus<>(), then([&results](int) { count(results); }, &group));
        parallel_for(
            0, 100, [&others](int) { count(others); }, then([&others] { count(others); }, &group));
      },
      {});
  run();
  CHECK(results == 0);
  CHECK(others == 101);
  CHECK(group.failures() == 1);
  CHECK(!group.is_cancelled());
}

}  // namespace
#endif
