// Merging emptied nodes, one operation at a time: nothing is lost, and what is freed is exactly what no
// longer can be reached.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/merge.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "apps/ycsb/emptied_leaves.hpp"
#include "apps/ycsb/latched_visit.hpp"
#include "apps/ycsb/tree.hpp"
#include "base/rng.hpp"

namespace rubato::apps::ycsb {
namespace {

using Memory = LatchedMemory<VersionLatch>;

/// Frees only when it ends: until then visits may hold links.
class LateMemory {
 public:
  ~LateMemory() {
    for (const Link link : freed_) memory_.free(link);
  }
  void free(Link link) { freed_.push_back(link); }
  const std::vector<Link>& freed() const { return freed_; }

 private:
  Memory memory_;
  std::vector<Link> freed_;
};

class MergeTest : public testing::Test {
 protected:
  Answer ask(Kind kind, Key key, Value argument = 0) {
    return execute(tree_.root(), Operation{.key = key, .argument = argument, .kind = kind}, 0,
                   tree_.memory());
  }
  void insert(Key key) {
    ask(Kind::insert, key, ~key);
    pairs_[key] = ~key;
  }
  void remove(Key key) {
    ask(Kind::remove, key);
    pairs_.erase(key);
    touched_.push_back(key);
  }
  /// At all keys removed since the last time.
  void merge() {
    Merger merger(tree_.root(), late_);
    for (const Key key : touched_) merger.merge_at(key);
    touched_.clear();
  }
  std::uint64_t nodes() const { return tree_.check().nodes; }

  void expect_intact() {
    const TreeShape shape = tree_.check();
    ASSERT_EQ(shape.error, "");
    ASSERT_EQ(shape.pairs, pairs_.size());
    auto next = pairs_.begin();
    tree_.for_each([&](const leaf::Pair& pair) {
      ASSERT_EQ(pair.key, next->first);
      ASSERT_EQ(pair.value, next->second);
      ++next;
    });
    for (const auto& [key, value] : pairs_) ASSERT_EQ(ask(Kind::lookup, key).value, value);
  }

  /// The same visit that would have been right at a freed node, wherever it is sent now.
  Answer ask_from(Link link, Kind kind, Key key, Value argument = 0) {
    Cursor cursor = Cursor(kind).at({link, 0, leaf::line_of(key)});
    const Operation operation{.key = key, .argument = argument, .kind = kind};
    for (;;) {
      std::optional<FollowUp> follow_up;
      const Visited visited = visit_latched(link, cursor, operation, tree_.memory(), follow_up);
      if (follow_up) execute(tree_.root(), *follow_up, tree_.memory());
      if (!visited.next) return visited.answer;
      link = visited.next;
      cursor = visited.cursor;
    }
  }

  Tree<Memory> tree_;
  LateMemory late_;
  std::map<Key, Value> pairs_;
  std::vector<Key> touched_;
};

TEST_F(MergeTest, GivesBackAllButAFewNodesOfATreeThatBecomesEmpty) {
  for (Key key = 0; key < 100'000; ++key) insert(key);
  const std::uint64_t full = nodes();
  for (Key key = 0; key < 100'000; ++key) remove(key);
  merge();
  expect_intact();
  EXPECT_LE(nodes(), tree_.check().levels) << "one a level";
  EXPECT_EQ(nodes() + late_.freed().size(), full);
  for (Key key = 0; key < 100'000; key += 7) insert(key);
  expect_intact();
}

TEST_F(MergeTest, KeepsASlidingWindowSmall) {
  constexpr Key kWindow = 10'000;
  for (Key key = 0; key < kWindow; ++key) insert(key);
  const std::uint64_t loaded = nodes();
  for (Key key = kWindow; key < 20 * kWindow; ++key) {
    insert(key);
    remove(key - kWindow);
    if (key % 1000 == 0) {
      merge();
      ASSERT_LE(nodes(), loaded * 5 / 4);
    }
  }
  merge();
  expect_intact();
}

TEST_F(MergeTest, KeepsEveryPairOfRandomInsertionsAndRemovals) {
  Rng rng(1);
  std::uint64_t most = 0;
  for (int batch = 0; batch < 60; ++batch) {
    // Grows for some batches, then shrinks; whole ranges go at once.
    const bool grows = batch % 6 < 3;
    for (int i = 0; i < 4000; ++i) {
      const Key key = rng.below(200'000) << 40;
      grows || rng.below(4) == 0 ? insert(key) : remove(key);
    }
    if (!grows) {
      const Key from = rng.below(150'000) << 40, to = from + (Key{50'000} << 40);
      std::vector<Key> range;
      for (auto p = pairs_.lower_bound(from); p != pairs_.lower_bound(to); ++p) range.push_back(p->first);
      for (const Key key : range) remove(key);
    }
    most = std::max(most, nodes());
    merge();
    expect_intact();
  }
  const std::vector<Key> keys = [&] {
    std::vector<Key> all;
    for (const auto& pair : pairs_) all.push_back(pair.first);
    return all;
  }();
  for (const Key key : keys) remove(key);
  merge();
  expect_intact();
  EXPECT_GT(most, 100u);
  EXPECT_LE(nodes(), tree_.check().levels);
}

TEST_F(MergeTest, FreesANodeOnceAndSendsWhoeverComesToItToItsPairs) {
  for (Key key = 0; key < 30'000; ++key) insert(key);
  for (Key key = 0; key < 30'000; ++key) {
    if (key % 500 > 30) remove(key);
  }
  merge();
  expect_intact();
  ASSERT_GT(late_.freed().size(), 500u);
  std::set<std::uint64_t> once;
  Rng rng(3);
  for (const Link link : late_.freed()) {
    EXPECT_TRUE(once.insert(link.handle()).second);
    EXPECT_EQ(link.node()->count(), 0u);
    if (link.node()->level() != 0) continue;
    // From a freed leaf the way leads to the left; every pair from the live leaf on must be found.
    Link live = link;
    while (live.node()->high_key() == 0) live = live.node()->right();
    const auto pair = pairs_.lower_bound(live.node()->high_key());
    if (pair == pairs_.end()) continue;
    EXPECT_EQ(ask_from(link, Kind::lookup, pair->first).value, pair->second);
  }
  const Link first = late_.freed().front();
  insert(100);
  EXPECT_EQ(ask_from(first, Kind::update, 29'500, 7).value, ~Key{29'500});
  EXPECT_EQ(ask(Kind::lookup, 29'500).value, 7u);
}

TEST_F(MergeTest, ScansThatComeToAFreedLeafGoOnBehindTheirLastPair) {
  for (Key key = 0; key < 400; ++key) insert(key);
  const Link left(tree_.root().node()->entry(0).value.get());
  const Key end = left.node()->high_key();
  const Link right = left.node()->right();
  ScanBuffer buffer;
  const Operation scan{.key = 2, .kind = Kind::scan, .length = 60, .buffer = &buffer};
  const Visited visited = read(left, *left.node(), 2, Cursor(Kind::scan).at({left, 0, 1}), &scan);
  ASSERT_EQ(visited.next.handle(), right.handle());
  const unsigned taken = visited.cursor.taken();
  ASSERT_EQ(taken, end - 2);
  for (Key key = 0; key < end; ++key) remove(key);
  merge();  // the scan waits at `right` meanwhile
  ASSERT_EQ(right.node()->high_key(), 0u);
  insert(3);  // behind the scan: not found any more
  Link link = visited.next;
  Cursor cursor = visited.cursor;
  Answer answer;
  while (link) {
    const Visited next = read(link, *link.node(), 2, cursor, &scan);
    link = next.next;
    cursor = next.cursor;
    answer = next.answer;
  }
  ASSERT_EQ(answer.value, 60u);
  for (unsigned i = 0; i < 60; ++i) EXPECT_EQ(buffer.pairs[i].key.get(), 2 + i);
}

TEST_F(MergeTest, LeavesANodeAloneWhoseLinkIsUnderWay) {
  for (Key key = 0; key < 300; ++key) insert(10 * key);
  const Link first(tree_.root().node()->entry(0).value.get());
  std::optional<FollowUp> follow_up;
  for (Key key = 1; !follow_up; ++key) {
    if (key % 10 == 0) continue;
    write(first, *first.node(), key, ~key, Cursor(Kind::insert).at({first, 0, leaf::line_of(key)}),
          tree_.memory(), follow_up);
    pairs_[key] = ~key;
  }
  const Link unlinked = first.node()->right();
  std::vector<Key> keys;
  for (auto p = pairs_.lower_bound(first.node()->high_key()); p != pairs_.end(); ++p)
    keys.push_back(p->first);
  for (const Key key : keys) {
    if (key < unlinked.node()->high_key()) remove(key);
  }
  ASSERT_EQ(unlinked.node()->count(), 0u);
  merge();
  EXPECT_TRUE(late_.freed().empty());
  execute(tree_.root(), *follow_up, tree_.memory());
  expect_intact();
  touched_.push_back(keys.front());
  merge();
  EXPECT_EQ(late_.freed().size(), 1u);
  expect_intact();
}

TEST(EmptiedLeaves, SaysOnceThatMergingIsWorthIt) {
  EmptiedLeaves leaves;
  int worth = 0;
  for (Key key = 0; key < 10'000; ++key) worth += leaves.note(key);
  EXPECT_EQ(worth, 1);
  std::uint64_t used = 0;
  leaves.take([&](Key key) { EXPECT_EQ(key, used++); });
  EXPECT_EQ(used, 4096u) << "the rest is dropped";
  used = 0;
  leaves.take([&](Key) { ++used; });
  EXPECT_EQ(used, 0u);
}

}  // namespace
}  // namespace rubato::apps::ycsb
