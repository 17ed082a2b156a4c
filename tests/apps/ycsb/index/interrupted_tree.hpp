// A small Bw-tree whose removals are interrupted at a step of a merge or of a collapse.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "apps/ycsb/index/bwtree/tree.hpp"
#include "tests/apps/ycsb/index/index_types.hpp"

namespace rubato::apps::ycsb::index::bwtree {

using Between = Interruption<Step>;

struct Interrupted : SmallBwTree {
  static void at(Step step) { Between::at(step); }
};

inline constexpr Key kLast = 600;

/// A tree of the keys 10, 20, ... kLast, of which one after the other is removed until a merge or collapse
/// comes to a step. There other operations come between, which see all keys but the one under way.
template <class R>
class InterruptedTree {
 public:
  InterruptedTree() {
    for (Key key = 10; key <= kLast; key += 10) insert(key);
  }
  /// `occurrence`: of the step, from 1 on.
  template <class Action>
  void remove_until(Step step, Key first, Action action, unsigned occurrence = 1) {
    arm(step, action, occurrence);
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
  /// After an interruption: all keys are seen as they are.
  void expect_whole(const std::string& where) {
    EXPECT_EQ(error(), "") << where;
    current = kNoKey;
    look_at_all();
    scan_all();
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

 private:
  template <class Action>
  void arm(Step step, Action action, unsigned occurrence) {
    Between::set(step, [this, step, action, occurrence] {
      if (occurrence == 1) return action(*this);
      arm(step, action, occurrence - 1);
    });
  }
};

}  // namespace rubato::apps::ycsb::index::bwtree
