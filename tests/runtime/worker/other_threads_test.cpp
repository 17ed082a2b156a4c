// What several threads do at the same moment: to one object, or while run() begins. Rules R10 and R11.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "rubato/rubato.hpp"
#include "runtime/engine.hpp"
#include "runtime/worker/worker.hpp"
#include "tests/runtime/use_workers.hpp"

namespace {

using namespace rubato;

constexpr unsigned kRounds = 20'000;

/// Calls `act(round)` in two threads, for each round as nearly at once as can be.
void at_once(const std::function<void(unsigned)>& act) {
  std::atomic<unsigned> arrived{0};
  const auto take_part = [&] {
    for (unsigned round = 0; round < kRounds; ++round) {
      ++arrived;
      for (unsigned i = 0; arrived < 2 * (round + 1); ++i) {
        if (i > 1000) std::this_thread::yield();
      }
      act(round);
    }
  };
  std::thread other(take_part);
  take_part();
  other.join();
}

TEST(OtherThreads, MayCloseAHoldAtOnce) {
  use_workers(2);
  struct alignas(64) OnItsLine {  // which both threads get late, and at about the same time
    native::Hold hold = native::hold();
  };
  std::vector<OnItsLine> holds(kRounds);
  at_once([&](unsigned round) { holds[round].hold.close(); });
  EXPECT_EQ(runtime::the_engine().holds(), 0u);
}

std::atomic<unsigned> destroyed{0};
struct Object {
  ~Object() { ++destroyed; }
};

/// As tasks of two workers do: in a run, so that nothing is freed before all have tried.
TEST(OtherThreads, AreToldWhoRemovesAnObjectThatTheOtherRemoves) {
  use_workers(2);
  destroyed = 0;
  std::vector<resource<Object>> objects;
  for (unsigned i = 0; i < kRounds; ++i) objects.push_back(make_resource<Object>({}));
  std::atomic<unsigned> refused{0};
  std::atomic<bool> is_running{false};
  create<nonspec>([&is_running] { is_running = true; }, {});
  native::Hold hold = native::hold();
  std::thread remover([&] {
    while (!is_running) std::this_thread::yield();
    at_once([&](unsigned round) {
      try {
        remove(objects[round]);
      } catch (const TaskError&) {
        ++refused;
      }
    });
    EXPECT_EQ(refused, kRounds);
    hold.close();
  });
  run();
  remover.join();
  EXPECT_EQ(destroyed, kRounds);
}

/// On x86 only ThreadSanitizer can tell: a count shows what was before it.
TEST(Counts, ShowWhatWasDoneBeforeTheyWereIncreased) {
  runtime::Count created, finished;
  std::uint64_t plain = 0;
  std::thread counting([&] {
    plain = 17;
    created.add();
    finished.add();
  });
  while (finished.get() == 0) std::this_thread::yield();
  EXPECT_EQ(plain, 17u);
  EXPECT_EQ(created.get(), 1u);
  counting.join();
}

}  // namespace
