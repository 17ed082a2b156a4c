// Records of the Bw-tree (Levandoski, Lomet, Sengupta, ICDE 2013, Sec. III and IV; Wang et al., SIGMOD 2018,
// Sec. 3): a node is a head, mostly a base with sorted entries, and a chain of deltas before it. Records
// never change once they are published. A head brings the memory of its deltas (SIGMOD 2018, Sec. 4.1), so
// that a chain lies together and is freed at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "apps/ycsb/index/bwtree/mapping_table.hpp"
#include "apps/ycsb/index/sorted_keys.hpp"
#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb::index::bwtree {

enum class RecordKind : std::uint8_t {
  // Heads:
  base,
  merge,         ///< the node's chain so far, and the entries of the removed node on its right
  node_removal,  ///< the node is in use no more: its left neighbour, or the root, has its entries or gets
                 ///< them
  // Deltas:
  put,           ///< leaf: `key` has the value `word`
  removal,       ///< leaf: `key` is not there
  separator,     ///< above: keys of [key, bound) are in the child `word`
  term_removal,  ///< above: `key` separates no more, keys of [key, bound) are in the child `word`
};
constexpr bool is_delta(RecordKind kind) { return kind >= RecordKind::put; }

/// Marks the child of a separator: its removal has been decided, so its parent is not split there.
/// Numbers of nodes are smaller, and the mask that takes it away fits an instruction.
inline constexpr NodeId kMark = NodeId{1} << 30;
constexpr NodeId unmarked(std::uint64_t word) { return word & (kMark - 1); }
constexpr bool is_marked(std::uint64_t word) { return (word & kMark) != 0; }

template <unsigned capacity, unsigned deltas>
struct Head;

/// A delta or a head.
template <unsigned capacity, unsigned deltas>
struct Record {
  RecordKind kind = RecordKind::base;
  std::uint8_t level = 0;   ///< 0: leaf
  std::uint16_t depth = 0;  ///< deltas from here to the base, a merge counts as one
  const Head<capacity, deltas>* head = nullptr;
};

template <unsigned capacity, unsigned deltas>
struct Delta : Record<capacity, deltas> {
  const Record<capacity, deltas>* next = nullptr;  ///< older
  Key key = 0;
  std::uint64_t word = 0;
  Key bound = 0;
};

/// The end of a chain: range of the node, the next node of its level, memory of deltas.
template <unsigned capacity, unsigned deltas>
struct Head : Record<capacity, deltas> {
  Head(RecordKind its_kind, unsigned its_level, Key its_low, Delta<capacity, deltas>* its_memory)
      : low(its_low), memory(its_memory) {
    this->kind = its_kind;
    this->level = static_cast<std::uint8_t>(its_level);
    this->head = this;
  }

  /// Memory of a further delta; null: there is none left, the node is to be consolidated.
  Delta<capacity, deltas>* claim() const {
    if (claimed.load(std::memory_order_relaxed) >= deltas) return nullptr;
    const unsigned i = claimed.fetch_add(1, std::memory_order_relaxed);
    return i < deltas ? &memory[i] : nullptr;
  }

  Key low;                 ///< no key of the node is smaller
  Key high = kNoKey;       ///< all are smaller
  NodeId right = kNoNode;  ///< the next node of the level
  Delta<capacity, deltas>* memory;
  mutable std::atomic<unsigned> claimed{0};
};

template <unsigned capacity, unsigned deltas>
struct alignas(kLineBytes) Base : Head<capacity, deltas> {
  Base(unsigned its_level, Key its_low)
      : Head<capacity, deltas>(RecordKind::base, its_level, its_low, own_memory) {}

  void append(Key key, std::uint64_t word) {
    keys[count] = key;
    words[count++] = word;
  }
  /// The first entry whose key is not less than `key`. Branch-free halving.
  unsigned lower_bound(Key key) const {
    return halved(keys, 0, count, [key](Key k) { return k < key; });
  }
  /// The child whose range `key` lies in, if no delta says otherwise. The first key is not looked at.
  unsigned child_of(Key key) const {
    return halved(keys, 1, count, [key](Key k) { return k <= key; }) - 1;
  }

  /// The root's base waits for the contents of its only child: nothing is put before it.
  void begin_collapse() {
    is_collapsing = true;
    this->claimed.store(deltas, std::memory_order_relaxed);
  }

  unsigned count = 0;
  bool is_collapsing = false;
  Key keys[capacity];
  std::uint64_t words[capacity];
  Delta<capacity, deltas> own_memory[deltas];
};

/// Remove-node delta (ICDE 2013, Sec. IV-C): nothing is put before it. Its range is empty, so that every
/// search that meets the node leaves the usual way. The first node of a level is removed only if it is the
/// last one, too: then it is the root's child, and the root gets its entries. A removal lives as long as the
/// node's number: once it is unlinked from the parent and no thread can hold the number, its destructor gives
/// the number back.
template <unsigned capacity, unsigned deltas>
struct Removal : Head<capacity, deltas> {
  using Table = MappingTable<Record<capacity, deltas>>;

  Removal(Table& its_table, NodeId its_id, const Record<capacity, deltas>* its_contents)
      : Head<capacity, deltas>(RecordKind::node_removal, its_contents->level, its_contents->head->low,
                               nullptr),
        table(its_table),
        id(its_id),
        contents(its_contents) {
    this->high = 0;
  }
  ~Removal() {
    if (is_unlinked) table.give_back(id);
  }
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;

  Table& table;
  NodeId id;
  const Record<capacity, deltas>* contents;  ///< of the node, from now on those of its neighbour or the root
  bool is_unlinked = false;  ///< no parent names the node; set by the thread that has seen to it
};

/// Merge delta (ICDE 2013, Sec. IV-C): extends a node by the entries of its removed right neighbour.
template <unsigned capacity, unsigned deltas>
struct Merge : Head<capacity, deltas> {
  Merge(const Record<capacity, deltas>* its_lower, const Removal<capacity, deltas>& removal)
      : Head<capacity, deltas>(RecordKind::merge, its_lower->level, its_lower->head->low, own_memory),
        lower(its_lower),
        upper(removal.contents),
        separator(removal.low),
        removed(removal.id) {
    this->depth = static_cast<std::uint16_t>(its_lower->depth + 1);
    this->high = upper->head->high;
    this->right = upper->head->right;
  }

  /// The chain that has the entries around `key`.
  const Record<capacity, deltas>* part_of(Key key) const { return key < separator ? lower : upper; }

  const Record<capacity, deltas>* lower;
  const Record<capacity, deltas>* upper;
  Key separator;
  NodeId removed;
  Delta<capacity, deltas> own_memory[deltas];
};

}  // namespace rubato::apps::ycsb::index::bwtree
