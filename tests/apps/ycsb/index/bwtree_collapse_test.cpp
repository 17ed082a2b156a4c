// Collapses of the Bw-tree's root: the tree loses the levels that it does not need. Other operations come
// between the steps, and each rule is left out once to show that the test would notice. Then threads fill and
// empty a tree of few levels.
// SPDX-License-Identifier: MIT
#include <string>
#include <vector>

#include "apps/ycsb/index/bwtree/tree.hpp"
#include "tests/apps/ycsb/index/bwtree_threads.hpp"
#include "tests/apps/ycsb/index/index_types.hpp"
#include "tests/apps/ycsb/index/interrupted_tree.hpp"

namespace rubato::apps::ycsb::index::bwtree {
namespace {

struct OfHalfALevel : Interrupted {
  static constexpr bool kCollapsesWholeLevels = false;
};
struct WithoutASecondLook : Interrupted {
  static constexpr bool kLooksAtRootAgain = false;
};

/// Fills a tree with the keys 0, 1, ..., and removes them in the order of `stride`. @returns its shape.
template <class R>
TreeShape emptied(Key keys, Key stride, unsigned& levels_before) {
  Alone<Tree<R>> tree;
  for (Key key = 0; key < keys; ++key) tree.insert(key, key);
  levels_before = tree.index.check().levels;
  for (Key i = 0; i < keys; ++i) EXPECT_TRUE(tree.remove(i * stride % keys).is_found);
  return tree.index.check();
}
TEST(BwTreeCollapse, ATreeThatIsEmptiedIsALeaf) {
  for (const Key stride :
       {Key{1}, Key{4999}, Key{11}, Key{1237}}) {  // 4999: from the largest to the smallest
    unsigned levels = 0;
    const TreeShape shape = emptied<SmallBwTree>(5000, stride, levels);
    EXPECT_GT(levels, 4u);
    EXPECT_EQ(shape.error, "");
    EXPECT_EQ(shape.levels, 1u) << "stride " << stride;
    EXPECT_EQ(shape.nodes, 1u) << "stride " << stride;
  }
}
TEST(BwTreeCollapse, ATreeOfUsualNodesIsALeafInTheEnd) {
  unsigned levels = 0;
  const TreeShape shape = emptied<Rules>(20'000, 1237, levels);
  EXPECT_EQ(levels, 3u);
  EXPECT_EQ(shape.error, "");
  EXPECT_EQ(shape.levels, 1u);
}

TEST(BwTreeCollapse, ATreeThatIsFilledAgainIsAsHighAsBefore) {
  Alone<Tree<SmallBwTree>> tree;
  constexpr Key kKeys = 2048;
  unsigned before = 0;
  for (int round = 0; round < 3; ++round) {
    for (Key key = 0; key < kKeys; ++key) tree.insert(key, key);
    const unsigned full = tree.index.check().levels;
    if (round == 0) before = full;
    EXPECT_EQ(full, before);
    for (Key i = 0; i < kKeys; ++i) tree.remove(i * 5 % kKeys);
    EXPECT_EQ(tree.index.check().levels, 1u);
  }
  EXPECT_GT(before, 3u);
}

/// A root with a full child keeps it, since it would soon be split again.
TEST(BwTreeCollapse, OfAFullChildWaitsUntilThereIsRoom) {
  Alone<Tree<SmallBwTree>> tree;
  for (Key key = 0; tree.index.check().levels == 1; ++key) tree.insert(key * 10, key);
  tree.insert(1, 1);  // the left leaf has more than half
  ASSERT_EQ(tree.index.check().nodes, 3u);
  Key largest = 0;
  const auto remove_largest = [&] {
    tree.index.for_each([&](const leaf::Pair& pair) { largest = pair.key; });
    EXPECT_TRUE(tree.remove(largest).is_found);
  };
  while (tree.index.check().nodes == 3) remove_largest();
  EXPECT_EQ(tree.index.check().levels, 2u);
  const std::uint64_t pairs = tree.index.check().pairs;
  EXPECT_GT(pairs, 4u);
  while (tree.index.check().levels == 2) remove_largest();
  EXPECT_EQ(tree.index.check().nodes, 1u);
  EXPECT_EQ(tree.index.check().error, "");
  EXPECT_EQ(tree.lookup(0).is_found, tree.index.check().pairs > 0);
}

constexpr Step kCollapseSteps[] = {Step::root_waits, Step::child_removed};

using Collapsing = InterruptedTree<Interrupted>;

/// Lets `action` come between at each step of the first, second and third collapse of trees with some further
/// keys. @returns how many of the steps there were.
template <class Action>
unsigned at_every_collapse(Action action) {
  unsigned steps = 0;
  for (const Step step : kCollapseSteps) {
    for (unsigned occurrence = 1; occurrence <= 3; ++occurrence) {
      for (Key further = 0; further < kLast; further += 30) {
        Collapsing tree;
        if (further != 0) tree.insert(further + 5);
        tree.remove_until(step, 10, action, occurrence);
        steps += tree.has_merged;
        tree.expect_whole("step " + std::to_string(int(step)) + ", " + std::to_string(occurrence) + ", key " +
                          std::to_string(further + 5));
      }
    }
  }
  return steps;
}

TEST(BwTreeCollapseSteps, LookupsAndScansFindWhatIsThere) {
  EXPECT_GE(at_every_collapse([](Collapsing& tree) { tree.look_at_all(); }), 40u);
  EXPECT_GE(at_every_collapse([](Collapsing& tree) { tree.scan_all(); }), 40u);
}
TEST(BwTreeCollapseSteps, InsertionsThatSplitTheChildAreKept) {
  for (const unsigned keys : {1, 5, 20, 150}) {
    EXPECT_GE(at_every_collapse([keys](Collapsing& tree) {
                for (unsigned i = 0; i < keys; ++i) tree.insert((i * 7 % kLast) * 10 + 1);
              }),
              40u);
  }
}
TEST(BwTreeCollapseSteps, RemovalsOfAllOtherKeysAreCarriedOut) {
  EXPECT_GE(at_every_collapse([](Collapsing& tree) {
              for (const Key key : tree.keys()) tree.remove(key);
            }),
            40u);
}
TEST(BwTreeCollapseSteps, ATreeThatGrowsAndShrinksMeanwhileKeepsItsKeys) {
  EXPECT_GE(at_every_collapse([](Collapsing& tree) {
              for (int round = 0; round < 2; ++round) {
                const std::vector<Key> keys = tree.keys();
                for (Key key = 1; key < kLast; key += 10) tree.insert(key);
                for (const Key key : keys) tree.remove(key);
                for (const Key key : keys) tree.insert(key);
                for (Key key = 1; key < kLast; key += 10) tree.remove(key);
              }
            }),
            40u);
}

/// Removes keys until the root has leaves below it, and then until it waits for the last leaf: `action` comes
/// between. @returns whether the tree is as it must be.
template <class R, class Action>
bool is_right_after_collapse_of_leaves(Action action) {
  InterruptedTree<R> tree;
  while (tree.tree.index.check().levels > 2) tree.remove(tree.keys().back());
  tree.remove_until(Step::root_waits, 10, action);
  EXPECT_TRUE(tree.has_merged);
  return tree.error().empty();
}

/// @returns whether all keys were there, though the child was split while the root waited for it.
template <class R>
bool keeps_both_halves_of_a_child() {
  return is_right_after_collapse_of_leaves<R>([](InterruptedTree<R>& t) {
    for (Key key = kLast + 1; key < kLast + 100; ++key) t.insert(key);
  });
}
TEST(BwTreeCollapseSteps, AChildThatWasSplitIsNotTaken) {
  EXPECT_TRUE(keeps_both_halves_of_a_child<Interrupted>());
  EXPECT_FALSE(keeps_both_halves_of_a_child<OfHalfALevel>()) << "the mutant was not caught";
}

/// @returns whether the tree was as it must be, though the child was split, so that the root did not wait any
/// more, and was merged again to one that is too full to be taken.
template <class R>
bool leaves_a_child_whose_root_does_not_wait() {
  return is_right_after_collapse_of_leaves<R>([](InterruptedTree<R>& t) {
    const auto nodes = [&t] { return t.tree.index.check().nodes; };
    Key next = 2 * kLast;
    while (nodes() == 2) t.insert(--next);
    t.insert(--next);  // the left half has more than half of a node
    ASSERT_EQ(nodes(), 3u);
    while (nodes() == 3) t.remove(t.keys().back());
    EXPECT_EQ(t.tree.index.check().levels, 2u) << "the child is full";
  });
}
TEST(BwTreeCollapseSteps, AChildIsNotTakenForARootThatDoesNotWait) {
  EXPECT_TRUE(leaves_a_child_whose_root_does_not_wait<Interrupted>());
  EXPECT_FALSE(leaves_a_child_whose_root_does_not_wait<WithoutASecondLook>()) << "the mutant was not caught";
}

TEST(BwTreeCollapse, LosesNothingWhileThreadsFillAndEmptyATreeOfFewLevels) {
  for (int run = 0; run < 10; ++run) {
    Tree<Perturbed> tree;
    constexpr Key kKeys = 48;
    run_owners(tree, kKeys, true);
    // A thread whose change came too late has left nodes as they were.
    ThreadEpochs epochs({.members = 1});
    Session session(epochs, 0);
    for (Key key = 0; key < kKeys * Owner::kThreads; ++key) {
      EXPECT_FALSE(tree.insert(key, key, session).is_found);
      EXPECT_TRUE(tree.remove(key, session).is_found);
      session.refresh();
    }
    EXPECT_EQ(tree.check().error, "");
    EXPECT_EQ(tree.check().levels, 1u);
  }
}

}  // namespace
}  // namespace rubato::apps::ycsb::index::bwtree
