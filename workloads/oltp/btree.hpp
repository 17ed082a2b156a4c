// A B+-tree from words to words, for many threads: each node has a latch, a thread holds at most a node and
// its child or right neighbour. Nodes on the way of an insertion are split while they are full, so that none
// goes back up; removal leaves nodes as they are, even empty.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "workloads/common/latch.hpp"

namespace rubato::workloads::oltp {

class BTree {
 public:
  using Entry = std::pair<std::uint64_t, std::uint64_t>;

  BTree();
  BTree(const BTree&) = delete;
  BTree& operator=(const BTree&) = delete;
  ~BTree();

  /// @returns false, without a change, if the key is there already
  bool insert(std::uint64_t key, std::uint64_t value);
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t key) const;
  /// Removes the first entry of keys in [from, to).
  std::optional<Entry> take_first(std::uint64_t from, std::uint64_t to);
  /// Calls `visit(key, value)` for entries of keys in [from, to) in order, until it returns false. The leaf
  /// of the entry is latched meanwhile.
  template <class Visit>
  void scan(std::uint64_t from, std::uint64_t to, const Visit& visit) const {
    Node* leaf = descend(from);
    unsigned at = leaf->lower_bound(from);
    for (;;) {
      for (; at < leaf->count; ++at) {
        if (leaf->keys[at] >= to || !visit(leaf->keys[at], leaf->values[at])) {
          leaf->latch.unlock();
          return;
        }
      }
      leaf = right_of(leaf);
      if (leaf == nullptr) return;
      at = 0;
    }
  }

 private:
  static constexpr unsigned kFanout = 28;
  /// An inner node's child `i` has the keys below keys[i], the last one all others: count + 1 children.
  struct alignas(64) Node {
    Latch latch;
    bool is_leaf = true;
    unsigned count = 0;
    Node* next = nullptr;  // of a leaf
    std::array<std::uint64_t, kFanout> keys;
    union {
      std::array<std::uint64_t, kFanout> values;
      std::array<Node*, kFanout + 1> children;
    };
    Node() : values{} {}
    [[nodiscard]] unsigned lower_bound(std::uint64_t key) const;
    [[nodiscard]] Node* child_for(std::uint64_t key) const;
    void insert_at(unsigned at, std::uint64_t key, std::uint64_t value);
  };
  /// The leaf that has or would have the key, latched.
  Node* descend(std::uint64_t key) const;
  /// The next leaf, latched, instead of this one.
  static Node* right_of(Node* leaf);
  static void split_child(Node& parent, Node& child);
  static void destroy(Node* node);

  Node* root_;  // stays: a full root gets two children and goes on above them
};

}  // namespace rubato::workloads::oltp
