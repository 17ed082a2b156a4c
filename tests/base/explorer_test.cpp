// The explorer itself: it runs every schedule once, and needs no more memory for many than for one. Under the
// thread sanitizer, too, which stores the call stack of each allocation (tests/base/context.hpp).
// SPDX-License-Identifier: MIT
#include "tests/base/explorer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <string>

namespace {

using rubato::test::ExploredAtomics;
using rubato::test::Explorer;
using Word = ExploredAtomics::atomic<int>;

/// Two bodies that append a letter three times each: 6! / (3! 3!) orders of the letters.
TEST(Explorer, RunsEveryOrderOfTwoBodies) {
  std::string order;
  std::set<std::string> seen;
  const auto append = [&order](char letter) {
    for (int i = 0; i < 3; ++i) Explorer::step(), order += letter;
  };
  const std::uint64_t schedules = Explorer::explore(
      [&] {
        order.clear();
        return Explorer::Bodies{[&] { append('a'); }, [&] { append('b'); }};
      },
      [&] { seen.insert(order); });
  EXPECT_EQ(seen.size(), 20u);
  // A body's begin, up to its first letter, is a step, too: 8! / (4! 4!).
  EXPECT_EQ(schedules, 70u);
  EXPECT_EQ(Explorer::deadlocks(), 0u);
}

/// A body that waits for ever is left in its middle, and begins anew in the next schedule.
TEST(Explorer, GoesOnBehindADeadlock) {
  unsigned begun = 0, ended = 0;
  bool is_open = false;
  const std::uint64_t schedules = Explorer::explore(
      [&] {
        is_open = false;
        return Explorer::Bodies{[&] {
                                  ++begun;
                                  Explorer::step();
                                  if (!is_open) Explorer::block([] { return false; });
                                  ++ended;
                                },
                                [&] { is_open = true; }};
      },
      [] {});
  EXPECT_EQ(begun, schedules);
  EXPECT_EQ(begun - ended, Explorer::deadlocks());
  EXPECT_EQ(ended, 2u);  // the second body is the first or the second step of three
  EXPECT_GT(Explorer::deadlocks(), 0u);
}

std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST(Explorer, NeedsNoMoreMemoryForMoreSchedules) {
  const auto sample = [](std::uint64_t schedules) {
    std::unique_ptr<Word> word;
    const auto body = [&word] {
      for (int i = 0; i < 4; ++i) {
        const auto allocated = std::make_unique<int>(i);
        word->fetch_add(*allocated, std::memory_order_relaxed);
      }
    };
    Explorer::sample(
        schedules,
        [&] {
          word = std::make_unique<Word>(0);
          return Explorer::Bodies{body, body, body};
        },
        [&word] { EXPECT_EQ(word->now(), 18); });
  };
  sample(1000);
  const std::uint64_t before = resident_bytes();
  sample(20'000);
  // The address sanitizer keeps some that was freed.
  EXPECT_LT(resident_bytes(), before + (std::uint64_t{100} << 20));
}

}  // namespace
