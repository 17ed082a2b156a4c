// SPDX-License-Identifier: MIT
#include "workloads/oltp/btree.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "base/rng.hpp"

namespace rubato::workloads::oltp {
namespace {

std::vector<BTree::Entry> all_of(const BTree& tree, std::uint64_t from, std::uint64_t to) {
  std::vector<BTree::Entry> entries;
  tree.scan(from, to, [&](std::uint64_t key, std::uint64_t value) {
    entries.emplace_back(key, value);
    return true;
  });
  return entries;
}

TEST(BTree, IsAMapForRandomCalls) {
  for (const std::uint64_t range : {40U, 3'000U}) {
    BTree tree;
    std::map<std::uint64_t, std::uint64_t> expected;
    Rng rng(range);
    for (unsigned i = 0; i < 20'000; ++i) {
      const std::uint64_t key = rng.below(range), to = key + rng.below(range / 4);
      if (rng.below(2) == 0) {
        EXPECT_EQ(tree.insert(key, i), expected.emplace(key, i).second);
      } else if (rng.below(2) == 0) {
        const auto taken = tree.take_first(key, to);
        const auto first = expected.lower_bound(key);
        ASSERT_EQ(taken.has_value(), first != expected.end() && first->first < to);
        if (!taken) continue;
        EXPECT_EQ(*taken, BTree::Entry(*first));
        expected.erase(first);
      } else {
        const auto found = tree.find(key);
        ASSERT_EQ(found.has_value(), expected.contains(key));
        if (!found) continue;
        EXPECT_EQ(*found, expected.at(key));
      }
    }
    EXPECT_EQ(all_of(tree, 0, range), std::vector<BTree::Entry>(expected.begin(), expected.end()));
    EXPECT_EQ(all_of(tree, range / 2, range / 2), std::vector<BTree::Entry>());
  }
}

TEST(BTree, ThreadsInsertAndTakeAtOnce) {
  constexpr unsigned kThreads = 4;
  constexpr std::uint64_t kKeys = 5'000;
  BTree tree;
  std::vector<std::uint64_t> taken(kThreads);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t k = 0; k < kKeys; ++k) {
          EXPECT_TRUE(tree.insert(k * kThreads + t, t));
          if (k % 3 == 0 && tree.take_first(0, kKeys * kThreads)) ++taken[t];
        }
      });
    }
  }
  std::uint64_t gone = 0;
  for (const std::uint64_t of_thread : taken) gone += of_thread;
  EXPECT_EQ(gone, kThreads * ((kKeys + 2) / 3)) << "there was an entry each time";
  const auto left = all_of(tree, 0, kKeys * kThreads);
  EXPECT_EQ(left.size(), kKeys * kThreads - gone);
  for (std::size_t i = 1; i < left.size(); ++i) EXPECT_LT(left[i - 1].first, left[i].first);
  for (const auto& [key, value] : left) EXPECT_EQ(value, key % kThreads);
}

}  // namespace
}  // namespace rubato::workloads::oltp
