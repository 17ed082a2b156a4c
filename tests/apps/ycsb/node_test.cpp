// Leaves and inner nodes alone.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "apps/ycsb/inner.hpp"
#include "apps/ycsb/leaf.hpp"
#include "base/rng.hpp"

namespace rubato::apps::ycsb {
namespace {

std::map<Key, Value> contents(const Node& node) {
  leaf::Pairs pairs;
  leaf::collect(node, 0, pairs);
  std::map<Key, Value> result;
  for (unsigned i = 0; i < pairs.count; ++i) result[pairs.pairs[i].key] = pairs.pairs[i].value;
  return result;
}

TEST(Leaf, HoldsUpToItsLimitWhateverTheKeysAndFindsOnlyThose) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    Node node(0);
    std::set<Key> keys;
    while (keys.size() < leaf::kMaxEntries) keys.insert(round % 2 == 0 ? rng() >> 1 : rng.below(200));
    for (const Key key : keys) leaf::add(node, key, ~key);
    ASSERT_EQ(node.count(), leaf::kMaxEntries);
    for (const Key key : keys) {
      ASSERT_NE(leaf::find(node, key), nullptr);
      EXPECT_EQ(leaf::find(node, key)->value.get(), ~key);
    }
    for (Key key = 0; key < 300; ++key) EXPECT_EQ(leaf::find(node, key) != nullptr, keys.contains(key));
  }
}

TEST(Leaf, FindsAllOthersAfterRemovals) {
  Rng rng(2);
  Node node(0);
  std::map<Key, Value> expected;
  for (int step = 0; step < 100'000; ++step) {
    const Key key = rng.below(100);
    Entry* const found = leaf::find(node, key);
    ASSERT_EQ(found != nullptr, expected.contains(key));
    if (found != nullptr) {
      leaf::remove(node, found);
      expected.erase(key);
    } else if (node.count() < leaf::kMaxEntries) {
      leaf::add(node, key, static_cast<Value>(step));
      expected[key] = static_cast<Value>(step);
    }
    ASSERT_EQ(node.count(), expected.size());
  }
  EXPECT_EQ(contents(node), expected);
}

TEST(Leaf, SplitsIntoAdjoiningHalves) {
  Node node(0), right(0);
  for (Key key = 0; key < 50; ++key) leaf::add(node, key * 10, key);
  node.set_high_key(1000);
  const Link old_right(0x1000), new_right(0x2000);
  node.set_right(old_right);
  EXPECT_EQ(leaf::split(node, right, new_right), 250u);
  EXPECT_EQ(node.high_key(), 250u);
  EXPECT_EQ(node.right(), new_right);
  EXPECT_EQ(right.high_key(), 1000u);
  EXPECT_EQ(right.right(), old_right);
  EXPECT_EQ(contents(node).size(), 25u);
  EXPECT_EQ(contents(node).rbegin()->first, 240u);
  EXPECT_EQ(contents(right).begin()->first, 250u);
  EXPECT_EQ(contents(right).size(), 25u);
}

TEST(Leaf, CollectsFromAKeyOn) {
  Node node(0);
  for (Key key = 0; key < 40; ++key) leaf::add(node, key, key);
  leaf::Pairs pairs;
  leaf::collect(node, 30, pairs);
  leaf::sort(pairs);
  ASSERT_EQ(pairs.count, 10u);
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(pairs.pairs[i].key, 30 + i);
}

/// Child i begins at lows[i]; its link is 64 * (i + 1), so that a test can tell.
void fill(Node& node, const std::vector<Key>& lows) {
  for (std::size_t i = 0; i < lows.size(); ++i) inner::insert(node, lows[i], Link(64 * (i + 1)));
}

TEST(Inner, RoutesEveryKeyToTheChildWhoseRangeHasItFromWhateverLineTheSearchBegins) {
  Rng rng(3);
  for (unsigned count = 1; count <= Node::kEntries; ++count) {
    std::vector<Key> lows{0};
    while (lows.size() < count) lows.push_back(lows.back() + 1 + rng.below(count % 3 == 0 ? 1'000'000 : 3));
    Node node(2);
    node.set_high_key(lows.back() + 5);
    node.set_right(Link(0x100000));
    fill(node, lows);
    for (unsigned i = 0; i < count; ++i) {
      const Key high = i + 1 < count ? lows[i + 1] : node.high_key();
      for (const Key key : {lows[i], high - 1}) {
        for (unsigned line = 0; line <= Node::kLines - inner::kWindowLines; ++line) {
          const Hop hop = inner::route(node, 2, key, line);
          ASSERT_EQ(hop.next().handle(), 64 * (i + 1))
              << count << " children, key " << key << ", line " << line;
          ASSERT_EQ(hop.level(), 1);
        }
      }
    }
    const Hop right = inner::route(node, 2, node.high_key(), 0);
    EXPECT_EQ(right.next(), node.right());
    EXPECT_EQ(right.level(), 2);
  }
}

TEST(Inner, ExpectsEvenlySpreadKeysWhereTheyAre) {
  Node node(2), child(1);
  inner::insert(node, 0, Link(64).with_entries_hint(48));
  inner::insert(node, 4800, Link(128).with_entries_hint(48));
  for (unsigned i = 0; i < 48; ++i) inner::insert(child, i * 100, Link(64));
  for (Key key = 0; key < 4800; key += 7) {
    const Hop hop = inner::route(node, 2, key, 0);
    const unsigned start = inner::window_start(hop.line()), index = static_cast<unsigned>(key / 100);
    EXPECT_LE(start, index);
    EXPECT_LT(index, start + inner::kWindow - 1) << "the window also shows where the child ends";
  }
}

TEST(Inner, ASearchInAMixtureOfTwoStatesEndsWithAnEntryOfTheNode) {
  Rng rng(4);
  Node node(1);
  for (int round = 0; round < 10'000; ++round) {
    for (unsigned i = 0; i < Node::kEntries; ++i) node.entry(i).key = rng();
    EXPECT_LT(inner::search(node, rng(), static_cast<unsigned>(rng.below(15))), Node::kEntries);
  }
  EXPECT_EQ(interpolate(7, 7, 7, 62), 0u);
  EXPECT_EQ(interpolate(9, 7, 8, 62), 0u);
}

TEST(Inner, ASplitKeepsTheChildrenAndTheirOrder) {
  Node node(1), right(1);
  std::vector<Key> lows;
  for (Key key = 0; key < Node::kEntries; ++key) lows.push_back(key * 3);
  fill(node, lows);
  const Key separator = inner::split(node, right, Link(0x2000));
  EXPECT_EQ(separator, lows[31]);
  EXPECT_EQ(node.count() + right.count(), Node::kEntries);
  EXPECT_EQ(node.high_key(), separator);
  EXPECT_EQ(inner::route(node, 1, separator - 1, 0).next().handle(), 64u * 31);
  EXPECT_EQ(inner::route(right, 1, separator, 0).next().handle(), 64u * 32);
}

TEST(Inner, RemembersHowFullAChildIs) {
  Node node(2);
  inner::insert(node, 0, Link(64).with_entries_hint(60));
  inner::insert(node, 100, Link(128).with_entries_hint(31));
  EXPECT_EQ(Link(node.entry(0).value.get()).entries_hint(), 31u)
      << "the child that was split kept the other half";
  inner::refresh(node, 100, Link(128).with_entries_hint(36));
  EXPECT_EQ(Link(node.entry(1).value.get()).entries_hint(), 36u);
  inner::refresh(node, 100, Link(192).with_entries_hint(40));  // of a child that is no longer there
  EXPECT_EQ(Link(node.entry(1).value.get()).handle(), 128u);
}

}  // namespace
}  // namespace rubato::apps::ycsb
