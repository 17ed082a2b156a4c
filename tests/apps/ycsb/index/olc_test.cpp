// The protocol of optimistic lock coupling, step by step: another operation comes between two steps, and each
// rule is left out once to show that the test would notice.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/olc/tree.hpp"

#include "tests/apps/ycsb/index/index_types.hpp"

namespace rubato::apps::ycsb::index::olc {
namespace {

using Between = Interruption<Step>;

struct Interrupted : SmallOlc {
  static void at(Step step) { Between::at(step); }
};
struct WithoutParent : Interrupted {
  static constexpr bool kValidatesParent = false;
};
struct WithoutAnswer : Interrupted {
  static constexpr bool kValidatesAnswer = false;
};
struct WithoutVersion : Interrupted {
  static constexpr bool kLocksWhatItRead = false;
};

/// @returns whether a key that is always there was found, though its leaf was split on the way to it.
template <class R>
bool finds_a_key_that_moves_on_the_way() {
  Filled<Tree<R>> tree;
  bool is_found = true;
  for (Key key = 20; key <= 290 && is_found; key += 10) {
    // The last child on the way is the leaf: interrupt there, and at all children above.
    Between::set(Step::child_found, [&] { tree.split_around(key); });
    is_found = tree.lookup(key).is_found;
    EXPECT_TRUE(Between::has_happened());
  }
  return is_found;
}
TEST(OlcSteps, AKeyThatASplitMovesOnTheWayToItsLeafIsFound) {
  EXPECT_TRUE(finds_a_key_that_moves_on_the_way<Interrupted>());
  EXPECT_FALSE(finds_a_key_that_moves_on_the_way<WithoutParent>()) << "the mutant was not caught";
}

/// @returns whether a key that is always there was found, though its leaf changed under the reader.
template <class R>
bool finds_a_key_that_moves_in_its_leaf() {
  Filled<Tree<R>> tree;
  Between::set(Step::entry_found, [&] { tree.split_around(150); });
  const bool is_found = tree.lookup(150).is_found;
  EXPECT_TRUE(Between::has_happened());
  return is_found;
}
TEST(OlcSteps, AKeyThatMovesInItsLeafIsFound) {
  EXPECT_TRUE(finds_a_key_that_moves_in_its_leaf<Interrupted>());
  EXPECT_FALSE(finds_a_key_that_moves_in_its_leaf<WithoutAnswer>()) << "the mutant was not caught";
}

/// @returns whether a scan found all keys that are always there.
template <class R>
bool scans_keys_that_move() {
  Filled<Tree<R>> tree;
  Between::set(Step::entry_found, [&] { tree.split_around(150); });
  ScanBuffer buffer;
  const unsigned found = tree.scan(150, 3, buffer);
  EXPECT_TRUE(Between::has_happened());
  return found == 3 && buffer.pairs[0].key == 150 && buffer.pairs[1].key == 151 && buffer.pairs[2].key == 152;
}
TEST(OlcSteps, AScanOfALeafThatChangesBeginsAgain) {
  EXPECT_TRUE(scans_keys_that_move<Interrupted>());
  EXPECT_FALSE(scans_keys_that_move<WithoutAnswer>()) << "the mutant was not caught";
}

/// @returns whether the second of two insertions of a key noticed the first.
template <class R>
bool inserts_a_key_once() {
  Filled<Tree<R>> tree;
  Between::set(Step::leaf_chosen, [&] { tree.index.insert(155, 1, tree.session()); });
  const Answer answer = tree.insert(155, 2);
  EXPECT_TRUE(Between::has_happened());
  return answer.is_found && answer.value == 1 && tree.index.check().error.empty();
}
TEST(OlcSteps, AKeyThatAnotherThreadInsertsMeanwhileIsNotInsertedTwice) {
  EXPECT_TRUE(inserts_a_key_once<Interrupted>());
  EXPECT_FALSE(inserts_a_key_once<WithoutVersion>()) << "the mutant was not caught";
}

/// @returns whether an update reached its key, though its leaf was split before it was locked.
template <class R>
bool updates_a_key_that_moves() {
  Filled<Tree<R>> tree;
  Between::set(Step::leaf_chosen, [&] { tree.split_around(150); });
  tree.update(150, 7);
  EXPECT_TRUE(Between::has_happened());
  return tree.lookup(150).value == 7;
}
TEST(OlcSteps, AnUpdateOfAKeyThatMovesReachesIt) {
  EXPECT_TRUE(updates_a_key_that_moves<Interrupted>());
  EXPECT_FALSE(updates_a_key_that_moves<WithoutVersion>()) << "the mutant was not caught";
}

TEST(OlcTree, LowersItsRootWhenNearlyAllKeysAreRemoved) {
  Alone<Tree<SmallOlc>> tree;
  for (Key key = 0; key < 10'000; ++key) tree.insert(key, key);
  const TreeShape full = tree.index.check();
  EXPECT_GE(full.levels, 5u);
  for (Key key = 0; key < 10'000; ++key) {
    if (key != 5000) tree.remove(key);
  }
  const TreeShape left = tree.index.check();
  EXPECT_EQ(left.error, "");
  EXPECT_EQ(left.pairs, 1u);
  EXPECT_LT(left.nodes, full.nodes / 100);
  EXPECT_TRUE(tree.lookup(5000).is_found);
}

}  // namespace
}  // namespace rubato::apps::ycsb::index::olc
