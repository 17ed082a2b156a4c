// The profile of threads: its periods, and what function names say of a wait.
// SPDX-License-Identifier: MIT
#include "chip/os/thread_profile.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "chip/os/wait_names.hpp"

namespace rubato::chip {
namespace {

using Parts = ThreadProfile::Parts;
using Kind = ThreadWait::Kind;

Parts parts(std::uint64_t core, std::uint64_t l1) {
  Parts p{};
  p[static_cast<unsigned>(CyclePart::core)] = core;
  p[static_cast<unsigned>(CyclePart::l1)] = l1;
  return p;
}

struct Watcher final : ThreadWatcher {
  std::vector<std::tuple<int, std::uint64_t, std::uint64_t>> ran, waited;
  void on_ran(int thread, CoreId, Cycle from, Cycle to) override {
    ran.emplace_back(thread, from.value, to.value);
  }
  void on_waited(int thread, const ThreadWait&, const std::vector<Addr>&, Cycle from, Cycle to,
                 int) override {
    waited.emplace_back(thread, from.value, to.value);
  }
};

TEST(ThreadProfile, AddsUpWhatAThreadDid) {
  ThreadProfile profile;
  Watcher watcher;
  profile.watch(&watcher);
  profile.ready(7, Cycle{10}, 0);
  profile.runs(7, CoreId{1}, Cycle{15}, parts(100, 20));
  profile.blocks(7, Cycle{50}, parts(130, 25), {Kind::lock, 0x1000, 9}, {0x400, 0x500});
  profile.ready(7, Cycle{80}, 9);
  profile.runs(7, CoreId{2}, Cycle{81}, parts(0, 0));
  profile.ends(7, Cycle{91}, parts(10, 0));
  const ThreadProfile::Thread& thread = profile.threads().at(7);
  EXPECT_EQ(thread.began, Cycle{10});
  EXPECT_TRUE(thread.has_ended);
  EXPECT_EQ(thread.ended, Cycle{91});
  EXPECT_EQ(thread.running, parts(40, 5));
  EXPECT_EQ(thread.ready, 5U + 1U);
  EXPECT_EQ(thread.blocked.at(Kind::lock), 30U);
  const auto& [place, waits] = *profile.waits().begin();
  EXPECT_EQ(place.word, 0x1000U);
  EXPECT_EQ(place.chain, (std::vector<Addr>{0x400, 0x500}));
  EXPECT_EQ(std::tuple(waits.count, waits.cycles, waits.longest), std::tuple(1U, 30U, 30U));
  EXPECT_EQ(waits.by_thread.at(7), 30U);
  EXPECT_EQ(waits.ended_by.at(9), 1U);
  EXPECT_EQ(waits.held_by.at(9), 1U);
  EXPECT_EQ(watcher.ran,
            (std::vector<std::tuple<int, std::uint64_t, std::uint64_t>>{{7, 15, 50}, {7, 81, 91}}));
  EXPECT_EQ(watcher.waited, (std::vector<std::tuple<int, std::uint64_t, std::uint64_t>>{{7, 50, 80}}));
}

TEST(ThreadProfile, AWaitThatIsOverBeforeTheCallEndsTakesNoTime) {
  ThreadProfile profile;
  Watcher watcher;
  profile.watch(&watcher);
  profile.ready(7, Cycle{0}, 0);
  profile.runs(7, CoreId{0}, Cycle{0}, {});
  profile.blocks(7, Cycle{200}, parts(200, 0), {Kind::futex, 0x1000, 0}, {});
  profile.ready(7, Cycle{150}, 8);  // of another core, while the call was on its way out
  profile.runs(7, CoreId{1}, Cycle{160}, {});
  profile.stop(Cycle{300}, [](CoreId) { return parts(140, 0); });
  EXPECT_EQ(profile.threads().at(7).blocked.at(Kind::futex), 0U);
  EXPECT_EQ(profile.threads().at(7).running, parts(340, 0));
  EXPECT_EQ(watcher.ran,
            (std::vector<std::tuple<int, std::uint64_t, std::uint64_t>>{{7, 0, 200}, {7, 200, 300}}));
}

TEST(ThreadProfile, StopEndsWaitsToo) {
  ThreadProfile profile;
  profile.was_blocked(3, Cycle{5}, {Kind::join, 0x2000, 4}, {});
  profile.stop(Cycle{25}, [](CoreId) { return Parts{}; });
  EXPECT_EQ(profile.threads().at(3).blocked.at(Kind::join), 20U);
  EXPECT_FALSE(profile.threads().at(3).has_ended);
}

TEST(WaitNames, TheFirstFunctionThatIsNoLibrarysIsTheUsers) {
  const std::vector<std::string> calls = {"__lll_lock_wait+0x28", "pthread_mutex_lock+0x8d", "deposit+0x12",
                                          "main+0x4"};
  EXPECT_EQ(user_frame(calls), 2U);
  EXPECT_EQ(user_frame(std::span(calls).first(2)), 2U);
  const std::vector<std::string> lambda = {
      "std::thread::join()+0x11", "std::thread::_State_impl<std::thread::_Invoker<x> >::_M_run()+0x3b"};
  EXPECT_EQ(user_frame(lambda), 1U);
}

TEST(WaitNames, NamesOfLibrariesSayWhatAFutexIs) {
  const auto of = [](std::vector<std::string> calls, Kind kind = Kind::futex) {
    return std::string(describe_wait(kind, calls));
  };
  EXPECT_EQ(of({"__futex_abstimed_wait_common", "__pthread_cond_wait", "main"}), "condition");
  EXPECT_EQ(of({"__lll_lock_wait", "__pthread_mutex_cond_lock", "pthread_cond_wait", "main"}), "condition");
  EXPECT_EQ(of({"__pthread_barrier_wait", "main"}), "barrier");
  EXPECT_EQ(of({"futex_wait", "gomp_team_barrier_wait_end", "main._omp_fn.0"}), "barrier");
  EXPECT_EQ(of({"sync.(*Mutex).lockSlow", "main.work"}), "lock");
  EXPECT_EQ(of({"syscall", "my_barrier"}), "futex") << "the user's own names say nothing";
  EXPECT_EQ(of({"main"}, Kind::sleep), "sleep");
  EXPECT_EQ(of({"main"}, Kind::none), "");
  EXPECT_EQ(of({"gomp_barrier_wait_end", "main"}, Kind::none), "barrier") << "spinning";
}

}  // namespace
}  // namespace rubato::chip
