// The profile of threads: its periods, and what function names say of a wait.
// SPDX-License-Identifier: MIT
#include "chip/os/thread_profile.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
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

// ---- idle cores ----

TEST(IdleCores, AWaitingThreadExplainsOneIdleCore) {
  ThreadProfile profile(4);
  for (const int thread : {1, 2, 3}) {
    profile.ready(thread, Cycle{0}, 0);
    profile.runs(thread, CoreId{static_cast<std::uint32_t>(thread)}, Cycle{0}, {});
  }
  profile.blocks(1, Cycle{100}, {}, {Kind::lock, 0x1000, 2}, {0x400});  // so far one idle, of three threads
  profile.blocks(2, Cycle{100}, {}, {Kind::join, 0x2000, 0}, {0x500});
  profile.ready(1, Cycle{300}, 3);                           // 3 idle: one for the lock
  profile.stop(Cycle{350}, [](CoreId) { return Parts{}; });  // 3 idle, none explained
  const auto idle_of = [&](Kind kind) {
    double sum = 0;
    for (const auto& [place, waits] : profile.waits())
      if (place.kind == kind) sum += waits.idle;
    return sum;
  };
  EXPECT_DOUBLE_EQ(idle_of(Kind::lock), 200);
  EXPECT_DOUBLE_EQ(idle_of(Kind::join), 0) << "the end of a thread is no reason";
  EXPECT_DOUBLE_EQ(profile.idle().for_waits(), 200);
  EXPECT_EQ(profile.idle().few(), (std::map<int, std::uint64_t>{{2, 2 * 200}, {3, 100}}));
  EXPECT_EQ(profile.idle().alone(), (std::map<int, std::uint64_t>{{3, 3 * 50}}));
  EXPECT_EQ(profile.idle().none(), 0U);
}

TEST(IdleCores, MoreWaitingThreadsThanIdleCoresShareThem) {
  ThreadProfile profile(2);
  profile.ready(9, Cycle{0}, 0);
  profile.runs(9, CoreId{0}, Cycle{0}, {});
  for (const int thread : {1, 2}) profile.was_blocked(thread, Cycle{0}, {Kind::futex, 0x1000, 0}, {0x400});
  for (const int thread : {3, 4}) profile.was_blocked(thread, Cycle{0}, {Kind::futex, 0x2000, 0}, {0x400});
  profile.stop(Cycle{100}, [](CoreId) { return Parts{}; });
  for (const auto& [place, waits] : profile.waits()) EXPECT_DOUBLE_EQ(waits.idle, 50) << place.word;
  EXPECT_TRUE(profile.idle().alone().empty());
}

TEST(IdleCores, NothingIsCountedBetweenStopAndTheNextPeriodNorInRegionsOfTasks) {
  ThreadProfile profile(4);
  profile.ready(1, Cycle{10}, 0);
  profile.runs(1, CoreId{0}, Cycle{10}, {});
  profile.stop(Cycle{20}, [](CoreId) { return Parts{}; });
  profile.ready(1, Cycle{520}, 0);
  profile.runs(1, CoreId{0}, Cycle{520}, {});
  profile.blocks(1, Cycle{521}, {}, {Kind::region, 0, 0}, {});
  profile.stop(Cycle{900}, [](CoreId) { return Parts{}; });
  EXPECT_EQ(profile.idle().alone(), (std::map<int, std::uint64_t>{{1, 3 * 10 + 3 * 1}}));
  EXPECT_EQ(profile.idle().none(), 0U);
}

TEST(ThreadProfile, ASampleIsAloneIfTheOtherThreadsSpin) {
  ThreadProfile profile(4);
  const auto spins = [](const std::vector<Addr>& chain) { return chain.front() == 0x500; };
  profile.sample(1, {0x400});
  profile.sample(2, {0x500});
  profile.end_samples(spins);
  profile.sample(1, {0x400});
  profile.sample(2, {0x404});
  profile.end_samples(spins);
  profile.end_samples(spins);
  EXPECT_EQ(profile.samples().at({{0x400}}).alone, (std::map<int, std::uint64_t>{{1, 1}}));
  EXPECT_EQ(profile.samples().at({{0x400}}).by_thread, (std::map<int, std::uint64_t>{{1, 2}}));
  EXPECT_TRUE(profile.samples().at({{0x500}}).alone.empty());
  EXPECT_TRUE(profile.samples().at({{0x404}}).alone.empty());
  EXPECT_EQ(profile.sample_count(), 4U);
}

// ---- names ----

std::vector<Called> calls(const std::vector<std::string>& functions, std::size_t with_source = SIZE_MAX) {
  std::vector<Called> made;
  for (const std::string& function : functions) made.push_back({0, function, made.size() == with_source});
  return made;
}

TEST(WaitNames, TheFirstFunctionThatIsNoLibrarysIsTheUsers) {
  const auto deposit = calls({"__lll_lock_wait+0x28", "pthread_mutex_lock+0x8d", "deposit+0x12", "main+0x4"});
  EXPECT_EQ(user_frame(deposit), 2U);
  EXPECT_EQ(user_frame(std::span(deposit).first(2)), 2U);
  EXPECT_EQ(user_frame(calls({"std::thread::join()+0x11",
                              "std::thread::_State_impl<std::thread::_Invoker<x> >::_M_run()+0x3b"})),
            1U);
}

TEST(WaitNames, NamesThatOnlyBeginAsALibrarysAreTheUsers) {
  for (const char* name :
       {"free_block+0x12", "reader", "read_rows+0x2", "write_rows", "sleeper", "poll_queue", "malloc_nodes",
        "_work", "do_waiting", "futexes", "synchronize", "clone_tree.part.0"})
    EXPECT_EQ(user_frame(calls({"__lll_lock_wait+0x28", "pthread_mutex_lock", name, "main"})), 2U) << name;
  for (const char* name : {"free+0x12", "read", "usleep+0x2", "malloc", "_IO_fwrite", "do_wait.constprop.0",
                           "sysmalloc.part.0+0x8", "std::mutex::lock()", "sync.(*Mutex).Lock"})
    EXPECT_EQ(user_frame(calls({name, "main"})), 1U) << name;
}

TEST(WaitNames, AFunctionWithDebuggingInformationIsTheUsers) {
  EXPECT_EQ(user_frame(calls({"syscall", "do_wait+0x8", "main"}, 1)), 1U);
  EXPECT_EQ(user_frame(calls({"syscall", "do_wait+0x8", "main"})), 2U);
  EXPECT_EQ(user_frame(calls({"pthread_mutex_lock", "std::mutex::lock()", "main"}, 1)), 2U)
      << "templates of the library are compiled with the user's options";
}

TEST(WaitNames, NamesOfLibrariesSayWhatAFutexIs) {
  const auto of = [](const std::vector<std::string>& functions, Kind kind = Kind::futex) {
    return std::string(describe_wait(kind, calls(functions)));
  };
  EXPECT_EQ(of({"__futex_abstimed_wait_common", "__pthread_cond_wait", "main"}), "condition");
  EXPECT_EQ(of({"__lll_lock_wait", "__pthread_mutex_cond_lock", "pthread_cond_wait", "main"}), "lock")
      << "it was signalled, and takes its mutex again";
  EXPECT_EQ(of({"__pthread_barrier_wait", "main"}), "barrier");
  EXPECT_EQ(of({"futex_wait", "gomp_team_barrier_wait_end", "main._omp_fn.0"}), "barrier");
  EXPECT_EQ(of({"sync.(*Mutex).lockSlow", "main.work"}), "lock");
  EXPECT_EQ(of({"syscall", "my_barrier"}), "futex") << "the user's own names say nothing";
  EXPECT_EQ(of({"main"}, Kind::sleep), "sleep");
  EXPECT_EQ(of({"main"}, Kind::none), "");
  EXPECT_EQ(of({"gomp_barrier_wait_end", "main"}, Kind::none), "barrier") << "spinning";
}

TEST(WaitNames, WordsOfOneVariableAreOneObject) {
  // A variable at 0x1000 of 48 bytes, as pthread_cond_t is, and one behind it.
  const auto symbol = [](Addr a) {
    if (a < 0x1000 || a >= 0x1060) return fmt::format("{:#x}", a);
    const Addr offset = (a - 0x1000) % 0x30;
    return fmt::format("{}{}", a < 0x1030 ? "more" : "next",
                       offset != 0 ? fmt::format("+{:#x}", offset) : "");
  };
  const auto of = [&](const char* function, Addr word) {
    return object_of_wait(word, calls({"__futex_wait", function, "main"}), symbol);
  };
  EXPECT_EQ(of("pthread_cond_wait", 0x1028), 0x1000U);
  EXPECT_EQ(of("pthread_cond_wait", 0x102c), 0x1000U);
  EXPECT_EQ(of("pthread_cond_wait", 0x1058), 0x1030U);
  EXPECT_EQ(of("pthread_cond_wait", 0x1038), 0x1038U) << "would be of another variable: not glibc's";
  EXPECT_EQ(of("pthread_rwlock_wrlock", 0x100c), 0x1000U);
  EXPECT_EQ(of("pthread_rwlock_rdlock", 0x1008), 0x1000U);
  EXPECT_EQ(of("pthread_barrier_wait", 0x1004), 0x1000U);
  EXPECT_EQ(of("pthread_mutex_lock", 0x1004), 0x1004U);
  EXPECT_EQ(object_of_wait(0x1028, calls({"__pthread_mutex_cond_lock", "pthread_cond_wait", "main"}), symbol),
            0x1028U);
  EXPECT_EQ(of("pthread_barrier_wait", 0x8004), 0x8000U) << "on the heap";
  EXPECT_EQ(of("pthread_cond_wait", 0x802c), 0x8000U);
}

}  // namespace
}  // namespace rubato::chip
