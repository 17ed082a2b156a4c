// Threads that fill and empty ranges of a small Bw-tree whose steps are perturbed.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "apps/ycsb/index/bwtree/tree.hpp"
#include "base/rng.hpp"
#include "tests/apps/ycsb/index/index_types.hpp"

namespace rubato::apps::ycsb::index::bwtree {

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

  /// `keys`: of this thread, at least 42.
  Owner(Tree<Perturbed>& tree, ThreadEpochs& epochs, unsigned thread, Key keys)
      : tree_(tree),
        session_(epochs, thread),
        thread_(thread),
        keys_(keys),
        rng_(thread + 1),
        values_(keys) {}

  /// Mostly insertions, or mostly removals, in a part of the keys.
  void run_phase(bool fills) {
    const Key first = rng_.below(keys_ / 2), keys = 20 + rng_.below(keys_ / 2 - 20);
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
    for (Key number = 0; number < keys_; ++number) {
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
    if (answer.value < kLongestScan) expect_none_between(next, keys_ * kThreads);
  }
  void expect_none_between(Key from, Key to) {
    for (Key key = from; key < to; ++key) wrong_ += key % kThreads == thread_ && values_[key / kThreads];
  }

  Tree<Perturbed>& tree_;
  Session session_;
  const unsigned thread_;
  const Key keys_;
  Rng rng_;
  std::vector<std::optional<Value>> values_;
  ScanBuffer buffer_;
  unsigned wrong_ = 0;
};

/// Each thread has so many keys. All is checked, also that all numbers of removed nodes are given back.
inline void run_owners(Tree<Perturbed>& tree, Key keys, bool ends_empty) {
  std::array<unsigned, Owner::kThreads> wrong{};
  std::array<std::uint64_t, Owner::kThreads> pairs{};
  {
    ThreadEpochs epochs({.members = Owner::kThreads});
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < Owner::kThreads; ++t) {
      threads.emplace_back([&, t] {
        Owner owner(tree, epochs, t, keys);
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

}  // namespace rubato::apps::ycsb::index::bwtree
