// Every index: one operation at a time against std::map, then by threads with all checks.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/index.hpp"

#include <map>

#include "apps/ycsb/index/index_variant.hpp"
#include "tests/apps/ycsb/index/index_types.hpp"
#include "tests/apps/ycsb/variant_checks.hpp"

namespace rubato::apps::ycsb::index {
namespace {

template <class I>
class IndexTest : public testing::Test {
 protected:
  static_assert(Index<I>);

  void expect_equal() {
    const TreeShape shape = alone_.index.check();
    EXPECT_EQ(shape.error, "");
    EXPECT_EQ(shape.pairs, expected_.size());
    auto next = expected_.begin();
    alone_.index.for_each([&](const leaf::Pair& pair) {
      ASSERT_NE(next, expected_.end());
      EXPECT_EQ(pair.key, next->first);
      EXPECT_EQ(pair.value, next->second);
      ++next;
    });
    EXPECT_EQ(next, expected_.end());
  }
  void scan_like_a_map(Key key, unsigned length) {
    ScanBuffer buffer;
    const unsigned found = alone_.scan(key, length, buffer);
    auto next = expected_.lower_bound(key);
    for (unsigned i = 0; i < found; ++i, ++next) {
      ASSERT_NE(next, expected_.end());
      ASSERT_EQ(buffer.pairs[i].key, next->first);
      ASSERT_EQ(buffer.pairs[i].value, next->second);
    }
    ASSERT_TRUE(found == length || next == expected_.end());
  }
  /// Operations of all kinds on the keys of the numbers below `keys`.
  template <class KeyOf>
  void run_random(std::uint64_t seed, int operations, Key keys, KeyOf key_of) {
    Rng rng(seed);
    for (int i = 0; i < operations; ++i) {
      const Key key = key_of(rng.below(keys));
      const Value value = rng();
      const auto found = expected_.find(key);
      const Answer was{found == expected_.end() ? 0 : found->second, found != expected_.end()};
      Answer answer = was;
      switch (rng.below(6)) {
        case 0:
          answer = alone_.lookup(key);
          break;
        case 1:
          answer = alone_.insert(key, value);
          expected_.try_emplace(key, value);
          break;
        case 2:
          answer = alone_.update(key, value);
          if (was.is_found) found->second = value;
          break;
        case 3:
          answer = alone_.add(key, value);
          if (was.is_found) found->second += value;
          break;
        case 4:
          answer = alone_.remove(key);
          expected_.erase(key);
          break;
        default:
          scan_like_a_map(key, static_cast<unsigned>(1 + rng.below(kLongestScan)));
      }
      ASSERT_EQ(answer.is_found, was.is_found) << "operation " << i;
      ASSERT_EQ(answer.value, was.value) << "operation " << i;
    }
    expect_equal();
  }

  Alone<I> alone_;
  std::map<Key, Value> expected_;
};
TYPED_TEST_SUITE(IndexTest, AllIndexes);

TYPED_TEST(IndexTest, BeginsEmpty) {
  ScanBuffer buffer;
  EXPECT_FALSE(this->alone_.lookup(5).is_found);
  EXPECT_FALSE(this->alone_.remove(5).is_found);
  EXPECT_EQ(this->alone_.scan(0, 10, buffer), 0u);
  this->expect_equal();
}
TYPED_TEST(IndexTest, DoesWhatAMapDoesOnFewKeys) {
  this->run_random(1, 20'000, 200, [](Key number) { return number; });
}
TYPED_TEST(IndexTest, DoesWhatAMapDoesOnManyKeys) {
  this->run_random(2, 60'000, 20'000, [](Key number) { return number * 0x9e3779b97f4a7u; });
}
/// Keys whose distances grow from 1 to 2^50: interpolation is wrong nearly always.
TYPED_TEST(IndexTest, DoesWhatAMapDoesOnUnevenKeys) {
  this->run_random(3, 60'000, 20'000, [](Key number) { return number << number % 50; });
}

TYPED_TEST(IndexTest, GrowsByAscendingAndByDescendingInsertions) {
  for (Key key = 0; key < 20'000; ++key) {
    const Key both[] = {100'000 + key, 100'000 - 1 - key};
    for (const Key k : both) {
      ASSERT_FALSE(this->alone_.insert(k, k + 1).is_found);
      this->expected_[k] = k + 1;
    }
  }
  this->expect_equal();
  EXPECT_GE(this->alone_.index.check().levels, 2u);
}

TYPED_TEST(IndexTest, HoldsTheSmallestAndTheLargestKey) {
  this->alone_.insert(0, 1);
  this->alone_.insert(kLargestKey, 2);
  for (Key key = 1; key < 1000; ++key) this->alone_.insert(key << 50, key);
  ScanBuffer buffer;
  EXPECT_EQ(this->alone_.lookup(0).value, 1u);
  EXPECT_EQ(this->alone_.lookup(kLargestKey).value, 2u);
  EXPECT_EQ(this->alone_.scan(kLargestKey, 5, buffer), 1u);
}

TYPED_TEST(IndexTest, IsWithoutAPairAfterAllAreRemovedAndCanBeFilledAgain) {
  constexpr Key kKeys = 5000;
  for (int round = 0; round < 3; ++round) {
    for (Key key = 0; key < kKeys; ++key) ASSERT_FALSE(this->alone_.insert(key * 7 % kKeys, key).is_found);
    ASSERT_EQ(this->alone_.index.check().error, "");
    ASSERT_EQ(this->alone_.index.check().pairs, kKeys);
    for (Key key = 0; key < kKeys; ++key) ASSERT_TRUE(this->alone_.remove(key * 11 % kKeys).is_found);
    this->expect_equal();
  }
}

template <class I>
class IndexOnThreads : public testing::Test {
 protected:
  static std::unique_ptr<Variant> make() { return std::make_unique<IndexVariant<I>>(); }
};
TYPED_TEST_SUITE(IndexOnThreads, AllIndexes);

TYPED_TEST(IndexOnThreads, PassesAllChecksOfAllWorkloads) {
  for (const unsigned workers : {2u, 8u}) run_all_workloads(this->make, workers);
}
TYPED_TEST(IndexOnThreads, KeepsInsertionsAndRemovalsOfAKeyInOrder) {
  for (const unsigned workers : {2u, 8u}) run_insertions_and_removals(*this->make(), workers);
}

/// Ascending insertions by all threads: each splits the node that the others are about to write.
TYPED_TEST(IndexOnThreads, HoldsWhatAllThreadsInsertAtOnePlace) {
  constexpr std::uint64_t kRecords = 30'000;
  const auto inserts = load_requests(KeySpace(KeyOrder::ordered), 0, kRecords);
  const std::unique_ptr<Variant> variant = this->make();
  Recorder recorder(Recorder::Mode::sample, inserts.size());
  variant->run(inserts, {.workers = 4, .inflight = 1, .first_value = 0}, recorder);
  EXPECT_EQ(variant->check().error, "");
  Key next = 0;
  variant->for_each([&](const leaf::Pair& pair) {
    EXPECT_EQ(pair.key, next);
    EXPECT_EQ(pair.value, next++);
  });
  EXPECT_EQ(next, kRecords);
}

/// A window that slides over the records: nodes become empty as fast as others fill.
template <class I>
class IndexMemory : public testing::Test {};
TYPED_TEST_SUITE(IndexMemory, IndexesThatMerge);

TYPED_TEST(IndexMemory, OfEmptiedNodesIsFreedWhileOperationsGoOn) {
  constexpr Key kWindow = 2000, kRecords = 40'000;
  Alone<TypeParam> alone;
  std::uint64_t most_waiting = 0, most_nodes = 0;
  for (Key key = 0; key < kRecords; ++key) {
    alone.insert(key, key);
    if (key >= kWindow) {
      ASSERT_TRUE(alone.remove(key - kWindow).is_found);
    }
    most_waiting = std::max(most_waiting, alone.unreclaimed_bytes());
    if (key % 1000 == 0) most_nodes = std::max(most_nodes, alone.index.check().nodes);
  }
  EXPECT_GT(most_waiting, 0u) << "nothing was ever unlinked";
  // A session alone holds back what few operations have unlinked.
  EXPECT_LE(most_waiting, 64u * 4096);
  EXPECT_LE(most_nodes, kWindow) << "a node a key, if all of the window's were small";
  EXPECT_EQ(alone.index.check().error, "");
}

}  // namespace
}  // namespace rubato::apps::ycsb::index
