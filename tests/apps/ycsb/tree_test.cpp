// The tree as a whole, one operation at a time, against std::map.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "apps/ycsb/latched_visit.hpp"
#include "apps/ycsb/tree.hpp"
#include "base/rng.hpp"

namespace rubato::apps::ycsb {
namespace {

class TreeTest : public testing::Test {
 protected:
  using Latch = VersionLatch;

  Answer ask(Kind kind, Key key, Value argument = 0) {
    return execute(tree_.root(), Operation{.key = key, .argument = argument, .kind = kind}, 0,
                   tree_.memory());
  }
  std::vector<leaf::Pair> scan(Key key, unsigned length) {
    ScanBuffer buffer;
    const Operation operation{
        .key = key, .kind = Kind::scan, .length = static_cast<std::uint16_t>(length), .buffer = &buffer};
    const Answer answer = execute(tree_.root(), operation, 0, tree_.memory());
    std::vector<leaf::Pair> pairs;
    for (unsigned i = 0; i < answer.value; ++i) pairs.push_back({buffer.pairs[i].key, buffer.pairs[i].value});
    return pairs;
  }
  void bulk_load(std::uint64_t pairs, Key step, Fill fill) {
    Key next = 0;
    tree_.bulk_load(
        pairs,
        [&] {
          return leaf::Pair{step * next++, next};
        },
        [](std::uint64_t) {}, fill);
  }
  void expect_equal(const std::map<Key, Value>& expected) {
    const TreeShape shape = tree_.check();
    EXPECT_EQ(shape.error, "");
    EXPECT_EQ(shape.pairs, expected.size());
    auto next = expected.begin();
    tree_.for_each([&](const leaf::Pair& pair) {
      ASSERT_NE(next, expected.end());
      EXPECT_EQ(pair.key, next->first);
      EXPECT_EQ(pair.value, next->second);
      ++next;
    });
    EXPECT_EQ(next, expected.end());
  }

  /// Operations of all kinds on keys below `keys` * `step`.
  void run_random(std::uint64_t seed, int operations, Key keys, Key step) {
    Rng rng(seed);
    std::map<Key, Value> expected;
    tree_.for_each([&](const leaf::Pair& pair) { expected[pair.key] = pair.value; });
    for (int i = 0; i < operations; ++i) {
      const Key key = rng.below(keys) * step;
      const Value value = rng();
      const auto found = expected.find(key);
      const bool is_found = found != expected.end();
      const Value old = is_found ? found->second : 0;
      const auto kind = static_cast<Kind>(rng.below(6));
      if (kind == Kind::scan) {
        const auto length = static_cast<unsigned>(1 + rng.below(kLongestScan));
        auto next = expected.lower_bound(key);
        const std::vector<leaf::Pair> pairs = scan(key, length);
        for (const leaf::Pair& pair : pairs) {
          ASSERT_NE(next, expected.end());
          ASSERT_EQ(pair.key, next->first);
          ASSERT_EQ(pair.value, next->second);
          ++next;
        }
        ASSERT_TRUE(pairs.size() == length || next == expected.end());
        continue;
      }
      const Answer answer = ask(kind, key, value);
      ASSERT_EQ(answer.is_found, is_found) << "operation " << i;
      ASSERT_EQ(answer.value, old) << "operation " << i;
      if (kind == Kind::insert && !is_found) expected[key] = value;
      if (kind == Kind::update && is_found) expected[key] = value;
      if (kind == Kind::add && is_found) expected[key] = old + value;
      if (kind == Kind::remove) expected.erase(key);
    }
    expect_equal(expected);
  }

  Tree<LatchedMemory<Latch>> tree_;
};

TEST_F(TreeTest, BeginsEmpty) {
  EXPECT_FALSE(ask(Kind::lookup, 5).is_found);
  EXPECT_TRUE(scan(0, 10).empty());
  expect_equal({});
}

TEST_F(TreeTest, DoesWhatAMapDoesOnFewKeys) { run_random(1, 50'000, 200, 1); }
TEST_F(TreeTest, DoesWhatAMapDoesOnManyKeys) { run_random(2, 300'000, 100'000, 0x9e3779b97f4a7u); }
TEST_F(TreeTest, DoesWhatAMapDoesBehindABulkLoad) {
  bulk_load(30'000, 7, {});
  run_random(3, 200'000, 250'000, 1);
}
TEST_F(TreeTest, DoesWhatAMapDoesInNodesThatAreFull) {
  bulk_load(54 * 62 * 3, 1000, {leaf::kMaxEntries, Node::kEntries});
  run_random(4, 100'000, 54 * 62 * 3 * 1000, 1);
}

TEST_F(TreeTest, GrowsByAscendingInsertions) {
  std::map<Key, Value> expected;
  for (Key key = 0; key < 200'000; ++key) {
    ASSERT_FALSE(ask(Kind::insert, key, key + 1).is_found);
    expected[key] = key + 1;
  }
  expect_equal(expected);
  EXPECT_GE(tree_.check().levels, 3u);
}

TEST_F(TreeTest, GrowsByDescendingInsertions) {
  std::map<Key, Value> expected;
  for (Key key = 200'000; key-- > 0;) {
    ask(Kind::insert, key, key);
    expected[key] = key;
  }
  expect_equal(expected);
}

TEST_F(TreeTest, HoldsTheSmallestAndTheLargestKey) {
  ask(Kind::insert, 0, 1);
  ask(Kind::insert, kLargestKey, 2);
  for (Key key = 1; key < 1000; ++key) ask(Kind::insert, key << 50, key);
  EXPECT_EQ(ask(Kind::lookup, 0).value, 1u);
  EXPECT_EQ(ask(Kind::lookup, kLargestKey).value, 2u);
  EXPECT_EQ(scan(kLargestKey, 5).size(), 1u);
}

TEST_F(TreeTest, LoadsAnyNumberOfPairs) {
  for (const std::uint64_t pairs : {0, 1, 53, 54, 55, 100, 2000, 42 * 48 * 62 + 1}) {
    Tree<LatchedMemory<Latch>> tree;
    Key next = 0;
    tree.bulk_load(
        pairs,
        [&] {
          return leaf::Pair{next++, next};
        },
        [](std::uint64_t) {});
    EXPECT_EQ(tree.check().error, "") << pairs;
    EXPECT_EQ(tree.check().pairs, pairs);
  }
}

TEST_F(TreeTest, ReachesANodeThatIsNotYetLinkedToItsParent) {
  bulk_load(54 * 3, 10, {leaf::kMaxEntries, Node::kEntries});
  const Cursor cursor = Cursor(Kind::insert).at({Link(), 0, 0});
  Node& root = *tree_.root().node();
  const Link first(root.entry(0).value.get());
  std::optional<FollowUp> follow_up;
  write(first, *first.node(), 5, 77, cursor, tree_.memory(), follow_up);
  ASSERT_TRUE(follow_up);
  EXPECT_EQ(follow_up->kind, Kind::link);
  EXPECT_NE(tree_.check().error, "") << "the parent does not know the new leaf";
  for (Key key = 0; key < 54 * 3; ++key) EXPECT_TRUE(ask(Kind::lookup, key * 10).is_found);
  EXPECT_EQ(ask(Kind::lookup, 5).value, 77u);
  execute(tree_.root(), *follow_up, tree_.memory());
  EXPECT_EQ(tree_.check().error, "");
}

TEST_F(TreeTest, SaysWhatIsWrongWithADamagedTree) {
  bulk_load(10'000, 10, {});
  Node& root = *tree_.root().node();
  Node& branch = *Link(root.entry(1).value.get()).node();
  Node& node = *Link(branch.entry(1).value.get()).node();
  const Key low = branch.entry(1).key;
  leaf::add(node, low - 1, 1);
  EXPECT_NE(tree_.check().error.find("outside its node's range"), std::string::npos);
  leaf::remove(node, leaf::find(node, low - 1));
  EXPECT_EQ(tree_.check().error, "");
  node.set_count(node.count() + 1);
  EXPECT_NE(tree_.check().error.find("wrong count"), std::string::npos);
  node.set_count(node.count() - 1);
  branch.entry(1).key = low + 1;
  EXPECT_NE(tree_.check().error, "");
}

}  // namespace
}  // namespace rubato::apps::ycsb
