// The Bw-tree's protocol, step by step: another operation comes between two steps, and each rule is left out
// once to show that the test would notice.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/bwtree/tree.hpp"

#include "tests/apps/ycsb/index/index_types.hpp"

namespace rubato::apps::ycsb::index::bwtree {
namespace {

using Between = Interruption<Step>;

struct Interrupted : SmallBwTree {
  static void at(Step step) { Between::at(step); }
};
struct WithoutComparison : Interrupted {
  static constexpr bool kComparesNewest = false;
};
struct WithoutRightLinks : Interrupted {
  static constexpr bool kGoesRight = false;
};

/// @returns whether the second of two insertions of a key noticed the first.
template <class R>
bool inserts_a_key_once() {
  Alone<Tree<R>> tree;
  tree.insert(1, 1);
  Between::set(Step::chain_read, [&] { tree.index.insert(5, 50, tree.session()); });
  const Answer answer = tree.insert(5, 51);
  EXPECT_TRUE(Between::has_happened());
  return answer.is_found && answer.value == 50 && tree.lookup(5).value == 50;
}
TEST(BwTreeSteps, AKeyThatAnotherThreadInsertsMeanwhileIsNotInsertedTwice) {
  EXPECT_TRUE(inserts_a_key_once<Interrupted>());
  EXPECT_FALSE(inserts_a_key_once<WithoutComparison>()) << "the mutant was not caught";
}

/// @returns whether an increment of another thread, which came meanwhile, was kept.
template <class R>
bool keeps_both_increments() {
  Alone<Tree<R>> tree;
  tree.insert(1, 10);
  Between::set(Step::chain_read, [&] { tree.index.add(1, 5, tree.session()); });
  tree.add(1, 100);
  EXPECT_TRUE(Between::has_happened());
  return tree.lookup(1).value == 115;
}
TEST(BwTreeSteps, AnIncrementThatComesMeanwhileIsNotLost) {
  EXPECT_TRUE(keeps_both_increments<Interrupted>());
  EXPECT_FALSE(keeps_both_increments<WithoutComparison>()) << "the mutant was not caught";
}

/// @returns whether all keys were found between a split and the moment when the parent knows of it.
template <class R>
bool finds_keys_of_a_split_node() {
  Alone<Tree<R>> tree;
  unsigned found = 0, expected = 0;
  for (Key key = 10; key <= 400; key += 10) {
    Between::set(Step::split, [&] {
      for (Key k = 10; k < key; k += 10, ++expected) found += tree.index.lookup(k, tree.session()).is_found;
    });
    tree.insert(key, key);
  }
  Between::set(Step::split, nullptr);
  EXPECT_GT(expected, 100u);
  return found == expected;
}
TEST(BwTreeSteps, KeysOfANodeThatItsParentDoesNotKnowYetAreFound) {
  EXPECT_TRUE(finds_keys_of_a_split_node<Interrupted>());
  EXPECT_FALSE(finds_keys_of_a_split_node<WithoutRightLinks>()) << "the mutant was not caught";
}

/// Changes that come while a chain is merged: the new base must not take their place.
TEST(BwTreeSteps, AConsolidationLosesNoChangeThatComesMeanwhile) {
  Alone<Tree<Interrupted>> tree;
  Key next = 1'000'000;
  for (Key key = 0; key < 300; ++key) {
    Between::set(Step::merged, [&] {
      for (int i = 0; i < 3; ++i, ++next) tree.index.insert(next, next, tree.session());
      tree.index.update(key / 2, 7, tree.session());
    });
    tree.insert(key, key);
  }
  Between::set(Step::merged, nullptr);
  EXPECT_GT(next, 1'000'050u);
  for (Key key = 0; key < 300; ++key) EXPECT_TRUE(tree.lookup(key).is_found) << key;
  for (Key key = 1'000'000; key < next; ++key) EXPECT_EQ(tree.lookup(key).value, key);
  EXPECT_EQ(tree.index.check().error, "");
}

TEST(MappingTable, UsesNumbersAgain) {
  using Table = MappingTable<Tree<>::Record>;
  Table table;
  EXPECT_EQ(table.take(), 0u);
  EXPECT_EQ(table.take(), 1u);
  EXPECT_EQ(table.in_use(), 2u);
  table.give_back(1);
  EXPECT_EQ(table.in_use(), 1u);
  EXPECT_EQ(table.take(), 1u);
  EXPECT_EQ(table.load(1), nullptr);
  for (NodeId id = 2; id < 200'000; ++id) ASSERT_EQ(table.take(), id) << "more than a segment";
}

}  // namespace
}  // namespace rubato::apps::ycsb::index::bwtree
