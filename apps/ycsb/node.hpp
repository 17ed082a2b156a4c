// A node of the B-link tree (MxTasking, Sec. 5.1; Lehman and Yao 1981): 1 KB, the same for all levels and all
// variants of the tree. Contents of leaves: leaf.hpp; of the nodes above: inner.hpp. Nothing here
// synchronizes: every mutable field is tracked, so that readers that lose against a writer read stale or
// mixed words but never race. Every loop over a node is bounded by its capacity, so that such readers end.
//
//   link    the word by which nodes name each other: a variant's handle, and how full the node was
//   level   0 leaf, 1 branch (its children are leaves), 2 and more inner
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "rubato/tracked.hpp"

namespace rubato::apps::ycsb {

using Key = std::uint64_t;
using Value = std::uint64_t;

/// Not a key: marks free entries, and is the upper bound of the rightmost node of a level.
inline constexpr Key kNoKey = ~Key{0};
inline constexpr Key kLargestKey = kNoKey - 1;

inline constexpr unsigned kLineBytes = 64;

class Node;

/// 48 bits of address, upper bits as the variant wants them. The lower 6 bits, which are 0 in the address of
/// a node, say how many entries an inner node had when the link was written (at most 62): from this the
/// searcher guesses which lines of the node it will need, without touching the node. Never relied on.
class Link {
 public:
  Link() = default;
  explicit Link(std::uint64_t handle) : word_(handle) {}

  explicit operator bool() const { return word_ != 0; }
  bool operator==(const Link&) const = default;
  Node* node() const { return reinterpret_cast<Node*>(word_ & kAddressMask); }
  /// Handle that the variant made the link from.
  std::uint64_t handle() const { return word_ & ~kEntriesMask; }
  unsigned entries_hint() const { return static_cast<unsigned>(word_ & kEntriesMask); }
  Link with_entries_hint(unsigned entries) const { return Link(handle() | (entries & kEntriesMask)); }
  std::uint64_t word() const { return word_; }

 private:
  static constexpr std::uint64_t kEntriesMask = 63;
  static constexpr std::uint64_t kAddressMask = ((std::uint64_t{1} << 48) - 1) & ~kEntriesMask;
  std::uint64_t word_ = 0;
};

struct Entry {
  tracked<Key> key{kNoKey};
  tracked<std::uint64_t> value{};  ///< leaf: the value; above: Link::word() of the child
};

class alignas(kLineBytes) Node {
 public:
  static constexpr unsigned kEntries = 62;
  static constexpr unsigned kLines = 16;
  static constexpr unsigned kEntriesPerLine = kLineBytes / sizeof(Entry);

  explicit Node(unsigned level) : level_(static_cast<std::uint8_t>(level)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  unsigned level() const { return level_; }
  unsigned count() const { return count_; }
  /// No key of this node or below it is `high_key` or larger; kNoKey: no bound. 0: the node is no longer in
  /// the tree (merge.hpp), right() took its place.
  Key high_key() const { return high_key_; }
  /// The next node of the level; empty exactly if high_key() is kNoKey.
  Link right() const { return Link(right_.get()); }
  /// The root stays the root and stays where it is: when it is full, its entries move into two new nodes.
  bool is_root() const { return is_root_ != 0; }

  // For writers.
  void set_level(unsigned level) { level_ = static_cast<std::uint8_t>(level); }
  void set_count(unsigned count) { count_ = static_cast<std::uint8_t>(count); }
  void set_high_key(Key key) { high_key_ = key; }
  void set_right(Link link) { right_ = link.word(); }
  void set_root() { is_root_ = 1; }

  Entry& entry(unsigned i) { return entries_[i]; }
  const Entry& entry(unsigned i) const { return entries_[i]; }
  /// The line (0 to 15) in which entry i lies: 2 in line 0 behind the fields above, 4 in each other line.
  static constexpr unsigned line_of_entry(unsigned i) { return (i + 2) / kEntriesPerLine; }

 private:
  tracked<std::uint8_t> level_;
  tracked<std::uint8_t> count_{std::uint8_t{0}};
  tracked<std::uint8_t> is_root_{std::uint8_t{0}};
  tracked<Key> high_key_{kNoKey};
  tracked<std::uint64_t> right_{};
  tracked<std::uint64_t> reserved_{};  // so that entry 2 begins line 1
  Entry entries_[kEntries];
};
static_assert(sizeof(Node) == 1024, "nodes of the publication have 1 KB (Sec. 6.1)");

/// f(0), f(1), ... f(count - 1), without a loop: compilers do not unroll those around tracked data.
template <unsigned count, class F>
[[gnu::always_inline]] inline void unrolled(F f) {
  [&]<unsigned... i>(std::integer_sequence<unsigned, i...>) {
    (f(i), ...);
  }(std::make_integer_sequence<unsigned, count>{});
}

}  // namespace rubato::apps::ycsb
