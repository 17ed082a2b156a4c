// A thread outside creates a task that runs alone when the end of the run has been found already. R9,
// R10.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

TEST(LateAloneTask, RunsThoughItsWorkerIsToPause) {
  use_workers(2);
  std::atomic<bool> is_over{false};
  std::atomic<int> ran{0};
  std::atomic<int> created{0};
  std::thread outside([&] {
    while (!is_over) {
      {
        const native::Hold hold = native::hold();
        create<spec>([&ran] { ++ran; }, {});
        ++created;
      }
      while (ran != created.load() && !is_over) std::this_thread::yield();
      for (int i = created % 300; i > 0; --i) static_cast<void>(ran.load());
    }
  });
  while (created < 1000) run();
  is_over = true;
  outside.join();
  run();
  EXPECT_EQ(ran, created.load());
  use_workers(0);
}

}  // namespace
