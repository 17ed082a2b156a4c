// Nodes of Masstree (Mao, Kohler, Morris, EuroSys 2012, Sec. 4.2, Fig. 2): border nodes with the entries of a
// layer, and interior nodes above them. Up to 15 entries each, in 5 cache lines that are fetched together
// before the node is looked at (Sec. 4.2): one latency a node.
//
// Differences: the rest of a long key lies with its value (LongKey), not beside the slices, and a link to a
// layer goes by an object that does not move, so that no link is ever stale.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "apps/ycsb/index/masstree/key.hpp"
#include "apps/ycsb/index/masstree/permutation.hpp"
#include "apps/ycsb/index/masstree/version.hpp"
#include "rubato/tracked.hpp"

namespace rubato::apps::ycsb::index::masstree {

template <unsigned width>
struct Interior;

/// Part of both kinds of nodes. The parent's lock protects the link to it; the root of a layer has none.
template <unsigned width>
struct Node {
  explicit Node(bool is_border) : version(is_border) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Version version;
  std::atomic<Interior<width>*> parent{nullptr};
};

/// All lines of a node of either kind.
template <unsigned width>
[[gnu::always_inline]] inline void prefetch(const Node<width>* node);

/// Value and rest of a key whose slice no other long key shares. Immutable but for the value.
struct LongKey {
  LongKey(std::span<const char> more, Value v) : rest(more.begin(), more.end()), value(v) {}
  bool is_rest_of(const BytesKey& key) const {
    const std::span<const char> other = key.bytes().subspan(kSliceBytes);
    return std::equal(rest.begin(), rest.end(), other.begin(), other.end());
  }

  const std::string rest;
  tracked<Value> value;
};

/// A B+-tree of the trie.
template <unsigned width>
struct Layer {
  explicit Layer(Node<width>* node) : root(node) {}
  std::atomic<Node<width>*> root;
};

/// Meaning of the word of an entry.
enum class Content : std::uint8_t { value, long_key, layer };

template <unsigned width>
struct alignas(kLineBytes) Border : Node<width> {
  using Order = Permutation<width>;

  explicit Border(std::uint64_t lowest) : Node<width>(true), low(lowest) {}

  /// Second part of the order, behind the slice: long keys and layers are alike.
  static unsigned length_of(std::uint8_t kind) { return kind < kMore ? kind : kMore; }
  static Content content_of(std::uint8_t kind) {
    return kind < kMore ? Content::value : kind == kMore ? Content::long_key : Content::layer;
  }
  static constexpr std::uint8_t kLayer = kMore + 1;

  Order load_order() const { return Order(order.load(std::memory_order_acquire)); }
  unsigned count() const { return load_order().count(); }
  bool is_before(unsigned slot, std::uint64_t slice, unsigned length) const {
    const std::uint64_t other = slices[slot];
    const unsigned is_smaller = other < slice, is_equal = other == slice,
                   is_shorter = length_of(kinds[slot]) < length;
    return (is_smaller | (is_equal & is_shorter)) != 0;  // no branches: they are unpredictable
  }
  bool is_at(unsigned slot, std::uint64_t slice, unsigned length) const {
    return slices[slot] == slice && length_of(kinds[slot]) == length;
  }
  /// The slot of an entry with the slice, if no two have the same; `width` if there is none. Branch-free:
  /// slots are compared as they lie, and the order tells those in use.
  unsigned slot_of(Order o, std::uint64_t slice) const {
    unsigned equal = 0;
    unrolled<width>([&](unsigned i) { equal |= unsigned{slices[i] == slice} << i; });
    for (; equal != 0; equal &= equal - 1) {
      const auto slot = static_cast<unsigned>(std::countr_zero(equal));
      if (o.uses(slot)) return slot;
    }
    return width;
  }
  /// Position of the first entry that is not before the key. Branch-free halving.
  unsigned lower_bound(Order o, std::uint64_t slice, unsigned length) const {
    unsigned first = 0, n = o.count();
    while (n > 1) {
      const unsigned half = n / 2;
      first = is_before(o.slot(first + half - 1), slice, length) ? first + half : first;
      n -= half;
    }
    return first + unsigned{n == 1 && is_before(o.slot(first), slice, length)};
  }

  // With the lock held:
  void write(unsigned slot, std::uint64_t slice, std::uint8_t kind, std::uint64_t word) {
    slices[slot] = slice;
    kinds[slot] = kind;
    words[slot] = word;
  }
  void store_order(Order o) { order.store(o.word(), std::memory_order_release); }
  /// count() < width. A slot that was in use before may be read by a reader that saw the removed entry.
  void insert(unsigned position, std::uint64_t slice, std::uint8_t kind, std::uint64_t word, bool marks) {
    const Order o = load_order();
    const unsigned slot = o.free_slot();
    if (marks && (used_before >> slot & 1) != 0) this->version.mark_changing();
    write(slot, slice, kind, word);
    store_order(o.with_inserted(position));
  }
  void remove(unsigned position) {
    const Order o = load_order();
    used_before = static_cast<std::uint16_t>(used_before | 1u << o.slot(position));
    store_order(o.with_removed(position));
  }

  std::atomic<std::uint64_t> order{Order::empty().word()};
  tracked<std::uint8_t> kinds[15];  ///< length 0 to 8 of a value's key, kMore, kLayer
  std::uint16_t used_before = 0;    ///< slots whose entry was removed; for the holder of the lock
  tracked<std::uint64_t> slices[width];
  tracked<std::uint64_t> words[width];
  std::atomic<Border*> next{nullptr};  ///< towards larger keys
  const std::uint64_t low;             ///< no slice here is smaller, ever
};

template <unsigned width>
struct alignas(kLineBytes) Interior : Node<width> {
  Interior() : Node<width>(false) {}

  /// Number of separators: one less than children. At most `width`, also for readers that lose.
  unsigned count() const { return separators; }
  Node<width>* child(unsigned i) const { return std::bit_cast<Node<width>*>(children[i].get()); }
  /// The child whose range `slice` lies in. Branch-free halving.
  unsigned child_of(std::uint64_t slice) const {
    unsigned first = 0, n = separators;
    while (n > 1) {
      const unsigned half = n / 2;
      first = slices[first + half - 1] <= slice ? first + half : first;
      n -= half;
    }
    return first + unsigned{n == 1 && slices[first] <= slice};
  }
  /// The position of a child; count() + 1 if it is none.
  unsigned position_of(const Node<width>* node) const {
    const unsigned n = separators;
    unsigned i = 0;
    while (i <= n && child(i) != node) ++i;
    return i;
  }

  // With the lock held. A child's link to its parent changes with it.
  void set_child(unsigned i, Node<width>* node) {
    children[i] = std::bit_cast<std::uint64_t>(node);
    node->parent.store(this, std::memory_order_release);
  }
  /// Behind child `i`. count() < width.
  void insert(unsigned i, std::uint64_t slice, Node<width>* node) {
    const unsigned n = separators;
    for (unsigned j = n; j > i; --j) {
      slices[j] = slices[j - 1];
      children[j + 1] = children[j];
    }
    slices[i] = slice;
    set_child(i + 1, node);
    separators = static_cast<std::uint8_t>(n + 1);
  }
  /// Child `i` + 1 and the separator before it.
  void erase(unsigned i) {
    const unsigned n = separators;
    separators = static_cast<std::uint8_t>(n - 1);
    for (unsigned j = i; j + 1 < n; ++j) {
      slices[j] = slices[j + 1];
      children[j + 1] = children[j + 2];
    }
  }
  /// Takes over the children of its right neighbour, whose range begins at `separator`.
  void absorb(const Interior& right, std::uint64_t separator) {
    insert(separators, separator, right.child(0));
    for (unsigned i = 0; i < right.count(); ++i) insert(separators, right.slices[i], right.child(i + 1));
  }

  tracked<std::uint8_t> separators{std::uint8_t{0}};
  tracked<std::uint64_t> slices[width];
  tracked<std::uint64_t> children[width + 1];
};

static_assert(sizeof(Border<15>) == 5 * kLineBytes && sizeof(Interior<15>) == 5 * kLineBytes);

template <unsigned width>
inline void prefetch(const Node<width>* node) {
  const char* const lines = reinterpret_cast<const char*>(node);
  for (unsigned i = 0; i < sizeof(Border<width>); i += kLineBytes) __builtin_prefetch(lines + i);
}

}  // namespace rubato::apps::ycsb::index::masstree
