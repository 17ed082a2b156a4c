// Merges of the Bw-tree: other operations come between their steps, and each rule is left out once to show
// that the test would notice. Then threads fill and empty ranges of a tree whose steps are perturbed.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "apps/ycsb/index/bwtree/tree.hpp"
#include "base/rng.hpp"
#include "tests/apps/ycsb/index/index_types.hpp"

namespace rubato::apps::ycsb::index::bwtree {
namespace {

using Between = Interruption<Step>;

struct Interrupted : SmallBwTree {
  static void at(Step step) { Between::at(step); }
};
struct WithoutMarks : Interrupted {
  static constexpr bool kMarksTerms = false;
};
struct TellingOfRemovedNodes : Interrupted {
  static constexpr bool kTellsOfNodesInUse = false;
};
struct RecyclingAtOnce : Interrupted {
  static constexpr bool kRecyclesByEpochs = false;
};

constexpr Key kLast = 600;

/// A tree of the keys 10, 20, ... kLast, of which one after the other is removed until a merge comes to a
/// step. There other operations come between, which see all keys but the one under way.
template <class R>
class InterruptedMerge {
 public:
  InterruptedMerge() {
    for (Key key = 10; key <= kLast; key += 10) insert(key);
  }
  template <class Action>
  void remove_until(Step step, Key first, Action action) {
    Between::set(step, [this, &action] { action(*this); });
    for (current = first; current <= kLast && !Between::has_happened(); current += 10) {
      expected.erase(current);
      tree.index.remove(current, tree.session());
    }
    current -= 10;
    has_merged = Between::has_happened();
    Between::set(step, nullptr);
  }
  void insert(Key key) {
    EXPECT_FALSE(tree.index.insert(key, key + 1, tree.session()).is_found) << key;
    expected[key] = key + 1;
  }
  void remove(Key key) {
    EXPECT_TRUE(tree.index.remove(key, tree.session()).is_found) << key;
    expected.erase(key);
  }
  /// All keys that are there, but the one under way.
  std::vector<Key> keys() const {
    std::vector<Key> all;
    for (const auto& [key, value] : expected) {
      if (key != current) all.push_back(key);
    }
    return all;
  }
  void look_at_all() {
    for (Key key = 5; key <= kLast + 10; key += 5) {
      if (key == current) continue;
      EXPECT_EQ(tree.index.lookup(key, tree.session()).is_found, expected.contains(key)) << key;
    }
  }
  void scan_all() {
    std::vector<Key> found;
    ScanBuffer buffer;
    for (Key from = 0;;) {
      const Answer answer = tree.index.scan(from, kLongestScan, buffer, tree.session());
      for (unsigned i = 0; i < answer.value; ++i) {
        const Key key = buffer.pairs[i].key;
        if (key != current) found.push_back(key);
      }
      if (answer.value < kLongestScan) break;
      from = Key{buffer.pairs[kLongestScan - 1].key} + 1;
    }
    EXPECT_EQ(found, keys());
  }
  std::string error() const {
    const TreeShape shape = tree.index.check();
    if (!shape.error.empty()) return shape.error;
    std::map<Key, Value> found;
    tree.index.for_each([&](const leaf::Pair& pair) { found[pair.key] = pair.value; });
    return found == expected ? "" : "other pairs than expected";
  }

  Alone<Tree<R>> tree;
  std::map<Key, Value> expected;
  Key current = kNoKey;
  bool has_merged = false;
};

constexpr Step kMergeSteps[] = {Step::term_marked, Step::node_removed, Step::node_merged};

/// Lets `action` come between at every step of merges in many places. @returns how many merges there were.
template <class Action>
unsigned at_every_step(Action action) {
  unsigned merges = 0;
  for (const Step step : kMergeSteps) {
    for (Key first = 10; first <= kLast - 100; first += 10) {
      InterruptedMerge<Interrupted> merge;
      merge.remove_until(step, first, action);
      merges += merge.has_merged;
      EXPECT_EQ(merge.error(), "") << "step " << int(step) << ", keys from " << first;
      merge.current = kNoKey;
      merge.look_at_all();
      merge.scan_all();
    }
  }
  return merges;
}

using Merging = InterruptedMerge<Interrupted>;

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
      InterruptedMerge<R> merge;
      merge.remove_until(Step::node_removed, first, [is_below](InterruptedMerge<R>& m) {
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
  InterruptedMerge<R> merge;
  Between::set(Step::split, [&] {
    for (const Key key : merge.keys()) merge.remove(key);
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
  }
  EXPECT_EQ(tree.numbers_in_use(), tree.check().nodes) << "no session holds a removed node";
}

/// Yields at one step of eight, so that threads come between the steps of others.
struct Perturbed : SmallBwTree {
  static void at(Step) {
    thread_local Rng rng(std::hash<std::thread::id>{}(std::this_thread::get_id()));
    if (rng.below(8) == 0) std::this_thread::yield();
  }
};

/// A thread's own keys among those of all threads, of which it knows exactly which are there.
class Owner {
 public:
  static constexpr unsigned kThreads = 4;
  static constexpr Key kKeys = 400;  // of a thread

  Owner(Tree<Perturbed>& tree, ThreadEpochs& epochs, unsigned thread)
      : tree_(tree), session_(epochs, thread), thread_(thread), rng_(thread + 1), values_(kKeys) {}

  /// Mostly insertions, or mostly removals, in a part of the keys.
  void run_phase(bool fills) {
    const Key first = rng_.below(kKeys / 2), keys = 20 + rng_.below(kKeys / 2 - 20);
    for (int i = 0; i < 600; ++i) {
      const Key number = first + rng_.below(keys);
      const std::uint64_t kind = rng_.below(10);
      if (kind == 0) {
        scan(number);
      } else if (kind == 1) {
        expect(tree_.lookup(key_of(number), session_), number);
      } else if ((kind < 9) == fills) {
        insert(number);
      } else {
        expect(tree_.remove(key_of(number), session_), number);
        values_[number].reset();
      }
      session_.refresh();
    }
  }
  void remove_all() {
    for (Key number = 0; number < kKeys; ++number) {
      expect(tree_.remove(key_of(number), session_), number);
      values_[number].reset();
      session_.refresh();
    }
  }
  unsigned wrong() const { return wrong_; }
  std::uint64_t pairs() const {
    return static_cast<std::uint64_t>(
        std::count_if(values_.begin(), values_.end(), [](auto& v) { return v; }));
  }

 private:
  Key key_of(Key number) const { return number * kThreads + thread_; }
  void expect(const Answer& answer, Key number) {
    const std::optional<Value>& value = values_[number];
    wrong_ += answer.is_found != value.has_value() || (value && answer.value != *value);
  }
  void insert(Key number) {
    const Value value = rng_();
    expect(tree_.insert(key_of(number), value, session_), number);
    if (!values_[number]) values_[number] = value;
  }
  /// Keys ascend, and those of this thread are exactly the ones that are there.
  void scan(Key number) {
    const Answer answer = tree_.scan(key_of(number), kLongestScan, buffer_, session_);
    Key next = key_of(number);
    for (unsigned i = 0; i < answer.value; ++i) {
      const Key key = buffer_.pairs[i].key;
      wrong_ += key < next;
      expect_none_between(next, key);
      next = key + 1;
      if (key % kThreads == thread_) expect({buffer_.pairs[i].value, true}, key / kThreads);
    }
    if (answer.value < kLongestScan) expect_none_between(next, kKeys * kThreads);
  }
  void expect_none_between(Key from, Key to) {
    for (Key key = from; key < to; ++key) wrong_ += key % kThreads == thread_ && values_[key / kThreads];
  }

  Tree<Perturbed>& tree_;
  Session session_;
  const unsigned thread_;
  Rng rng_;
  std::vector<std::optional<Value>> values_;
  ScanBuffer buffer_;
  unsigned wrong_ = 0;
};

TEST(BwTreeMerging, LosesNothingWhileThreadsFillAndEmptyRanges) {
  for (const bool ends_empty : {false, true}) {
    Tree<Perturbed> tree;
    std::array<unsigned, Owner::kThreads> wrong{};
    std::array<std::uint64_t, Owner::kThreads> pairs{};
    {
      ThreadEpochs epochs({.members = Owner::kThreads});
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t < Owner::kThreads; ++t) {
        threads.emplace_back([&, t] {
          Owner owner(tree, epochs, t);
          for (int phase = 0; phase < 20; ++phase) owner.run_phase(phase % 2 == 0);
          if (ends_empty) owner.remove_all();
          wrong[t] = owner.wrong();
          pairs[t] = owner.pairs();
        });
      }
    }
    const TreeShape shape = tree.check();
    EXPECT_EQ(shape.error, "");
    EXPECT_EQ(shape.pairs, pairs[0] + pairs[1] + pairs[2] + pairs[3]);
    EXPECT_EQ(tree.numbers_in_use(), shape.nodes) << "no session holds a removed node";
    EXPECT_EQ(wrong, (std::array<unsigned, Owner::kThreads>{}));
  }
}

}  // namespace
}  // namespace rubato::apps::ycsb::index::bwtree
