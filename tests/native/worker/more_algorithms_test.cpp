// Loops with a step, over containers and in tiles; merge, stable sort and find; values of workers; tasks with
// a future.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <forward_list>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rubato/async.hpp"
#include "rubato/fork_algorithms.hpp"
#include "rubato/loops.hpp"
#include "rubato/per_worker.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class MoreAlgorithms : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, MoreAlgorithms, testing::Values(1u, 2u, 8u));

// ---- Loops ----

template <class Index, class Step>
std::multiset<Index> indices_of(Index begin, Index end, Step step) {
  std::mutex mutex;
  std::multiset<Index> seen;
  parallel_for(begin, end, step, [&](Index i) {
    const std::lock_guard lock(mutex);
    seen.insert(i);
  });
  return seen;
}

TEST_P(MoreAlgorithms, AStepLeavesOutWhatIsBetween) {
  EXPECT_EQ(indices_of(0, 10, 3), (std::multiset<int>{0, 3, 6, 9}));
  EXPECT_EQ(indices_of(-5, 5, 5), (std::multiset<int>{-5, 0}));
  EXPECT_EQ(indices_of(0, 9, 3u), (std::multiset<int>{0, 3, 6}));
  EXPECT_EQ(indices_of(4, 4, 1), std::multiset<int>{});
  EXPECT_EQ(indices_of(5, 4, 1), std::multiset<int>{});
  EXPECT_EQ(indices_of(INT_MIN, INT_MAX, INT_MAX), (std::multiset<int>{INT_MIN, -1, INT_MAX - 1}));
  EXPECT_EQ(indices_of(0ul, ULONG_MAX, ULONG_MAX / 2).size(), 3u);
}

TEST_P(MoreAlgorithms, AContainerNeedsNoIterators) {
  std::vector<int> numbers(1000, 1);
  parallel_for_each(numbers, [](int& n) { ++n; });
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 2000);
  const std::forward_list<int> list(77, 3);
  std::atomic<int> sum{0};
  parallel_for_each(list, [&](int n) { sum += n; });
  EXPECT_EQ(sum, 231);
}

TEST_P(MoreAlgorithms, TilesCoverBothDimensionsOnce) {
  constexpr int kRows = 37, kColumns = 1001;
  for (const std::uint64_t grain : {0u, 1u, 10u, 5000u}) {
    std::vector<std::atomic<int>> seen(std::size_t{kRows} * kColumns);
    std::atomic<bool> is_within{true};
    parallel_for(blocked_range2d(0, kRows, 0, kColumns, grain, grain), [&](const auto& tile) {
      if (grain != 0 && (tile.rows().size() > grain || tile.cols().size() > grain)) is_within = false;
      for (int r = tile.rows().begin(); r != tile.rows().end(); ++r)
        for (int c = tile.cols().begin(); c != tile.cols().end(); ++c)
          ++seen[static_cast<std::size_t>(r * kColumns + c)];
    });
    EXPECT_TRUE(is_within) << grain;
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; })) << grain;
  }
  parallel_for(blocked_range2d(0, 0, 0, 5), [](const auto&) { FAIL() << "an empty range has no tiles"; });
}

TEST_P(MoreAlgorithms, InATaskTheContinuationComesBehindThem) {
  std::atomic<int> count{0}, steps{-1}, elements{-1}, tiles{-1};
  std::array<int, 30> numbers{};
  create<nonspec>(
      [&] {
        parallel_for(
            0, 30, 3, [&](int) { ++count; }, then([&] { steps = count.load(); }));
      },
      {});
  run();
  create<nonspec>(
      [&] {
        parallel_for_each(
            numbers, [&](int) { ++count; }, then([&] { elements = count.load(); }));
      },
      {});
  run();
  create<nonspec>(
      [&] {
        parallel_for(
            blocked_range2d(0, 4, 0, 5, 1, 1), [&](const auto&) { ++count; },
            then([&] { tiles = count.load(); }));
      },
      {});
  run();
  EXPECT_EQ(steps, 10);
  EXPECT_EQ(elements, 40);
  EXPECT_EQ(tiles, 60);
}

// ---- Merge, sort, find ----

struct Pair {
  std::uint32_t key = 0, place = 0;
};
bool by_key(const Pair& a, const Pair& b) { return a.key < b.key; }
std::vector<Pair> pairs(std::size_t size, std::uint32_t keys) {
  std::vector<Pair> result(size);
  std::uint64_t random = 88172645463325252u;
  for (std::size_t i = 0; i < size; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    result[i] = {static_cast<std::uint32_t>(random >> 33) % keys, static_cast<std::uint32_t>(i)};
  }
  return result;
}
bool are_same(const std::vector<Pair>& a, const std::vector<Pair>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Pair& x, const Pair& y) { return x.key == y.key && x.place == y.place; });
}

TEST_P(MoreAlgorithms, AStableSortKeepsTheOrderOfEqualElements) {
  for (const std::size_t size : {0u, 1u, 4096u, 4097u, 100000u}) {
    for (const std::uint32_t keys : {1u, 7u, 1u << 30}) {
      std::vector<Pair> ours = pairs(size, keys), theirs = ours;
      parallel_stable_sort(ours.begin(), ours.end(), by_key);
      std::stable_sort(theirs.begin(), theirs.end(), by_key);
      EXPECT_TRUE(are_same(ours, theirs)) << size << " " << keys;
    }
  }
}

TEST_P(MoreAlgorithms, AStableSortMovesInATaskToo) {
  std::vector<std::unique_ptr<int>> numbers;
  for (int i = 0; i < 20000; ++i) numbers.push_back(std::make_unique<int>(i * 7919 % 20011));
  create<nonspec>(
      [&] {
        parallel_stable_sort(numbers.begin(), numbers.end(),
                             [](const auto& a, const auto& b) { return *a < *b; });
      },
      {});
  run();
  EXPECT_TRUE(
      std::is_sorted(numbers.begin(), numbers.end(), [](const auto& a, const auto& b) { return *a < *b; }));
}

TEST_P(MoreAlgorithms, AMergeTakesTheFirstRangeFirst) {
  for (const auto& [left, right] : {std::pair{0, 9}, {50000, 3}, {3, 50000}, {30000, 30000}}) {
    std::vector<Pair> a = pairs(static_cast<std::size_t>(left), 50),
                      b = pairs(static_cast<std::size_t>(right), 50);
    for (Pair& p : b) p.place += 1u << 30;
    std::stable_sort(a.begin(), a.end(), by_key);
    std::stable_sort(b.begin(), b.end(), by_key);
    std::vector<Pair> ours(a.size() + b.size()), theirs(ours.size());
    const auto end = parallel_merge(a.begin(), a.end(), b.begin(), b.end(), ours.begin(), by_key);
    std::merge(a.begin(), a.end(), b.begin(), b.end(), theirs.begin(), by_key);
    EXPECT_EQ(end, ours.end());
    EXPECT_TRUE(are_same(ours, theirs)) << left << " " << right;
  }
}

TEST_P(MoreAlgorithms, FindTellsTheFirstMatch) {
  std::vector<int> numbers(100000, 0);
  const auto find = [&](int wanted) {
    return parallel_find_if(numbers.begin(), numbers.end(), [=](int n) { return n == wanted; }) -
           numbers.begin();
  };
  EXPECT_EQ(find(1), 100000);
  numbers[99999] = 1;
  EXPECT_EQ(find(1), 99999);
  numbers[70000] = numbers[30000] = 1;
  EXPECT_EQ(find(1), 30000);
  EXPECT_EQ(find(0), 0);
}

// ---- Values of workers ----

TEST_P(MoreAlgorithms, EachWorkerHasItsOwnValue) {
  PerWorker<std::vector<int>> seen;
  PerWorker<long> sums([] { return 0L; });
  std::atomic<bool> is_number_right{true};
  parallel_for(0, 10000, [&](int i) {
    seen.local().push_back(i);
    sums.local() += i;
    if (!worker_number() || *worker_number() >= native::workers()) is_number_right = false;
  });
  EXPECT_TRUE(is_number_right);
  EXPECT_EQ(worker_number(), std::nullopt);
  std::vector<int> all;
  seen.for_each([&](const std::vector<int>& some) { all.insert(all.end(), some.begin(), some.end()); });
  std::sort(all.begin(), all.end());
  std::vector<int> expected(10000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(sums.combine(std::plus<>()), 49995000);
  sums.clear();
  EXPECT_EQ(sums.combine(std::plus<>()), 0);
}

TEST_P(MoreAlgorithms, AValueOfAWorkerIsRefusedOutsideTasks) {
  PerWorker<int> values;
  EXPECT_THROW(values.local(), TaskError);
}

// ---- Tasks with a future ----

TEST_P(MoreAlgorithms, AFutureHasTheResultOrTheException) {
  std::future<int> number = rubato::async([] { return 42; });
  std::future<void> nothing = rubato::async([] {});
  std::future<int> failure = rubato::async([]() -> int { throw std::runtime_error("on purpose"); });
  run();
  EXPECT_EQ(number.get(), 42);
  nothing.get();
  EXPECT_THROW(failure.get(), std::runtime_error);
}

TEST_P(MoreAlgorithms, AThreadOutsideWaitsForAFutureWhileARunGoesOn) {
  native::Hold open = native::hold();
  std::atomic<int> result{0};
  std::thread client([&] {
    std::vector<std::future<int>> answers;
    for (int i = 0; i < 100; ++i) answers.push_back(rubato::async([i] { return i; }));
    for (auto& answer : answers) result += answer.get();
    open.close();
  });
  run();
  client.join();
  EXPECT_EQ(result, 4950);
}

TEST_P(MoreAlgorithms, AFutureSaysThatItsTaskWasDropped) {
  std::future<int> never = rubato::async([] { return 1; });
  native::drop_pending();
  EXPECT_THROW(never.get(), std::future_error);
}

}  // namespace
