// Hints count in whatever way a task is created. R5.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "rubato/async.hpp"
#include "rubato/coroutine.hpp"
#include "rubato/create_all.hpp"
#include "rubato/delayed.hpp"
#include "rubato/fork_join.hpp"
#include "rubato/guarded_group.hpp"
#include "rubato/per_worker.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;
using namespace std::chrono_literals;

/// A way to create a task: calls `run` in it, and in each of its parts.
struct Way {
  const char* name;
  void (*create_by)(std::function<void()> run, const Annotations& annotations);
  unsigned parts = 1;
};
std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

Coroutine in_parts(std::function<void()> run) {
  run();
  co_await passed(1ms);
  run();
  TaskGroup members;
  create<nonspec>([] {}, {.group = &members, .core = 0});
  co_await completed(members);
  run();
}

const Way kWays[] = {
    {"create", [](std::function<void()> run, const Annotations& a) { create<nonspec>(run, a); }},
    {"create_in_a_task",
     [](std::function<void()> run, const Annotations& a) {
       create<nonspec>([run, a] { create<nonspec>(run, a); }, {});
     }},
    {"create_by_a_reader",
     [](std::function<void()> run, const Annotations& a) {
       static const auto data = make_resource<int>(
           {.isolation = Isolation::shared_reads, .synchronization = Synchronization::optimistic_latch});
       create<nonspec>([run, a] { create<nonspec>(run, a); }, {.on = data, .access = reads});
     }},
    {"create_in_a_fork",
     [](std::function<void()> run, const Annotations& a) {
       create<nonspec>([run, a] { fork_join([&] { create<nonspec>(run, a); }, [] {}); }, {});
     }},
    {"create_behind_a_group",
     [](std::function<void()> run, const Annotations& a) {
       create<nonspec>(
           [run, a] {
             auto* const group = new TaskGroup;
             create<nonspec>([] {}, {.group = group});
             Annotations behind = a;
             behind.after = group;
             create<nonspec>(run, behind);
             create<nonspec>([group] { delete group; }, {.after = group, .priority = Priority::low});
           },
           {});
     }},
    {"create_in_a_group",
     [](std::function<void()> run, const Annotations& a) {
       static TaskGroup group;
       Annotations member = a;
       member.group = &group;
       create<nonspec>(run, member);
     }},
    {"create_in_a_guarded_group",
     [](std::function<void()> run, const Annotations& a) {
       static GuardedGroup group;
       Annotations member = a;
       member.group = &group;
       create<nonspec>(run, member);
     }},
    {"create_large",
     [](std::function<void()> run, const Annotations& a) {
       create<nonspec>([run, text = std::string(100, 'x'), more = std::string(100, 'y')] { run(); }, a);
     }},
    {"create_later",
     [](std::function<void()> run, const Annotations& a) { create_later<nonspec>(1ms, run, a); }},
    {"async",
     [](std::function<void()> run, const Annotations& a) { static_cast<void>(rubato::async(run, a)); }},
    {"coroutine", [](std::function<void()> run, const Annotations& a) { create<nonspec>(in_parts(run), a); },
     3},
};

class Hints : public ::testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Ways, Hints, ::testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.name); });

/// How many parts ran on worker 1 that asked for it.
unsigned parts_on_their_worker(const Way& way, const Annotations& more) {
  std::atomic<unsigned> right{0};
  for (int i = 0; i < 10; ++i) {
    Annotations annotations = more;
    annotations.core = 1;
    way.create_by([&right] { right += worker_number() == 1u ? 1 : 0; }, annotations);
  }
  run();
  return right;
}

TEST_P(Hints, OfAWorkerCount) {
  use_workers(3);
  using enum Synchronization;
  EXPECT_EQ(parts_on_their_worker(GetParam(), {}), 10 * GetParam().parts);
  EXPECT_EQ(parts_on_their_worker(GetParam(), {.on = 7}), 10 * GetParam().parts) << "with a locale";
  EXPECT_EQ(parts_on_their_worker(GetParam(), {.priority = Priority::high}), 10 * GetParam().parts);
  EXPECT_EQ(parts_on_their_worker(GetParam(), {.fair = true}), 10 * GetParam().parts);
  for (const Synchronization way : {none, latch, shared_latch, optimistic_latch, optimistic_pool, pool}) {
    for (const Access access : {writes, reads}) {
      const auto data = make_resource<int>({.isolation = Isolation::shared_reads, .synchronization = way});
      EXPECT_EQ(parts_on_their_worker(GetParam(), {.on = data, .access = access}), 10 * GetParam().parts)
          << static_cast<int>(way) << (access == reads ? " reads" : " writes");
      remove(data);
    }
  }
}

}  // namespace
