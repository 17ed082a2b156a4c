// Joins by .after: tasks that end with one that comes after their children, and that is of their own group.
// On the host engines.
// SPDX-License-Identifier: MIT
#if !defined(__riscv)
#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "rubato/fork_join.hpp"
#include "rubato/guarded_group.hpp"
#include "rubato/resource.hpp"
#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::count;

std::uint64_t leaves = 0, joins = 0, seen = 0;

void begin_count() { leaves = joins = seen = 0; }

/// Children of a task; freed by the last task that waits for them.
struct Children {
  explicit Children(int waiting) : waits(waiting) {}
  TaskGroup group;
  std::atomic<int> waits;
};
struct Join {
  void operator()(Children* children) const {
    CHECK(children->group.is_complete());
    count(joins);
    if (children->waits.fetch_sub(1) == 1) delete children;
  }
};

/// A member of `outer`, which ends with `waiting` tasks of `outer` behind its own children.
void divide(TaskGroup* outer, unsigned depth, int waiting) {
  if (depth == 0) return count(leaves);
  auto* const children = new Children(waiting);
  for (unsigned i = 0; i < 2; ++i)
    create<nonspec>(divide, {.group = &children->group}, &children->group, depth - 1, waiting);
  for (int i = 0; i < waiting; ++i)
    create<nonspec>(Join{}, {.group = outer, .after = &children->group}, children);
}

TYPED_CASE(a_group_is_complete_when_all_joins_of_its_members_have_run) {
  constexpr unsigned kDepth = 8;
  for (const int waiting : {1, 2, 3}) {
    begin_count();
    TaskGroup whole;
    create<type>(divide, {.group = &whole}, &whole, kDepth, waiting);
    create<type>([] { seen = leaves + joins; }, {.after = &whole});
    run();
    const std::uint64_t all_joins = ((1u << kDepth) - 1) * static_cast<std::uint64_t>(waiting);
    CHECK(leaves == 1u << kDepth);
    CHECK(joins == all_joins);
    CHECK(seen == leaves + all_joins);
    CHECK(whole.is_complete());
  }
}

CASE(joins_keep_their_place_in_the_order) {
  begin_count();
  TaskGroup whole, early;
  std::uint64_t late = 0;
  create<nonspec>([&early] { create<nonspec>([] { count(leaves); }, {.at = 1, .group = &early}); },
                  {.at = 1, .group = &early});
  create<nonspec>(
      [&] {
        create<nonspec>([&late] { late = leaves; }, {.at = 3, .group = &whole, .after = &early});
        create<nonspec>([] { count(joins); }, {.at = 3, .group = &whole, .after = &early});
      },
      {.at = 2, .group = &whole});
  create<nonspec>([] { seen = joins; }, {.at = 3, .after = &whole});
  run();
  CHECK(late == 1);
  CHECK(seen == 1);
}

/// Only the joins of functions of one task: several workers create them.
CASE(joins_of_forked_functions_are_members_of_the_tasks_group) {
  for (int round = 0; round < 50; ++round) {
    begin_count();
    TaskGroup whole;
    create<nonspec>(
        [&whole] {
          const auto fork = [&whole] {
            auto* const children = new Children(1);
            create<nonspec>([] { count(leaves); }, {.group = &children->group});
            create<nonspec>(Join{}, {.group = &whole, .after = &children->group}, children);
          };
          fork_join(
              fork, [&] { fork_join(fork, fork); }, fork);
        },
        {.group = &whole});
    create<nonspec>([] { seen = joins; }, {.after = &whole});
    run();
    CHECK(leaves == 4);
    CHECK(seen == 4);
  }
}

/// Attempts of readers are dropped, and with them what they have created.
CASE(joins_of_readers_count_once) {
  constexpr std::uint64_t kReaders = 200;
  begin_count();
  TaskGroup whole, none;
  const auto data = make_resource<std::atomic<std::uint64_t>>({.isolation = Isolation::shared_reads}, 0u);
  for (std::uint64_t i = 0; i < kReaders; ++i) {
    create<nonspec>([data] { data->fetch_add(1); }, {.on = data});
    create<nonspec>(
        [data, &whole, &none] {
          static_cast<void>(data->load());
          create<nonspec>([] { count(joins); }, {.group = &whole, .after = &none});
        },
        {.on = data, .group = &whole, .access = reads});
  }
  create<nonspec>([] { seen = joins; }, {.after = &whole});
  run();
  CHECK(joins == kReaders);
  CHECK(seen == kReaders);
  remove(data);
}

CASE(a_join_whose_creator_fails_is_its_guarded_groups) {
  for (const OnFailure on_failure : {OnFailure::go_on, OnFailure::cancel}) {
    begin_count();
    GuardedGroup whole(on_failure);
    TaskGroup children;
    create<nonspec>(
        [&whole, &children] {
          create<nonspec>([] { count(leaves); }, {.group = &children});
          create<nonspec>([] { count(joins); }, {.group = &whole, .after = &children});
          throw std::runtime_error("as asked");
        },
        {.group = &whole});
    run();
    CHECK(leaves == 1);
    CHECK(joins == (on_failure == OnFailure::go_on ? 1 : 0));
    CHECK(whole.is_complete());
    CHECK(whole.failures() == 1);
  }
}

CASE(a_run_that_fails_leaves_no_member_of_a_join) {
  for (const bool fails_in_join : {false, true}) {
    begin_count();
    TaskGroup whole, children;
    create<nonspec>(
        [&whole, &children, fails_in_join] {
          create<nonspec>(
              [fails_in_join] {
                if (!fails_in_join) throw std::runtime_error("as asked");
              },
              {.group = &children});
          create<nonspec>([] { throw std::runtime_error("as asked"); },
                          {.group = &whole, .after = &children});
        },
        {.group = &whole});
    create<nonspec>([] { count(seen); }, {.after = &whole});
    bool has_thrown = false;
    try {
      run();
    } catch (const TaskError&) {
      has_thrown = true;
    }
    CHECK(has_thrown);
    CHECK(whole.is_complete());
    CHECK(children.is_complete());
    create<nonspec>([] { count(joins); }, {.after = &whole});
    run();
    CHECK(joins == 1);
    CHECK(seen == 0);
  }
}

}  // namespace
#endif
