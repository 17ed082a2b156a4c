// TaskGroup, .group and .after (the remedy of M3), on_commit (M6), create_all.
// SPDX-License-Identifier: MIT
#include <cstdint>

#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;
using conformance::linger;

TaskGroup first_group;
TaskGroup second_group;
std::uint64_t members_done = 0;
std::uint64_t calls = 0;
std::uint64_t violations = 0;

void reset() { members_done = calls = violations = 0; }

void member() {
  linger(30);
  count(members_done);
}

void expect_members(std::uint64_t expected) {
  if (__atomic_load_n(&members_done, __ATOMIC_RELAXED) != expected) count(violations);
  count(calls);
}

TYPED_CASE(a_task_after_a_group_runs_when_the_group_is_complete) {
  reset();
  for (int i = 0; i < 20; ++i) create<type>(member, {.group = &first_group});
  for (int i = 0; i < 5; ++i) create<type>(expect_members, {.after = &first_group}, 20);
  CHECK(!first_group.is_complete());
  run();
  CHECK(first_group.is_complete());
  CHECK(calls == 5);
  CHECK(violations == 0);
}

TYPED_CASE(a_task_after_a_complete_group_runs_at_once) {
  reset();
  CHECK(first_group.is_complete());
  create<type>(expect_members, {.after = &first_group}, 0);
  create<type>(expect_members, {.at = 3, .after = &first_group}, 0);
  run();
  CHECK(calls == 2);
  CHECK(violations == 0);
}

TYPED_CASE(timestamped_tasks_wait_for_groups) {
  reset();
  for (std::uint64_t i = 0; i < 20; ++i) create<type>(member, {.at = i % 4, .group = &first_group});
  for (std::uint64_t i = 0; i < 5; ++i)
    create<type>(expect_members, {.at = 3 + i, .after = &first_group}, 20);
  run();
  CHECK(calls == 5);
  CHECK(violations == 0);
}

TYPED_CASE(a_timestamped_task_waits_for_tasks_without_timestamps) {
  reset();
  create<type>(expect_members, {.at = 0, .after = &first_group}, 6);
  for (int i = 0; i < 6; ++i) create<type>(member, {.group = &first_group});
  run();
  CHECK(calls == 1);
  CHECK(violations == 0);
}

TYPED_CASE(a_timestamped_task_creates_whom_it_waits_for) {
  reset();
  for (std::uint64_t i = 0; i < 100; ++i) create<type>(member, {.at = 1000 + i});
  run();
  reset();  // later in no sense than what comes now
  create<nonspec>(
      [] {
        for (int i = 0; i < 6; ++i) create<type>(member, {.group = &first_group});
        create<nonspec>(expect_members, {.at = 0, .after = &first_group}, 6);
      },
      {.at = 0});
  run();
  CHECK(calls == 1);
  CHECK(violations == 0);
}

TYPED_CASE(groups_form_chains) {
  reset();
  create<type>(expect_members, {.after = &second_group}, 12);
  for (int i = 0; i < 6; ++i) create<type>(member, {.group = &second_group, .after = &first_group});
  for (int i = 0; i < 6; ++i) create<type>(member, {.group = &first_group});
  run();
  CHECK(members_done == 12);
  CHECK(calls == 1);
  CHECK(violations == 0);
}

template <TaskType type>
void grows(std::uint64_t depth) {
  if (depth > 0) {
    create<type>(grows<type>, {.group = &first_group}, depth - 1);
    create<type>(grows<type>, {.group = &first_group}, depth - 1);
  }
  linger(10);
  count(members_done);
}

TYPED_CASE(a_member_may_add_members) {
  reset();
  create<type>(grows<type>, {.group = &first_group}, 5);
  create<type>(expect_members, {.after = &first_group}, 63);
  run();
  CHECK(members_done == 63);
  CHECK(calls == 1);
  CHECK(violations == 0);
}

TYPED_CASE(tasks_with_groups_keep_arguments_locales_and_order) {
  reset();
  static tracked<std::uint64_t> text;
  text = 0;
  const auto append = [](std::uint8_t a, int b, std::uint64_t c, float d, std::int16_t e) {
    text = text * 10 + (a == 255 && b == -1 && d == 0.5f && e == -300 ? c : 0);
  };
  for (std::uint64_t i = 1; i <= 5; ++i) {
    create<type>(append, {.at = 6 - i, .on = 1, .group = &first_group}, std::uint8_t{255}, -1, 6 - i, 0.5f,
                 std::int16_t{-300});
  }
  run();
  CHECK(text == 12345);
}

// ---- on_commit ----

std::uint64_t committed_sum = 0;

void add_committed(std::uint64_t n) {
  if (timestamp() != 0) count(violations);
  __atomic_fetch_add(&committed_sum, n, __ATOMIC_RELAXED);
}

void reports(std::uint64_t n) { on_commit(add_committed, n); }

TYPED_CASE(on_commit_runs_once_for_every_task) {
  reset();
  committed_sum = 0;
  for (std::uint64_t i = 1; i <= 50; ++i) create<type>(reports, {.at = i}, i);
  for (std::uint64_t i = 1; i <= 50; ++i) create<type>(reports, {}, i);
  run();
  CHECK(committed_sum == 2550);
  CHECK(violations == 0);
}

// ---- create_all ----

constexpr std::uint64_t kElements = 700;
std::uint64_t touched[kElements];

void touch(std::uint64_t i, std::uint64_t expected_timestamp) {
  if (timestamp() != expected_timestamp) count(violations);
  count(touched[i]);
  count(calls);
}

void check_touched(std::uint64_t size) {
  CHECK(calls == size);
  CHECK(violations == 0);
  for (std::uint64_t i = 0; i < kElements; ++i) CHECK(touched[i] == (i < size ? 1u : 0u));
  reset();
  for (auto& t : touched) t = 0;
}

template <TaskType type>
void touches_all(std::uint64_t size, std::uint64_t at) {
  create_all<type>(
      std::uint64_t{0}, size,
      [](std::uint64_t i, std::uint64_t t) { create<type>(touch, {.at = t, .on = i}, i, t); }, at);
}

template <TaskType type>
void touches_all_untimestamped(std::uint64_t size) {
  create_all<type>(std::uint64_t{0}, size, [](std::uint64_t i) { create<type>(touch, {}, i, 0); });
}

TYPED_CASE(create_all_creates_one_child_for_each_element) {
  reset();
  for (const std::uint64_t size : {0, 1, 7, 8, 9, 64, 65, 700}) {
    create<type>(touches_all<type>, {.at = 4}, size, 4);  // same timestamp
    run();
    check_touched(size);
    create<type>(touches_all<type>, {.at = 4}, size, 9);
    run();
    check_touched(size);
    create<type>(touches_all_untimestamped<type>, {}, size);
    run();
    check_touched(size);
    touches_all<type>(size, 2);  // outside tasks
    run();
    check_touched(size);
  }
}

TYPED_CASE(create_all_walks_pointers) {
  reset();
  static const std::uint32_t values[] = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  static std::uint64_t values_sum;
  values_sum = 0;
  create<type>(
      [] {
        create_all<type>(std::begin(values), std::end(values), [](const std::uint32_t* v) {
          create<type>([](std::uint32_t n) { __atomic_fetch_add(&values_sum, n, __ATOMIC_RELAXED); }, {}, *v);
        });
      },
      {});
  run();
  CHECK(values_sum == 110);
}

}  // namespace
