// A B+-tree from 64-bit keys to 64-bit values: the index of a table. Nodes are whole cache lines of tracked
// words, so that speculative tasks which touch different nodes never conflict. One task at a time changes a
// tree, or tasks that differ in timestamp do.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "rubato/rubato.hpp"

namespace rubato::apps::silo {

/// Base of types that tasks allocate: blocks of whole lines, which the chip's allocators put on lines of
/// their own.
struct WholeLines {
  static void* operator new(std::size_t bytes) { return ::operator new((bytes + 63) / 64 * 64); }
  static void operator delete(void* block) { ::operator delete(block); }
};

struct Entry {
  std::uint64_t key = 0;
  std::uint64_t value = 0;  ///< 0: there is no such entry
};

class Tree {
 public:
  Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree();

  /// @returns the value, or 0
  std::uint64_t find(std::uint64_t key) const;
  Entry first_at_least(std::uint64_t key) const;
  Entry last_at_most(std::uint64_t key) const;
  /// The key must not be there; the value must not be 0.
  void insert(std::uint64_t key, std::uint64_t value);
  /// @returns the value that the key had, or 0
  std::uint64_t remove(std::uint64_t key);

 private:
  static constexpr std::uint32_t kFanout = 15;  // such that a node is four lines
  struct Node;
  struct Removed {
    std::uint64_t value;
    bool is_empty;  // the node that it was removed from
  };

  static Entry first_in(const Node* node, std::uint64_t key);
  static Entry last_in(const Node* node, std::uint64_t key);
  /// @returns a new node to the right, or null
  static Node* insert_into(Node* node, std::uint64_t key, std::uint64_t value);
  static Removed remove_from(Node* node, std::uint64_t key);
  static void free_all(Node* node);

  alignas(64) tracked<Node*> root_;
};

/// A tree whose values are rows, which it owns.
template <class Row>
class Index {
 public:
  Index() = default;
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;
  ~Index() {
    for_each([](std::uint64_t, Row* row) { delete row; });
  }
  Row* find(std::uint64_t key) const { return row_of(tree_.find(key)); }
  void insert(std::uint64_t key, Row* row) { tree_.insert(key, reinterpret_cast<std::uint64_t>(row)); }
  /// The caller owns the row.
  Row* remove(std::uint64_t key) { return row_of(tree_.remove(key)); }
  Entry first_at_least(std::uint64_t key) const { return tree_.first_at_least(key); }
  Entry last_at_most(std::uint64_t key) const { return tree_.last_at_most(key); }
  static Row* row_of(std::uint64_t value) { return reinterpret_cast<Row*>(value); }
  /// In the order of keys; the next key is sought before the call.
  template <class F>
  void for_each(F f) const {
    for (Entry e = first_at_least(0); e.value != 0;) {
      const Entry next = e.key == ~std::uint64_t{0} ? Entry{} : first_at_least(e.key + 1);
      f(e.key, row_of(e.value));
      e = next;
    }
  }

 private:
  Tree tree_;
};

}  // namespace rubato::apps::silo
