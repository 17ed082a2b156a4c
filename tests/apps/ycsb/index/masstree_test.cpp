// Masstree: its order of entries in a word, byte strings as keys, and its protocol step by step: another
// operation comes between two steps, and each rule is left out once to show that the test would notice.
// SPDX-License-Identifier: MIT
#include "apps/ycsb/index/masstree/tree.hpp"

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "tests/apps/ycsb/index/index_types.hpp"

namespace rubato::apps::ycsb::index::masstree {
namespace {

TEST(Permutation, IsAListOfSlotsAndAListOfFreeOnes) {
  Rng rng(1);
  std::vector<unsigned> expected;
  auto order = Permutation<15>::empty();
  for (int i = 0; i < 10'000; ++i) {
    const bool is_insertion = expected.empty() || (expected.size() < 15 && rng.below(2) == 0);
    if (is_insertion) {
      const auto position = static_cast<unsigned>(rng.below(expected.size() + 1));
      const unsigned slot = order.free_slot();
      ASSERT_EQ(std::count(expected.begin(), expected.end(), slot), 0);
      expected.insert(expected.begin() + position, slot);
      order = order.with_inserted(position);
    } else {
      const auto position = static_cast<unsigned>(rng.below(expected.size()));
      expected.erase(expected.begin() + position);
      order = order.with_removed(position);
    }
    ASSERT_EQ(order.count(), expected.size());
    for (unsigned p = 0; p < expected.size(); ++p) ASSERT_EQ(order.slot(p), expected[p]);
    for (unsigned slot = 0; slot < 15; ++slot)
      ASSERT_EQ(order.uses(slot), std::count(expected.begin(), expected.end(), slot) != 0);
  }
}

TEST(BytesKey, IsComparedLikeItsBytes) {
  const std::string text("\x80\x00\xff", 3);
  EXPECT_EQ(BytesKey(text).slice(), 0x8000ff0000000000u);
  EXPECT_EQ(BytesKey(text).length(), 3u);
  const std::string long_text = "abcdefghi";
  EXPECT_EQ(BytesKey(long_text).slice(), 0x6162636465666768u);
  EXPECT_EQ(BytesKey(long_text).length(), kMore);
  EXPECT_EQ(BytesKey(long_text).rest().bytes().size(), 1u);
}

class StringTest : public testing::Test {
 protected:
  void expect_equal() {
    const TreeShape shape = tree_.check();
    EXPECT_EQ(shape.error, "");
    EXPECT_EQ(shape.pairs, expected_.size());
    EXPECT_EQ(scan("", ~0u),
              (std::vector<std::pair<std::string, Value>>(expected_.begin(), expected_.end())));
  }
  std::vector<std::pair<std::string, Value>> scan(const std::string& from, std::size_t most) {
    std::vector<std::pair<std::string, Value>> found;
    tree_.scan(
        from,
        [&](const std::string& key, Value value) {
          found.emplace_back(key, value);
          return found.size() < most;
        },
        session_);
    return found;
  }
  /// Operations of all kinds on keys that `next` makes.
  template <class Next>
  void run_random(int operations, Next next) {
    Rng rng(2);
    for (int i = 0; i < operations; ++i) {
      const std::string key = next(rng);
      const Value value = rng();
      const auto found = expected_.find(key);
      const Answer was{found == expected_.end() ? 0 : found->second, found != expected_.end()};
      Answer answer = was;
      switch (rng.below(6)) {
        case 0:
          answer = tree_.lookup(key, session_);
          break;
        case 1:
        case 2:
          answer = tree_.insert(key, value, session_);
          expected_.try_emplace(key, value);
          break;
        case 3:
          answer = tree_.update(key, value, session_);
          if (was.is_found) found->second = value;
          break;
        case 4:
          answer = tree_.remove(key, session_);
          expected_.erase(key);
          break;
        default: {
          const auto pairs = scan(key, 5);
          auto expected = expected_.lower_bound(key);
          for (const auto& pair : pairs) {
            ASSERT_NE(expected, expected_.end());
            ASSERT_EQ(pair, (std::pair<std::string, Value>(*expected++)));
          }
          ASSERT_TRUE(pairs.size() == 5 || expected == expected_.end());
        }
      }
      ASSERT_EQ(answer.is_found, was.is_found) << "operation " << i << " on " << key;
      ASSERT_EQ(answer.value, was.value) << "operation " << i << " on " << key;
      session_.refresh();
    }
    expect_equal();
  }

  Tree<> tree_;
  ThreadEpochs epochs_{{.members = 1}};
  Session session_{epochs_, 0};
  std::map<std::string, Value> expected_;
};

TEST_F(StringTest, DoesWhatAMapDoesOnKeysOfFewLettersAndAllLengths) {
  run_random(60'000, [](Rng& rng) {
    std::string key(rng.below(30), 'a');
    for (char& c : key) c = static_cast<char>(rng.below(12) == 0 ? 0 : 'a');
    return key;
  });
}
TEST_F(StringTest, DoesWhatAMapDoesOnKeysWithLongCommonBeginnings) {
  run_random(60'000, [](Rng& rng) {
    return std::string(8 * rng.below(4), 'x') + "user" + std::to_string(rng.below(3000));
  });
}
TEST_F(StringTest, DoesWhatAMapDoesOnBinaryKeys) {
  run_random(60'000, [](Rng& rng) {
    std::string key(1 + rng.below(12), '\0');
    for (char& c : key) c = static_cast<char>(rng.below(3) * 127);
    return key;
  });
}

/// All lengths of one slice, with a layer below: as many as a node must hold together.
TEST_F(StringTest, KeepsAllKeysOfOneSliceInOneNode) {
  for (const char letter : {'m', 'a', 'z', 'q'}) {
    for (std::size_t length = 0; length < 20; ++length) {
      const std::string key = std::string(1, letter) + std::string(length, '\0');
      ASSERT_FALSE(tree_.insert(key, length, session_).is_found);
      expected_[key] = length;
    }
  }
  expect_equal();
}

/// Threads insert, update and remove keys that share layers; each has its own keys, and looks at all of them.
TEST(StringsOnThreads, KeepTheirValuesWhileLayersAreMade) {
  constexpr unsigned kThreads = 4, kKeys = 3000;
  Tree<> tree;
  ThreadEpochs epochs({.members = kThreads});
  const auto key_of = [](unsigned thread, unsigned i) {
    return "common/beginning/" + std::to_string(i % 50) + "/of/many/keys/" + std::to_string(i) + "/" +
           std::to_string(thread);
  };
  std::vector<unsigned> wrong(kThreads);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        Session session(epochs, t);
        for (unsigned i = 0; i < kKeys; ++i) {
          wrong[t] += tree.insert(key_of(t, i), i, session).is_found;
          wrong[t] += !tree.update(key_of(t, i / 2), i, session).is_found;
          const Answer found = tree.lookup(key_of(t, i / 2), session);
          wrong[t] += !found.is_found || found.value != i;
          if (i % 3 == 0) wrong[t] += !tree.remove(key_of(t, i), session).is_found;
          if (i % 3 == 0) wrong[t] += tree.insert(key_of(t, i), i, session).is_found;
          session.refresh();
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<unsigned>(kThreads));
  EXPECT_EQ(tree.check().error, "");
  EXPECT_EQ(tree.check().pairs, std::uint64_t{kThreads} * kKeys);
}

using Between = Interruption<Step>;

struct Interrupted : SmallMasstree {
  static void at(Step step) { Between::at(step); }
};
struct WithoutParent : Interrupted {
  static constexpr bool kValidatesParent = false;
};
struct WithoutBorder : Interrupted {
  static constexpr bool kValidatesBorder = false;
};
struct WithoutUsedSlots : Interrupted {
  static constexpr bool kMarksUsedSlots = false;
};
struct WithoutDivisions : Interrupted {
  static constexpr bool kLooksForDivisions = false;
};

/// @returns whether keys that are always there were found, though their border nodes were split at `step`.
template <class R>
bool finds_keys_that_move(Step step) {
  bool is_found = true;
  for (Key key = 20; key <= 290 && is_found; key += 10) {
    Filled<Tree<R>> tree;
    Between::set(step, [&] { tree.split_around(key); });
    is_found = tree.lookup(key).is_found;
    EXPECT_TRUE(Between::has_happened());
  }
  return is_found;
}
TEST(MasstreeSteps, AKeyThatASplitMovesOnTheWayToItsNodeIsFound) {
  EXPECT_TRUE(finds_keys_that_move<Interrupted>(Step::child_found));
  EXPECT_FALSE(finds_keys_that_move<WithoutParent>(Step::child_found)) << "the mutant was not caught";
}
TEST(MasstreeSteps, AKeyThatASplitMovesOutOfItsNodeIsFound) {
  EXPECT_TRUE(finds_keys_that_move<Interrupted>(Step::order_read));
  EXPECT_FALSE(finds_keys_that_move<WithoutBorder>(Step::order_read)) << "the mutant was not caught";
}

/// @returns whether a key was found as it was, or not at all, though its slot got another entry meanwhile.
template <class R>
bool notices_another_entry_in_the_slot() {
  Alone<Tree<R>> tree;
  for (Key key = 1; key <= 3; ++key) tree.insert(key, key);
  Between::set(Step::order_read, [&] {
    tree.index.remove(3, tree.session());
    tree.index.insert(4, 4, tree.session());  // the slot that was free
    tree.index.insert(5, 5, tree.session());  // the slot of 3
  });
  ScanBuffer buffer;
  const unsigned found = tree.scan(3, 1, buffer);
  EXPECT_TRUE(Between::has_happened());
  return found == 1 && (buffer.pairs[0].key == 3 || buffer.pairs[0].key == 4);
}
TEST(MasstreeSteps, ASlotThatIsUsedAgainIsReadAgain) {
  EXPECT_TRUE(notices_another_entry_in_the_slot<Interrupted>());
  EXPECT_FALSE(notices_another_entry_in_the_slot<WithoutUsedSlots>()) << "the mutant was not caught";
}

/// @returns whether an update reached its key, though its border node was split before it was locked.
template <class R>
bool updates_keys_that_move() {
  bool is_right = true;
  for (Key key = 20; key <= 290 && is_right; key += 10) {
    Filled<Tree<R>> tree;
    Between::set(Step::border_found, [&] { tree.split_around(key); });
    tree.update(key, 7);
    EXPECT_TRUE(Between::has_happened());
    is_right = tree.lookup(key).value == 7;
  }
  return is_right;
}
TEST(MasstreeSteps, AnUpdateOfAKeyThatMovesReachesIt) {
  EXPECT_TRUE(updates_keys_that_move<Interrupted>());
  EXPECT_FALSE(updates_keys_that_move<WithoutDivisions>()) << "the mutant was not caught";
}

/// A merge on the way: the reader is in a node that is removed.
TEST(MasstreeSteps, AKeyInANodeThatIsMergedIsFound) {
  for (const Step step : {Step::child_found, Step::order_read, Step::entry_found}) {
    Filled<Tree<Interrupted>> tree;
    Between::set(step, [&] {
      for (Key key = 10; key <= 300; key += 10) {
        if (key != 150) tree.index.remove(key, tree.session());
      }
    });
    EXPECT_TRUE(tree.lookup(150).is_found);
    EXPECT_TRUE(Between::has_happened());
    EXPECT_EQ(tree.index.check().error, "");
    EXPECT_LE(tree.index.check().nodes, 6u);
  }
}

}  // namespace
}  // namespace rubato::apps::ycsb::index::masstree
