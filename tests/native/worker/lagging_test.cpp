// Workers that lag before they sleep: nothing is lost, whatever ends the waiting, and it counts. A33,
// A45, A50.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <sched.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "rubato/rubato.hpp"
#include "tests/native/machine_quota.hpp"

namespace {

using namespace rubato;
using Kind = native::Lagging::Kind;

/// Each test gets its own options, and leaves none behind.
class Native_Lagging : public ::testing::Test {
 protected:
  void SetUp() override { before_ = native::options(); }
  void TearDown() override { native::configure(before_); }
  static void use(native::Lagging lagging, unsigned workers = 2) {
    native::Options options;
    options.workers = workers;
    options.oversubscribe = true;
    options.lagging = lagging;
    native::configure(options);
  }
  static unsigned cpus() {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? static_cast<unsigned>(CPU_COUNT(&allowed))
                                                               : 1;
  }

 private:
  const MachineQuota none_{std::nullopt};
  native::Options before_;
};

/// Whenever a worker finds nothing it waits for up to a millisecond.
constexpr native::Lagging kAlways{.kind = Kind::published, .initial_rate = 1, .switch_microseconds = 1000};

std::atomic<int> ran{0};

/// Tasks from outside, with pauses in which all workers have nothing to do; then the hold is closed.
void serve(int tasks) {
  ran = 0;
  native::Hold hold = native::hold();
  std::thread client([&] {
    for (int i = 0; i < tasks; ++i) {
      create<nonspec>([] { ++ran; }, {});
      std::this_thread::sleep_for(std::chrono::microseconds(i % 4 * 700));
    }
    hold.close();
  });
  run();
  client.join();
  EXPECT_EQ(ran, tasks);
}

TEST_F(Native_Lagging, TasksFromOutsideAndTheEndOfTheHoldReachWhoLags) {
  use(kAlways);
  const native::Counters before = native::counters();
  serve(100);
  const native::Counters after = native::counters();
  if (cpus() >= 2) {
    EXPECT_GT(after.lag_samples, before.lag_samples);
    EXPECT_GT(after.lag_ns, before.lag_ns);
    EXPECT_NEAR(static_cast<double>(after.lag_switch_ns), 1e6, 1e3);
  } else {
    EXPECT_EQ(after.lag_samples, before.lag_samples);
  }
}

TEST_F(Native_Lagging, ManyShortRunsEnd) {
  use(kAlways);
  ran = 0;
  for (int i = 0; i < 2000; ++i) {
    for (int k = 0; k < 4; ++k) create<nonspec>([] { ++ran; }, {});
    run();
  }
  EXPECT_EQ(ran, 8000);
}

TEST_F(Native_Lagging, AFailureAndATaskThatRunsAloneReachWhoLags) {
  use(kAlways);
  for (int i = 0; i < 50; ++i) {
    create<spec>([] { create<nonspec>([] { ++ran; }, {.at = timestamp() + 1}); }, {.at = 0});
    run();
    create<nonspec>([] { throw std::string("it"); }, {});
    EXPECT_THROW(run(), TaskError);
  }
}

TEST_F(Native_Lagging, OffCountsNothing) {
  use({});
  const native::Counters before = native::counters();
  serve(20);
  EXPECT_EQ(native::counters().lag_samples, before.lag_samples);
  EXPECT_EQ(native::counters().lag_ns, before.lag_ns);
}

TEST_F(Native_Lagging, NobodyLagsWithFewerCpusThanWorkers) {
  use(kAlways, cpus() + 1);
  const native::Counters before = native::counters();
  serve(20);
  EXPECT_EQ(native::counters().lag_samples, before.lag_samples);
}

/// A wait would use up what the quota leaves for work.
TEST_F(Native_Lagging, NoWorkerLagsUnderACpuQuota) {
  const MachineQuota quota(2.0);
  use(kAlways);
  const native::Counters before = native::counters();
  serve(20);
  EXPECT_EQ(native::counters().lag_samples, before.lag_samples);
}

TEST_F(Native_Lagging, WhatMakesNoSenseIsRefused) {
  const auto sentence = [](native::Lagging lagging) -> std::string {
    try {
      use(lagging);
    } catch (const TaskError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(sentence({.initial_rate = 0}),
            "lagging's initial rate is above 0 and at most 1, but 0.000000 was asked for");
  EXPECT_EQ(sentence({.confidence = 1}),
            "lagging's confidence lies between 0 and 1, but 1.000000 was asked for");
  EXPECT_EQ(sentence({.error = 0}), "lagging's error lies between 0 and 1, but 0.000000 was asked for");
  EXPECT_EQ(sentence({.delays = 3}), "lagging compares 4 to 32 delays, but 3 were asked for");
  EXPECT_EQ(sentence({.switch_microseconds = -1}),
            "the cost of a sleep that lagging is given is at most 1000 us, but -1.000000 were asked for");
}

}  // namespace
