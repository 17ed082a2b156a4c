// Work gets to every worker: long tasks before one of them has begun, short ones when a worker has been idle
// for long. R2, R10.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "native/engine.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class Sharing : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, Sharing, ::testing::Values(2u, 8u));

/// Long tasks that are to run at once. The first are not so long, since on a busy machine the other workers
/// may come late; the others last until one has joined them, or until a time that all share.
class Meeting {
 public:
  void attend() {
    const bool is_patient = ++attended_ > 8;
    if (++inside_ >= 2) met_ = true;
    const auto begin = std::chrono::steady_clock::now();
    const auto end = is_patient ? end_ : begin + std::chrono::milliseconds(5);
    while (!met_ && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --inside_;
  }
  bool met() const { return met_; }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(600);
  std::atomic<int> attended_{0}, inside_{0};
  std::atomic<bool> met_{false};
};

TEST_P(Sharing, LetsIdleWorkersHelpWithLongTasks) {
  Meeting meeting;
  create<nonspec>(
      [&] {
        for (int i = 0; i < 16; ++i) create<nonspec>([&] { meeting.attend(); }, {});
      },
      {});
  run();
  EXPECT_TRUE(meeting.met());
}

TEST_P(Sharing, SharesATimestampWithLongTasks) {
  Meeting meeting;
  for (std::uint64_t i = 0; i < 16; ++i) create<nonspec>([&] { meeting.attend(); }, {.at = 5, .on = i});
  run();
  EXPECT_TRUE(meeting.met());
}

/// Two tasks that wait for each other: one after the other they wait in vain.
void meets(std::atomic<int>* inside, std::atomic<int>* met) {
  ++*inside;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(600);
  while (*inside < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  if (std::chrono::steady_clock::now() < end) ++*met;
}

TEST_P(Sharing, RunsTheFirstTasksOfAFunctionAtOnce) {
  std::atomic<int> inside{0}, met{0};
  for (int i = 0; i < 2; ++i) create<nonspec>(meets, {}, &inside, &met);
  run();
  EXPECT_EQ(met, 2);
}

TEST_P(Sharing, RunsTheFirstTasksOfATimestampAtOnce) {
  std::atomic<int> inside{0}, met{0};
  for (int i = 0; i < 2; ++i) create<nonspec>(meets, {.at = 3}, &inside, &met);
  run();
  EXPECT_EQ(met, 2);
}

void go_on(int left) {
  if (left != 0) create<nonspec>(go_on, {}, left - 1);
}

TEST(SharingOfTwo, GivesEvenAFewShortTasksToWhoIsIdleForLong) {
  use_workers(2);
  create<nonspec>([] {}, {});
  run();  // both workers are there
  if (!native::the_engine().has_cpus()) GTEST_SKIP() << "who is idle leaves its CPU to the other";
  // A run takes 20 ms: other programs may have the second worker's CPU for as long.
  std::uint64_t most = 0;
  for (int attempt = 0; attempt < 20 && most <= 10'000; ++attempt) {
    const std::uint64_t before = native::the_engine().worker(1).counts.finished.get();
    for (int chain = 0; chain < 4; ++chain) create<nonspec>(go_on, {}, 500'000);
    run();
    most = std::max(most, native::the_engine().worker(1).counts.finished.get() - before);
  }
  EXPECT_GT(most, 10'000u);
}

}  // namespace
