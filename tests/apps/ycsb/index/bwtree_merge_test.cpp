// Merges of the Bw-tree: other operations come between their steps, and each rule is left out once to show
// that the test would notice. Then threads fill and empty ranges of a tree whose steps are perturbed.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <vector>

#include "apps/ycsb/index/bwtree/tree.hpp"
#include "tests/apps/ycsb/index/bwtree_threads.hpp"
#include "tests/apps/ycsb/index/index_types.hpp"
#include "tests/apps/ycsb/index/interrupted_tree.hpp"

namespace rubato::apps::ycsb::index::bwtree {
namespace {

struct WithoutMarks : Interrupted {
  static constexpr bool kMarksTerms = false;
};
struct TellingOfRemovedNodes : Interrupted {
  static constexpr bool kTellsOfNodesInUse = false;
};
struct RecyclingAtOnce : Interrupted {
  static constexpr bool kRecyclesByEpochs = false;
};

constexpr Step kMergeSteps[] = {Step::term_marked, Step::node_removed, Step::node_merged};

/// Lets `action` come between at every step of merges in many places. @returns how many merges there were.
template <class Action>
unsigned at_every_step(Action action) {
  unsigned merges = 0;
  for (const Step step : kMergeSteps) {
    for (Key first = 10; first <= kLast - 100; first += 10) {
      InterruptedTree<Interrupted> merge;
      merge.remove_until(step, first, action);
      merges += merge.has_merged;
      merge.expect_whole("step " + std::to_string(int(step)) + ", keys from " + std::to_string(first));
    }
  }
  return merges;
}

using Merging = InterruptedTree<Interrupted>;

TEST(BwTreeMergeSteps, LookupsAndScansFindWhatIsThere) {
  EXPECT_GT(at_every_step([](Merging& merge) { merge.look_at_all(); }), 100u);
  EXPECT_GT(at_every_step([](Merging& merge) { merge.scan_all(); }), 100u);
}
TEST(BwTreeMergeSteps, InsertionsIntoTheNodesAreKept) {
  EXPECT_GT(at_every_step([](Merging& merge) {
              const Key middle = merge.current;
              for (Key key = middle < 60 ? 1 : middle - 60; key < middle + 60; ++key) {
                if (key % 10 != 0) merge.insert(key);
              }
            }),
            100u);
}
TEST(BwTreeMergeSteps, MergesOfAllOtherNodesAreCarriedOut) {
  EXPECT_GT(at_every_step([](Merging& merge) {
              for (const Key key : merge.keys()) merge.remove(key);
            }),
            100u);
}
TEST(BwTreeMergeSteps, NodesThatAreEmptiedAndFilledAgainKeepTheirKeys) {
  EXPECT_GT(at_every_step([](Merging& merge) {
              const std::vector<Key> keys = merge.keys();
              for (const Key key : keys) merge.remove(key);
              for (const Key key : keys) merge.insert(key);
              for (Key key = 1; key < kLast; key += 10) merge.insert(key);
            }),
            100u);
}

/// @returns whether the tree was as it must be, whatever parts of parents were split while a node was
/// removed.
template <class R>
bool keeps_terms_of_removed_nodes() {
  bool is_right = true;
  for (const bool is_below : {false, true}) {
    for (Key first = 10; first <= kLast - 100 && is_right; first += 10) {
      InterruptedTree<R> merge;
      merge.remove_until(Step::node_removed, first, [is_below](InterruptedTree<R>& m) {
        // Far from the node, so that no operation meets it.
        const Key far_below = m.current - std::min<Key>(m.current, 150);
        const Key from = is_below ? 0 : m.current + 150, to = is_below ? far_below : kLast;
        for (Key key = from + 1; key < to; key += 3) {
          if (!m.expected.contains(key)) m.insert(key);
        }
      });
      is_right = merge.error().empty();
    }
  }
  return is_right;
}
TEST(BwTreeMergeSteps, AParentIsNotSplitAtANodeThatIsRemoved) {
  EXPECT_TRUE(keeps_terms_of_removed_nodes<Interrupted>());
  EXPECT_FALSE(keeps_terms_of_removed_nodes<WithoutMarks>()) << "the mutant was not caught";
}

/// @returns whether the tree was as it must be, though the right half of a split node was removed before its
/// parent was told of it.
template <class R>
bool forgets_halves_that_are_removed() {
  InterruptedTree<R> merge;
  Between::set(Step::split, [&] {
    for (const Key key : merge.keys()) {
      if (key <= kLast / 2) merge.remove(key);  // the others keep the parent's level
    }
  });
  // The smallest keys, which stay in the left half.
  for (merge.current = 9; merge.current != 0 && !Between::has_happened(); --merge.current)
    merge.insert(merge.current);
  EXPECT_TRUE(Between::has_happened());
  return merge.error().empty();
}
TEST(BwTreeMergeSteps, AParentIsNotToldOfANodeThatWasRemoved) {
  EXPECT_TRUE(forgets_halves_that_are_removed<Interrupted>());
  EXPECT_FALSE(forgets_halves_that_are_removed<TellingOfRemovedNodes>()) << "the mutant was not caught";
}

/// @returns whether a key that is always there was found, though the node on the way to it was removed, and
/// other nodes were made.
template <class R>
bool finds_a_key_whose_node_is_removed() {
  bool is_found = true;
  for (Key key = 10; key <= 300 && is_found; key += 10) {
    Filled<Tree<R>> tree;
    Between::set(Step::child_found, [&] {
      for (Key other = 10; other <= 300; other += 10) {
        if (other != key) tree.index.remove(other, tree.session());
      }
      for (Key other = 1000; other < 1500; ++other) tree.index.insert(other, other, tree.session());
    });
    is_found = tree.index.lookup(key, tree.session()).is_found;
    EXPECT_TRUE(Between::has_happened());
  }
  return is_found;
}
TEST(BwTreeMergeSteps, TheNumberOfARemovedNodeIsNotUsedWhileASearchHoldsIt) {
  EXPECT_TRUE(finds_a_key_whose_node_is_removed<Interrupted>());
  EXPECT_FALSE(finds_a_key_whose_node_is_removed<RecyclingAtOnce>()) << "the mutant was not caught";
}

TEST(BwTreeMerging, GivesNodesAndNumbersBack) {
  Tree<SmallBwTree> tree;
  constexpr Key kKeys = 10'000;
  NodeId most = 0;
  for (int round = 0; round < 3; ++round) {
    ThreadEpochs epochs({.members = 1});
    Session session(epochs, 0);
    for (Key key = 0; key < kKeys; ++key) {
      tree.insert(key * 7 % kKeys, key, session);
      session.refresh();
    }
    const TreeShape full = tree.check();
    EXPECT_EQ(full.pairs, kKeys);
    EXPECT_GT(full.nodes, kKeys / 8);
    if (round == 0) most = tree.numbers_in_use();
    EXPECT_LT(tree.numbers_in_use(), most + most / 8) << "numbers are used again";
    for (Key key = 0; key < kKeys; ++key) {
      EXPECT_TRUE(tree.remove(key * 11 % kKeys, session).is_found);
      session.refresh();
    }
    const TreeShape empty = tree.check();
    EXPECT_EQ(empty.error, "");
    EXPECT_EQ(empty.pairs, 0u);
    EXPECT_LT(empty.nodes, full.nodes / 10);
    EXPECT_EQ(empty.levels, 1u);
  }
  EXPECT_EQ(tree.numbers_in_use(), tree.check().nodes) << "no session holds a removed node";
}

TEST(BwTreeMerging, LosesNothingWhileThreadsFillAndEmptyRanges) {
  for (const bool ends_empty : {false, true}) {
    Tree<Perturbed> tree;
    run_owners(tree, 400, ends_empty);
  }
}

}  // namespace
}  // namespace rubato::apps::ycsb::index::bwtree
