// R4, optimistic versions: no reader validates torn data, in any interleaving and under stress; and the
// mutants (no odd bit, validation skipped, unlock before increment) are caught.
// SPDX-License-Identifier: MIT
#include "native/sync/version.hpp"

#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>

#include "native/policy.hpp"
#include "native/pool/atomics.hpp"
#include "tests/base/explorer.hpp"

namespace {

using namespace rubato::native;
using rubato::native::StdAtomics;
using rubato::test::ExploredAtomics;
using rubato::test::Explorer;

struct WithFences : VersionRules {
  static constexpr bool kUsesFences = true;
};
struct WithoutFences : VersionRules {
  static constexpr bool kUsesFences = false;
};
struct NoOddBit : WithFences {
  static constexpr bool kOddWhileWriting = false;
};
struct NoValidation : WithFences {
  static constexpr bool kValidates = false;
};
struct UnlockBeforeIncrement : WithFences {
  static constexpr bool kIncrementsWithUnlock = false;
};

struct Result {
  std::uint64_t schedules = 0;
  std::uint64_t torn = 0;      // validated, but the cells differ
  std::uint64_t passed = 0;    // validated
  std::uint64_t rejected = 0;  // not validated
};

/// Writers that keep two cells equal, by latch or as in a pool (then one of them), beside readers of both.
template <class Rules>
Result explore(unsigned writers, unsigned readers, bool by_latch, unsigned writes = 1) {
  using V = Version<ExploredAtomics, Rules>;
  struct State {
    ExploredAtomics::atomic<std::uint64_t> word;
    std::array<ExploredAtomics::atomic<std::uint64_t>, 2> cells;
  };
  std::unique_ptr<State> state;
  Result result;
  const auto write = [&] {
    for (unsigned i = 0; i < writes; ++i) {
      V version(state->word);
      if (by_latch) {
        if (!version.lock(1)) return;
      } else {
        version.begin_write();
      }
      const std::uint64_t value = state->cells[0].now() + 1;
      for (auto& cell : state->cells) cell.store(value, std::memory_order_relaxed);
      by_latch ? version.unlock() : version.end_write();
    }
  };
  const auto read = [&] {
    V version(state->word);
    const auto seen = version.begin(1);
    if (!seen) return;
    const std::uint64_t first = state->cells[0].load(std::memory_order_relaxed);
    const std::uint64_t second = state->cells[1].load(std::memory_order_relaxed);
    if (!version.validate(*seen)) {
      ++result.rejected;
      return;
    }
    ++result.passed;
    result.torn += first != second;
  };
  result.schedules = Explorer::explore(
      [&] {
        state = std::make_unique<State>();
        Explorer::Bodies bodies;
        for (unsigned i = 0; i < writers; ++i) bodies.push_back(write);
        for (unsigned i = 0; i < readers; ++i) bodies.push_back(read);
        return bodies;
      },
      [&] { ASSERT_EQ(state->cells[0].now(), state->cells[1].now()); });
  return result;
}

template <class Rules>
void expect_correct() {
  for (const bool by_latch : {false, true}) {
    const Result one = explore<Rules>(1, 1, by_latch, 2);
    EXPECT_EQ(one.torn, 0u) << "in " << one.schedules << " schedules";
    EXPECT_GT(one.passed, 0u);
    EXPECT_GT(one.rejected, 0u);
  }
  const Result writers = explore<Rules>(2, 0, true);
  EXPECT_GT(writers.schedules, 10u);
}

TEST(Version, LetsNoReaderValidateTornDataInAnyInterleaving) { expect_correct<WithFences>(); }
TEST(Version, NeedsNoFencesForIt) { expect_correct<WithoutFences>(); }

TEST(Version, MutantWithoutOddBitIsCaught) { EXPECT_GT(explore<NoOddBit>(1, 1, false).torn, 0u); }
TEST(Version, MutantWithoutValidationIsCaught) { EXPECT_GT(explore<NoValidation>(1, 1, true).torn, 0u); }
TEST(Version, MutantThatUnlocksBeforeItIncrementsIsCaught) {
  EXPECT_GT(explore<UnlockBeforeIncrement>(1, 1, true).torn, 0u);
  EXPECT_GT(explore<UnlockBeforeIncrement>(1, 1, false).torn, 0u);
}

TEST(Version, LetsReadersPassAReaderThatExcludedWriters) {
  ExploredAtomics::atomic<std::uint64_t> word{8};
  Version<ExploredAtomics> version(word);
  const auto seen = version.begin(1);
  ASSERT_EQ(seen, 8u);
  ASSERT_TRUE(version.lock(1));
  EXPECT_FALSE(version.try_lock());
  EXPECT_EQ(version.begin(1), std::nullopt);
  version.unlock_unchanged();
  EXPECT_TRUE(version.validate(*seen));
  ASSERT_TRUE(version.lock(1));
  version.unlock();
  EXPECT_FALSE(version.validate(*seen));
  EXPECT_EQ(version.begin(1), 10u);
}

/// Real threads: writers of eight cells and readers that validate; a reader that lost policy::kReaderLosses
/// times locks.
template <class Rules>
void stress(unsigned threads) {
  using V = Version<StdAtomics, Rules>;
  constexpr unsigned kRounds = 20'000;
  std::atomic<std::uint64_t> word{0};
  std::array<std::atomic<std::uint64_t>, 8> cells{};
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> writes{0};
  const auto is_torn = [&] {
    const std::uint64_t first = cells[0].load(std::memory_order_relaxed);
    bool differs = false;
    for (const auto& cell : cells) differs |= cell.load(std::memory_order_relaxed) != first;
    return differs;
  };
  std::barrier start(threads);
  std::vector<std::thread> crew;
  for (unsigned t = 0; t < threads; ++t) {
    crew.emplace_back([&, t] {
      V version(word);
      start.arrive_and_wait();
      for (unsigned i = 0; i < kRounds; ++i) {
        if ((i + t) % 3 == 0) {
          while (!version.lock()) std::this_thread::yield();
          for (auto& cell : cells) {
            cell.store(cell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            if (i % 61 == 0 && &cell == &cells[4]) std::this_thread::yield();  // readers see half a write
          }
          version.unlock();
          ++writes;
          continue;
        }
        bool is_done = false;
        for (unsigned losses = 0; !is_done && losses < policy::kReaderLosses; ++losses) {
          const auto seen = version.begin();
          if (!seen) {
            std::this_thread::yield();
            continue;
          }
          const bool differs = is_torn();
          if (!version.validate(*seen)) continue;
          torn += differs;
          is_done = true;
        }
        if (is_done) continue;
        while (!version.lock()) std::this_thread::yield();
        torn += is_torn();
        version.unlock_unchanged();
      }
    });
  }
  for (std::thread& thread : crew) thread.join();
  EXPECT_EQ(torn.load(), 0u);
  EXPECT_EQ(cells[7].load(), writes.load());
  EXPECT_EQ(word.load(), 2 * writes.load());
}

TEST(VersionStress, HoldsFromTwoToEightThreads) {
  for (const unsigned threads : {2u, 4u, 8u}) stress<VersionRules>(threads);
}
TEST(VersionStress, HoldsWithoutFences) {
  for (const unsigned threads : {2u, 4u, 8u}) stress<WithoutFences>(threads);
}

}  // namespace
