// Types and order (M2, M3): timestamps, parents and children, several runs.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>

#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::linger;

constexpr std::uint64_t kTasks = 200;

std::uint64_t calls = 0;
std::uint64_t violations = 0;
tracked<std::uint64_t> value;
tracked<std::uint64_t> logged[kTasks];
tracked<std::uint64_t> log_size;

void reset() {
  calls = violations = 0;
  value = 0;
  log_size = 0;
}

void log_timestamp() {
  logged[log_size] = timestamp();
  ++log_size;
  count(calls);
}

TYPED_CASE(tasks_run_in_timestamp_order) {
  reset();
  for (std::uint64_t i = 0; i < kTasks; ++i) {  // 7 and 200 have no common divisor: every timestamp once
    create<type>(log_timestamp, {.at = i * 7 % kTasks});
  }
  run();
  CHECK(calls == kTasks);
  CHECK(log_size == kTasks);
  for (std::uint64_t i = 0; i < kTasks; ++i) CHECK(logged[i] == i);
}

TYPED_CASE(tasks_of_one_locale_and_few_timestamps_run_in_order) {
  reset();
  for (std::uint64_t i = 0; i < kTasks; ++i) create<type>(log_timestamp, {.at = i % 5, .on = 3});
  run();
  CHECK(log_size == kTasks);
  for (std::uint64_t i = 0; i < kTasks; ++i) CHECK(logged[i] == i / (kTasks / 5));
}

/// Order matters to the result: value = 3 * value + timestamp, one timestamp after another.
template <TaskType type>
void fold(std::uint64_t last) {
  value = 3 * value + timestamp();
  count(calls);
  if (timestamp() < last) create<type>(fold<type>, {.at = timestamp() + 1}, last);
}

TYPED_CASE(a_chain_of_children_runs_in_order) {
  reset();
  create<type>(fold<type>, {.at = 1}, 50);
  run();
  std::uint64_t expected = 0;
  for (std::uint64_t t = 1; t <= 50; ++t) expected = 3 * expected + t;
  CHECK(calls == 50);
  CHECK(value == expected);
}

template <TaskType type>
void late_children() {
  // Created latest first: order comes from timestamps, not from creation.
  for (std::uint64_t i = 8; i > 0; --i) create<type>(log_timestamp, {.at = timestamp() + i});
}

TYPED_CASE(children_of_many_parents_run_in_timestamp_order) {
  reset();
  for (std::uint64_t p = 0; p < 10; ++p) create<type>(late_children<type>, {.at = 10 * p});
  run();
  CHECK(log_size == 80);
  for (std::uint64_t i = 0; i < 80; ++i) CHECK(logged[i] == i / 8 * 10 + i % 8 + 1);
}

void same_timestamp_child(std::uint64_t expected) {
  if (timestamp() != expected) count(violations);
  count(calls);
}

template <TaskType type>
void same_timestamp_parent() {
  create<type>(same_timestamp_child, {.at = timestamp()}, std::uint64_t{timestamp()});
}

TYPED_CASE(a_child_may_have_its_creators_timestamp) {
  reset();
  for (std::uint64_t t = 0; t < 20; ++t) create<type>(same_timestamp_parent<type>, {.at = t / 2});
  run();
  CHECK(calls == 20);
  CHECK(violations == 0);
}

TYPED_CASE(the_largest_timestamp_is_a_timestamp) {
  reset();
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  create<type>(same_timestamp_child, {.at = kLargest}, kLargest);
  create<type>(same_timestamp_child, {.at = kLargest - 1}, kLargest - 1);
  create<type>(same_timestamp_child, {.at = 0}, 0);
  run();
  CHECK(calls == 3);
  CHECK(violations == 0);
}

void expect_value(std::uint64_t expected) {
  if (value != expected) count(violations);
  count(calls);
}

template <TaskType parent, TaskType child, bool is_timestamped>
void creates_then_writes() {
  Annotations annotations;
  if (is_timestamped) annotations.at = timestamp();
  create<child>(expect_value, annotations, 7);
  linger(50);
  value = 7;
}

template <TaskType parent, TaskType child>
void check_child_after_parent() {
  reset();
  create<parent>(creates_then_writes<parent, child, false>, {});
  run();
  CHECK(calls == 1);
  CHECK(violations == 0);
  reset();
  create<parent>(creates_then_writes<parent, child, true>, {.at = 4});
  run();
  CHECK(calls == 1);
  CHECK(violations == 0);
}

TYPED_CASE(a_speculative_child_appears_after_its_parent) {
  if constexpr (type == spec) {
    check_child_after_parent<spec, spec>();
    check_child_after_parent<nonspec, spec>();
  }
}

TYPED_CASE(a_nonspec_child_of_a_speculative_parent_runs_after_it) {
  if constexpr (type == spec) check_child_after_parent<spec, nonspec>();
}

template <TaskType type>
void plain_child() {
  if (timestamp() != 0) count(violations);
  count(calls);
}

template <TaskType type>
void creates_untimestamped() {
  for (int i = 0; i < 3; ++i) create<type>(plain_child<type>, {});
  count(calls);
}

TYPED_CASE(tasks_may_create_tasks_without_timestamps) {
  reset();
  for (int i = 0; i < 10; ++i) create<type>(creates_untimestamped<type>, {});
  for (std::uint64_t i = 0; i < 10; ++i) create<type>(creates_untimestamped<type>, {.at = 5 + i});
  run();
  CHECK(calls == 80);
  CHECK(violations == 0);
}

TYPED_CASE(types_mix) {
  reset();
  for (std::uint64_t i = 0; i < 60; ++i) {
    if constexpr (type == spec) {  // all three, where speculation is there
      if (i % 3 == 0) create<spec>(log_timestamp, {.at = i});
      if (i % 3 == 1) create<nonspec>(log_timestamp, {.at = i});
      if (i % 3 == 2) create<mayspec>(log_timestamp, {.at = i});
    } else {
      if (i % 2 == 0) create<nonspec>(log_timestamp, {.at = i});
      if (i % 2 == 1) create<mayspec>(log_timestamp, {.at = i});
    }
  }
  run();
  CHECK(log_size == 60);
  for (std::uint64_t i = 0; i < 60; ++i) CHECK(logged[i] == i);
}

template <TaskType type>
void tree(std::uint64_t depth) {
  count(calls);
  if (depth == 0) return;
  create<type>(tree<type>, {.at = timestamp() + 1}, depth - 1);
  create<type>(tree<type>, {.at = timestamp() + 1}, depth - 1);
}

TYPED_CASE(every_task_runs_exactly_once) {
  reset();
  create<type>(tree<type>, {.at = 0}, 9);
  run();
  CHECK(calls == 1023);
}

TYPED_CASE(runs_follow_one_another) {
  reset();
  run();  // without tasks
  CHECK(calls == 0);
  for (std::uint64_t r = 1; r <= 4; ++r) {  // each run starts again at any timestamp
    create<type>(fold<type>, {.at = 1}, 10);
    CHECK(calls == 10 * (r - 1));
    run();
    CHECK(calls == 10 * r);
    CHECK(timestamp() == 0);
  }
}

TYPED_CASE(many_tasks_can_be_created_before_a_run) {
  reset();
  for (std::uint64_t i = 0; i < 3000; ++i)
    create<type>(same_timestamp_child, {.at = i % 40, .on = i}, i % 40);
  run();
  CHECK(calls == 3000);
  CHECK(violations == 0);
}

TYPED_CASE(a_run_sees_what_was_written_before_it_and_shows_what_it_wrote) {
  reset();
  value = 41;
  create<type>([] { ++value; }, {});
  run();
  CHECK(value == 42);
}

}  // namespace
