// The native engine from outside: what the conformance suite does not ask. R5, R9, R10, R11; options of
// R3.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "native/engine.hpp"
#include "native/topology/topology.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/seen_affinity.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class Native : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, Native, ::testing::Values(1u, 2u, 8u));

std::atomic<std::uint64_t> calls{0};

// ---- Errors (R11) ----

void throws() { throw std::runtime_error("no such gate"); }

TEST_P(Native, CountsFurtherExceptionsAndStartsNothingMore) {
  calls = 0;
  for (std::uint64_t i = 0; i < 100; ++i) create<nonspec>(throws, {.at = 1, .on = i});
  for (std::uint64_t i = 0; i < 100; ++i) create<nonspec>([] { ++calls; }, {.at = 2});
  try {
    run();
    FAIL() << "run() throws";
  } catch (const TaskError& e) {
    EXPECT_NE(std::string(e.what()).find("at timestamp 1 ended with an exception: no such gate"),
              std::string::npos)
        << e.what();
    EXPECT_THROW(std::rethrow_if_nested(e), std::runtime_error);
  }
  EXPECT_EQ(calls, 0u);
  create<nonspec>([] { ++calls; }, {});
  run();
  EXPECT_EQ(calls, 1u);
}

/// Two at once, each on its worker. Their exceptions name them already.
TEST(FurtherExceptions, AreCountedBehindAnErrorThatNamesItsTask) {
  use_workers(2);
  calls = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    create<nonspec>(
        [] {
          ++calls;
          while (calls < 2) std::this_thread::yield();
          create<nonspec>(throws, {.at = 3});
        },
        {.core = i});
  }
  try {
    run();
    FAIL() << "run() throws";
  } catch (const TaskError& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("may create tasks with timestamps (and 1 further exception)"));
    EXPECT_FALSE(e.function().empty());
    EXPECT_THROW(std::rethrow_if_nested(e), TaskError);
  }
}

TEST_P(Native, DestroysWhatPendingTasksOwn) {
  const auto owned = std::make_shared<int>(1);
  create<nonspec>(throws, {.at = 0});
  for (std::uint64_t i = 0; i < 50; ++i) {
    create<nonspec>([owned] { ++calls; }, {.at = 1 + i % 3, .on = i});
    create<nonspec>([owned](int, int, int, int, int) { ++calls; }, {.at = 1}, 1, 2, 3, 4, 5);
  }
  EXPECT_EQ(owned.use_count(), 101);
  EXPECT_THROW(run(), TaskError);
  EXPECT_EQ(owned.use_count(), 1);
}

// ---- Reclamation (R7) ----

std::atomic<std::int64_t> alive{0}, most_alive{0};
struct Counted {
  Counted() {
    const std::int64_t now = ++alive;
    std::int64_t seen = most_alive;
    while (seen < now && !most_alive.compare_exchange_weak(seen, now)) {
    }
  }
  ~Counted() { --alive; }
  tracked<std::uint64_t> value = 1;
};
void use_and_remove(resource<Counted> object) {
  object->value = object->value + 1;
  remove(object);
}
void churn(std::uint64_t left) {
  const auto object = make_resource<Counted>({});
  create<nonspec>(use_and_remove, {.on = object}, object);
  if (left != 0) create<nonspec>(churn, {}, left - 1);
}

/// A worker that loses its CPU holds back what is removed meanwhile, so that the bound is far from what is
/// usual; a run that frees nothing has all of them.
TEST_P(Native, FreesRemovedObjectsWhileTheRunGoesOn) {
  constexpr int kObjects = 400'000;
  alive = most_alive = 0;
  create<nonspec>(churn, {}, std::uint64_t{kObjects});
  run();
  EXPECT_EQ(alive, 0);
  EXPECT_LT(most_alive, kObjects / 10 * 9);
}

TEST_P(Native, RefusesARunBesideAnotherThreads) {
  native::Hold hold = native::hold();
  std::atomic<bool> is_running = false;
  create<nonspec>([&is_running] { is_running = true; }, {});
  std::string said;
  std::jthread other([&] {
    while (!is_running) std::this_thread::yield();
    try {
      run();
    } catch (const TaskError& e) {
      said = e.what();
    }
    hold.close();
  });
  run();
  other.join();
  EXPECT_THAT(said, ::testing::HasSubstr("another thread's run()"));
  // Runs of two threads one after the other are allowed.
  calls = 0;
  std::jthread([] {
    create<nonspec>([] { ++calls; }, {});
    run();
  }).join();
  EXPECT_EQ(calls, 1u);
}

// ---- Other threads (R11) ----

TEST_P(Native, RunsWhatOtherThreadsCreateWhileAHoldIsOpen) {
  calls = 0;
  native::Hold hold = native::hold();
  std::jthread other([&hold] {
    for (int i = 0; i < 1000; ++i) {
      create<nonspec>([] { ++calls; }, {.on = i % 7});
      if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    hold.close();
  });
  run();
  other.join();
  EXPECT_EQ(calls, 1000u);
}

constexpr std::chrono::seconds kTooLong{600};  // for a thread beside other work, too
/// Goes on until a task of another thread has run, or far too long.
void wait_busily(std::chrono::steady_clock::time_point until) {
  if (calls == 0 && std::chrono::steady_clock::now() < until) create<nonspec>(wait_busily, {}, until);
}
void wait_busily_in_order(std::chrono::steady_clock::time_point until) {
  if (calls == 0 && std::chrono::steady_clock::now() < until)
    create<nonspec>(wait_busily_in_order, {.at = timestamp() + 1}, until);
}
TEST_P(Native, RunsWhatOtherThreadsCreateThoughNoWorkerIsEverIdle) {
  for (const bool is_ordered : {false, true}) {
    calls = 0;
    const auto begin = std::chrono::steady_clock::now();
    native::Hold hold = native::hold();
    for (unsigned i = 0; i < 2 * GetParam(); ++i) {
      if (is_ordered) {
        create<nonspec>(wait_busily_in_order, {.at = 0}, begin + kTooLong);
      } else {
        create<nonspec>(wait_busily, {}, begin + kTooLong);
      }
    }
    std::jthread other([&hold] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      create<nonspec>([] { ++calls; }, {.on = 1});
      hold.close();
    });
    run();
    other.join();
    EXPECT_EQ(calls, 1u);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kTooLong);
  }
}

TEST_P(Native, SleepsWhileAHoldIsOpenAndNothingIsToBeDone) {
  native::Hold hold = native::hold();
  std::jthread other([&hold] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    hold.close();
  });
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  run();
  getrusage(RUSAGE_SELF, &after);
  other.join();
  const auto microseconds = [](const rusage& r) {
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1'000'000 + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
  };
  // A worker that spins takes all of its time; one that naps and looks wakes thousands of times.
  EXPECT_LT(microseconds(after) - microseconds(before), 150'000) << "of 300,000";
  EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 300);
}

TEST_P(Native, RefusesTimestampsFromOtherThreads) {
  calls = 0;
  create<nonspec>([] { ++calls; }, {});
  native::Hold hold = native::hold();
  std::string said;
  std::jthread other([&] {
    // Before run() begins it may create what it likes.
    while (calls == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    try {
      create<nonspec>(throws, {.at = 3});
    } catch (const TaskError& e) {
      said = e.what();
    }
    hold.close();
  });
  run();
  other.join();
  EXPECT_NE(said.find("is created by another thread"), std::string::npos);
}

// ---- Tasks that run alone (R9) ----

std::atomic<int> running_tasks{0};
std::atomic<int> violations{0};

TEST_P(Native, RunsSpecTasksWithNothingBesideThem) {
  running_tasks = violations = 0;
  const std::uint64_t alone_before = native::counters().tasks_run_alone;
  for (std::uint64_t i = 0; i < 300; ++i) {
    if (i % 10 == 0) {
      create<spec>(
          [] {
            if (running_tasks != 0) ++violations;
            for (int n = 0; n < 1000; ++n) {
              if (running_tasks.load() != 0) ++violations;
            }
          },
          {});
    } else {
      create<nonspec>(
          [](std::uint64_t n) {
            ++running_tasks;
            for (std::uint64_t k = 0; k < 100 * (n % 7); ++k) running_tasks.load();
            --running_tasks;
          },
          {.on = i % 13}, i);
    }
  }
  run();
  EXPECT_EQ(violations, 0);
  EXPECT_EQ(native::counters().tasks_run_alone - alone_before, 30u);
}

std::atomic<bool> has_run_alone{false};
std::atomic<int> ended_before_alone{0};
void go_on_until_alone(std::uint64_t left) {
  if (has_run_alone) return;
  if (left == 0) {
    ++ended_before_alone;
  } else {
    create<nonspec>(go_on_until_alone, {}, left - 1);
  }
}

TEST_P(Native, RunsASpecTaskAlthoughOthersNeverRunOut) {
  has_run_alone = false;
  ended_before_alone = 0;
  for (unsigned i = 0; i < 4 * GetParam(); ++i) create<nonspec>(go_on_until_alone, {}, 1'000'000u);
  create<spec>([] { has_run_alone = true; }, {});
  run();
  EXPECT_TRUE(has_run_alone);
  EXPECT_EQ(ended_before_alone, 0);
}

TEST_P(Native, RunsTasksWithACoreOnTheirWorker) {
  std::atomic<std::uint64_t> ran{0};
  for (std::uint32_t i = 0; i < 64; ++i) create<nonspec>([&] { ++ran; }, {.core = i % 10});
  run();
  EXPECT_EQ(ran, 64u);
}

void lingers() { std::this_thread::sleep_for(std::chrono::milliseconds(12)); }

TEST_P(Native, CountsAndNamesLongTasks) {
  const std::uint64_t before = native::counters().tasks_run_long;
  for (int i = 0; i < 3; ++i) create<nonspec>(lingers, {});
  create<nonspec>(lingers, {.at = 1});
  for (int i = 0; i < 20; ++i) create<nonspec>([] { ++calls; }, {});
  run();
  const std::uint64_t counted = native::counters().tasks_run_long - before;
  EXPECT_GE(counted, 4u);
  EXPECT_LT(counted, 24u);  // a short one may have lost its CPU for so long
  native::LongTask named;
  double last = 1e9;
  for (const native::LongTask& task : native::long_tasks()) {
    if (task.function.find("lingers()") != std::string::npos) named = task;
    EXPECT_LE(task.longest_seconds, last) << "the longest first";
    last = task.longest_seconds;
  }
  EXPECT_GE(named.count, 4u);
  EXPECT_GE(named.longest_seconds, 0.011);  // the clock of ticks is measured for a millisecond only
  EXPECT_LT(named.longest_seconds, 5);
}

struct alignas(256) Wide {
  tracked<std::uint64_t> value;
};

TEST_P(Native, SynchronizesResourcesOfWideAlignment) {
  const auto wide = make_resource<Wide>({.isolation = Isolation::shared_reads});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide.get()) % 256, 0u);
  for (int i = 0; i < 200; ++i) {
    create<nonspec>([](resource<Wide> w) { w->value = w->value + 1; }, {.on = wide}, wide);
    create<nonspec>([](resource<Wide> w) { on_commit([](std::uint64_t) { ++calls; }, w->value.get()); },
                    {.on = wide, .access = reads}, wide);
  }
  calls = 0;
  run();
  EXPECT_EQ(wide->value, 200u);
  EXPECT_EQ(calls, 200u);
  remove(wide);
}

thread_local std::uint64_t last_visit = 0;  // of this worker

TEST_P(Native, StartsWhatATaskAsksForOnCommitRightBehindIt) {
  const auto counter = make_resource<tracked<std::uint64_t>>({.isolation = Isolation::shared_reads});
  constexpr std::uint64_t kVisits = 300;
  for (std::uint64_t visit = 1; visit <= kVisits; ++visit) {
    create<nonspec>(
        [](std::uint64_t number) {
          last_visit = number;
          on_commit([](std::uint64_t of) { calls += last_visit == of ? 1 : 0; }, number);
        },
        {.on = counter, .access = visit % 3 == 0 ? writes : reads}, visit);
  }
  calls = 0;
  run();
  EXPECT_EQ(calls, kVisits);
  remove(counter);
}

TEST_P(Native, RunsAllThatATaskAsksForOnCommit) {
  const auto counter = make_resource<tracked<std::uint64_t>>({.isolation = Isolation::shared_reads});
  for (int visit = 0; visit < 100; ++visit) {
    create<nonspec>(
        [] {
          for (int i = 0; i < 5; ++i) on_commit([] { ++calls; });
        },
        {.on = counter, .access = reads});
  }
  calls = 0;
  run();
  EXPECT_EQ(calls, 500u);
  remove(counter);
}

// ---- Pinning (R3) ----

TEST(Pinning, GivesEachWorkerACpuWhileTheyWorkAlsoTheCallerOfRun) {
  const native::Topology topology = native::this_machine();
  if (topology.allowed.size() < 2 || !topology.pins(topology.workers)) GTEST_SKIP() << "does not pin here";
  const std::vector<unsigned> before = native::current_affinity();
  for (const bool fails : {false, true}) {
    native::configure({});  // the first run is pinned; later ones if they follow a long one
    seen.clear();
    for (std::uint32_t w = 0; w < native::workers(); ++w) create<nonspec>(note_affinity, {.core = w});
    if (fails) create<nonspec>(throws, {.at = 1});
    try {
      run();
    } catch (const TaskError&) {
      EXPECT_TRUE(fails);
    }
    ASSERT_TRUE(fails || seen.size() == native::workers());
    for (const auto& [thread, affinities] : seen) {
      ASSERT_EQ(affinities.size(), 1u);
      EXPECT_EQ(affinities.begin()->size(), 1u);
    }
    if (!fails) {
      const std::vector<unsigned> first{topology.allowed.front().cpu};
      EXPECT_EQ(*seen[std::this_thread::get_id()].begin(), first);
    }
    EXPECT_EQ(native::current_affinity(), before);
  }
}

TEST(Pinning, IsLeftOutWhereTheOptionsSaySo) {
  const native::Topology topology = native::this_machine();
  if (topology.allowed.size() < 2 || !topology.pins(topology.workers)) GTEST_SKIP() << "does not pin here";
  native::Options options;
  options.bind = false;
  native::configure(options);
  seen.clear();
  for (std::uint32_t w = 0; w < native::workers(); ++w) create<nonspec>(note_affinity, {.core = w});
  run();
  ASSERT_EQ(seen.size(), native::workers());
  for (const auto& [thread, affinities] : seen)
    EXPECT_EQ(*affinities.begin(), native::current_affinity()) << "as many CPUs as the caller has";
  native::configure({});
}

TEST(Pinning, OfTheCallerIsLeftOutWhereRunsAreShort) {
  const native::Topology topology = native::this_machine();
  if (topology.allowed.size() < 2 || !topology.pins(topology.workers)) GTEST_SKIP() << "does not pin here";
  native::configure({});
  const auto affinity_in_run = [] {
    seen.clear();
    for (std::uint32_t w = 0; w < native::workers(); ++w) create<nonspec>(note_affinity, {.core = w});
    run();
    return *seen[std::this_thread::get_id()].begin();
  };
  const std::vector<unsigned> free = native::current_affinity();
  EXPECT_NE(affinity_in_run(), free);
  unsigned left_out = 0;
  for (int i = 0; i < 100; ++i) left_out += affinity_in_run() == free ? 1 : 0;
  EXPECT_GT(left_out, 0u);
  create<nonspec>(lingers, {});
  run();
  EXPECT_NE(affinity_in_run(), free) << "after a long one";
}

constexpr std::size_t kMostWorkers = 64;
constexpr std::uint32_t kAlone = kMostWorkers - 1;
std::array<std::atomic<std::size_t>, kMostWorkers> cpus_of_chain;  // that the thread may use; 0: not run yet
std::atomic<bool> chains_end{false};

/// A task after the other, each run by worker `chain`, or all by any.
void run_chain(std::uint32_t chain) {
  cpus_of_chain[chain] = native::current_affinity().size();
  if (chains_end) return;
  if (chain == kAlone) {
    create<nonspec>(run_chain, {}, chain);
  } else {
    create<nonspec>(run_chain, {.core = chain}, chain);
  }
}

/// A worker that starts to work, or has gone to sleep, is noticed after a while.
void run_until_it_may_use(std::size_t cpus, std::uint64_t tasks, std::size_t* affinity) {
  *affinity = native::current_affinity().size();
  if (*affinity == cpus || tasks == 0) return;
  create<nonspec>(run_until_it_may_use, {.at = timestamp() + 1, .on = 1}, cpus, tasks - 1, affinity);
}

TEST(Pinning, LeavesAWorkerAloneWhileTheOthersSleep) {
  const native::Topology topology = native::this_machine();
  if (topology.allowed.size() < 2 || !topology.pins(topology.workers)) GTEST_SKIP() << "does not pin here";
  native::configure({});
  std::size_t affinity = 0;
  for (std::uint32_t w = 0; w < native::workers(); ++w)
    create<nonspec>(note_affinity, {.core = w});  // binds them
  create<nonspec>(run_until_it_may_use, {.at = 1, .on = 1}, topology.allowed.size(),
                  std::uint64_t{10'000'000}, &affinity);
  run();
  EXPECT_EQ(affinity, topology.allowed.size());
}

TEST(Pinning, IsGivenUpWhileAllWaitForAnotherThreadUntilTwoWorkersAreBusyAgain) {
  const native::Topology topology = native::this_machine();
  if (topology.allowed.size() < 2 || !topology.pins(topology.workers)) GTEST_SKIP() << "does not pin here";
  native::configure({});
  bool was_given_up = false;
  std::vector<std::size_t> at_last;
  native::Hold hold = native::hold();
  std::jthread other([&] {
    const auto wait = [](auto is_over) {
      for (int i = 0; i < 2000 && !is_over(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    // A worker that is not asleep yet when the task arrives has its CPU still.
    for (int i = 0; i < 20 && !was_given_up; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      chains_end = false;
      cpus_of_chain[kAlone] = 0;
      create<nonspec>(run_chain, {}, kAlone);
      wait([] { return cpus_of_chain[kAlone] != 0; });
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      was_given_up = cpus_of_chain[kAlone] == topology.allowed.size();
      chains_end = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    chains_end = false;
    const std::uint32_t workers = std::min<std::uint32_t>(native::workers(), kAlone);
    for (std::uint32_t w = 0; w < workers; ++w) create<nonspec>(run_chain, {.core = w}, w);
    for (std::uint32_t w = 0; w < workers; ++w) {
      wait([w] { return cpus_of_chain[w] == 1; });
      at_last.push_back(cpus_of_chain[w]);
    }
    chains_end = true;
    hold.close();
  });
  run();
  other.join();
  EXPECT_TRUE(was_given_up);
  EXPECT_THAT(at_last, ::testing::Each(1u));
}

TEST(Pinning, IsLeftOutWithFewerOrMoreWorkersThanCpus) {
  const std::size_t cpus = native::current_affinity().size();
  use_workers(static_cast<unsigned>(cpus) + 1);
  seen.clear();
  for (int i = 0; i < 100; ++i) create<nonspec>(note_affinity, {});
  run();
  for (const auto& [thread, affinities] : seen) {
    for (const auto& affinity : affinities) EXPECT_EQ(affinity.size(), cpus);
  }
}

// ---- Task memory (R8) ----

TEST(TaskMemory, HasTheCoreGroupsOfTheMachine) {
  EXPECT_EQ(native::the_engine().heap.groups(), native::this_machine().groups);
}

// ---- Options ----

TEST(Options, MoreWorkersThanCpusNeedOversubscribe) {
  native::Options options = native::options();
  options.workers = 1000;
  options.oversubscribe = false;
  EXPECT_THROW(native::configure(options), TaskError);
}

/// Also where epochs are refreshed at every task.
TEST(Options, AnAdaptedPrefetchDistanceMoves) {
  const native::Options before = native::options();
  native::Options options = before;
  options.workers = 1;
  options.prefetch = {native::PrefetchMode::Kind::adapted, 4};
  for (const auto reclamation : {native::Reclamation::batch, native::Reclamation::task}) {
    options.reclamation = reclamation;
    native::configure(options);
    for (int runs = 0; runs < 1000 && native::counters().prefetch_distance == 4; ++runs) {
      for (int i = 0; i < 3000; ++i) create<nonspec>([] { ++calls; }, {});
      run();
    }
    EXPECT_NE(native::counters().prefetch_distance, 4u);
    EXPECT_NE(native::counters().prefetch_distance, 0u);
    EXPECT_LE(native::counters().prefetch_distance, 32u);
  }
  native::configure(before);
}

TEST(Options, LongTasksAreCountedHoweverOftenEpochsAreRefreshed) {
  const native::Options before = native::options();
  native::Options options = before;
  options.workers = 1;
  for (const auto reclamation : {native::Reclamation::batch, native::Reclamation::task}) {
    options.reclamation = reclamation;
    native::configure(options);
    const std::uint64_t counted = native::counters().tasks_run_long;
    for (int i = 0; i < 20'000; ++i) create<nonspec>([] { ++calls; }, {});  // no more are timed one by one
    for (int i = 0; i < 60; ++i) create<nonspec>(lingers, {});
    run();
    EXPECT_GE(native::counters().tasks_run_long, counted + 5);
  }
  native::configure(before);
}

TEST(Options, CountersGoOnWhenTheyChange) {
  const std::uint64_t before = native::counters().tasks_run;
  create<nonspec>([] {}, {});
  run();
  use_workers(1);
  EXPECT_EQ(native::counters().tasks_run, before + 1);
}

TEST(Options, CannotChangeWhileTasksWait) {
  use_workers(2);
  create<nonspec>([] {}, {});
  EXPECT_THROW(use_workers(3), TaskError);
  run();
  use_workers(3);
  EXPECT_EQ(native::workers(), 3u);
}

}  // namespace
