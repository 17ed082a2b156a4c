// Algorithms of rubato/algorithms.hpp.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "rubato/algorithms.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

template <class Index>
void cover(Index begin, Index end, std::uint64_t expected) {
  using blocked = blocked_range<Index>;
  const auto width = [](Index a, Index b) {
    return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
  };
  EXPECT_EQ(blocked(begin, end).size(), expected);
  std::atomic<std::uint64_t> elements{0}, bad{0};
  parallel_for(blocked(begin, end), [&](const blocked& part) {
    if (!(part.begin() < part.end()) || part.begin() < begin || end < part.end()) ++bad;
    elements += width(part.begin(), part.end());
  });
  EXPECT_EQ(elements, expected);
  const auto add = [&](const blocked& part, std::uint64_t sum) {
    return sum + width(part.begin(), part.end());
  };
  EXPECT_EQ(parallel_reduce(blocked(begin, end), std::uint64_t{0}, add, std::plus<>()), expected);
  EXPECT_EQ(parallel_scan(
                blocked(begin, end), std::uint64_t{0},
                [&](const blocked& part, std::uint64_t sum, bool) { return add(part, sum); }, std::plus<>()),
            expected);
  EXPECT_EQ(bad, 0u);
  EXPECT_EQ(blocked(end, begin).size(), 0u);
  parallel_for(blocked(end, begin), [&](const blocked&) { ++bad; });
  EXPECT_EQ(bad, 0u);
}
template <class Index>
void cover_all() {
  using Limits = std::numeric_limits<Index>;
  cover<Index>(Limits::min(), Limits::max(),
               static_cast<std::uint64_t>(Limits::max()) - static_cast<std::uint64_t>(Limits::min()));
}

/// Their difference does not fit a signed type. UndefinedBehaviorSanitizer tells, too.
TEST(BlockedRange, HoldsAllThatItsTypeHas) {
  use_workers(2);
  cover_all<signed char>();
  cover_all<unsigned char>();
  cover_all<short>();
  cover_all<int>();
  cover_all<unsigned>();
  cover_all<long>();
  cover_all<unsigned long>();
  cover<int>(-1'500'000'000, 1'500'000'000, 3'000'000'000u);
  std::atomic<unsigned> calls{0};
  parallel_for(static_cast<signed char>(-128), static_cast<signed char>(127), [&](signed char) { ++calls; });
  EXPECT_EQ(calls, 255u);
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  parallel_for_each(numbers.begin(), numbers.end(), [&](int i) { calls += static_cast<unsigned>(i); });
  EXPECT_EQ(calls, 255u + 4950u);
}

}  // namespace
