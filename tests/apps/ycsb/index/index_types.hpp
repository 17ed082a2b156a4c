// The indexes, as they are and with the smallest nodes, and the hook by which a test lets an operation come
// between two steps of another one.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "apps/ycsb/index/blink_index.hpp"
#include "apps/ycsb/index/bwtree/tree.hpp"
#include "apps/ycsb/index/masstree/tree.hpp"
#include "apps/ycsb/index/olc/tree.hpp"

namespace rubato::apps::ycsb::index {

/// Small nodes, so that few operations make a deep tree: capacity 6.
struct SmallOlc : olc::Rules {
  static constexpr unsigned kNodeBytes = 128;
};

/// Nodes of 4 entries.
struct SmallMasstree : masstree::Rules {
  static constexpr unsigned kWidth = 4;
};

/// Nodes of 8 entries, chains of 4.
struct SmallBwTree : bwtree::Rules {
  static constexpr unsigned kEntries = 8, kLeafChain = 4, kInnerChain = 3;
};

using AllIndexes =
    testing::Types<BlinkIndex<VersionLatch>, olc::Tree<>, olc::Tree<SmallOlc>, masstree::Tree<>,
                   masstree::Tree<SmallMasstree>, bwtree::Tree<>, bwtree::Tree<SmallBwTree>>;
/// Indexes that give nodes back which removals made small.
using IndexesThatMerge =
    testing::Types<olc::Tree<>, olc::Tree<SmallOlc>, masstree::Tree<>, masstree::Tree<SmallMasstree>,
                   bwtree::Tree<>, bwtree::Tree<SmallBwTree>>;

/// Calls what a test has set at a step, once.
template <class Step>
class Interruption {
 public:
  static void set(Step step, std::function<void()> call) {
    step_ = step;
    call_ = std::move(call);
  }
  static void at(Step step) {
    if (call_ && step == step_) std::exchange(call_, nullptr)();
  }
  static bool has_happened() { return !call_; }

 private:
  static inline Step step_{};
  static inline std::function<void()> call_;
};

/// An index with one session.
template <class I>
class Alone {
 public:
  Answer lookup(Key key) { return refreshed(index.lookup(key, session_)); }
  Answer insert(Key key, Value value) { return refreshed(index.insert(key, value, session_)); }
  Answer update(Key key, Value value) { return refreshed(index.update(key, value, session_)); }
  Answer add(Key key, Value value) { return refreshed(index.add(key, value, session_)); }
  Answer remove(Key key) { return refreshed(index.remove(key, session_)); }
  unsigned scan(Key key, unsigned length, ScanBuffer& buffer) {
    return static_cast<unsigned>(refreshed(index.scan(key, length, buffer, session_)).value);
  }
  /// Bytes of nodes that are unlinked and not yet freed.
  std::uint64_t unreclaimed_bytes() const { return epochs_.unreclaimed_bytes(); }
  /// For operations that come between two steps of another one: what they unlink stays.
  Session& session() { return session_; }

  I index;

 private:
  Answer refreshed(Answer answer) {
    session_.refresh();
    return answer;
  }
  ThreadEpochs epochs_{{.members = 1}};
  Session session_{epochs_, 0};
};

/// Keys 10, 20, ... to 300, in several leaves if nodes are small.
template <class I>
struct Filled : Alone<I> {
  Filled() {
    for (Key key = 10; key <= 300; key += 10) this->insert(key, key);
  }
  /// Makes all leaves around `key` split, as another thread would.
  void split_around(Key key) {
    for (Key k = key - 9; k < key + 10; ++k) this->index.insert(k, k, this->session());
  }
};

}  // namespace rubato::apps::ycsb::index
