// The nodes above the leaves: entries in ascending order, each the lowest key of a child and the link to it;
// free entries hold kNoKey, so that a search needs neither the count nor the node's first line. A searcher
// passes on where in the next node it expects the key, by interpolation between the two keys that bound it.
// This is nearly always right, since the keys of a level's nodes are quantiles of those below; the search
// looks at a window of 8 entries there, and falls back to a binary search.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/ycsb/cursor.hpp"
#include "apps/ycsb/interpolate.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb::inner {

/// Entries of a search window: two lines.
inline constexpr unsigned kWindow = 8;
inline constexpr unsigned kWindowLines = 2;

/// The first entry of the window that begins in `line` (0 to 14).
inline unsigned window_start(unsigned line) { return line == 0 ? 0 : line * Node::kEntriesPerLine - 2; }

/// The line where the window around entry `index` begins.
inline unsigned window_line(unsigned index) {
  const unsigned line = index / Node::kEntriesPerLine;
  return line < Node::kLines - kWindowLines ? line : Node::kLines - kWindowLines;
}

/// The last entry whose key is at most `key`, 0 if there is none: by halving, at most 6 steps.
inline unsigned binary_search(const Node& node, Key key) {
  unsigned first = 0;
  for (unsigned length = Node::kEntries; length > 1;) {
    const unsigned half = length / 2;
    first = node.entry(first + half).key <= key ? first + half : first;
    length -= half;
  }
  return first;
}

/// The same, quick if the answer lies in the window that begins in `line`.
inline unsigned search(const Node& node, Key key, unsigned line) {
  const unsigned start = window_start(line);
  const Entry* const window = &node.entry(start);
  unsigned below = 0;
  unrolled<kWindow>([&](unsigned i) { below += unsigned{window[i].key <= key}; });
  const bool is_inside =
      (below != 0 || start == 0) && (below != kWindow || start + kWindow == Node::kEntries);
  if (!is_inside) [[unlikely]]
    return binary_search(node, key);
  return below == 0 ? 0 : start + below - 1;
}

/// The step to the child that covers `key`, or to the right if it is not in this node's range. The node is of
/// `level` >= 1; `line` as the Hop to this node said.
inline Hop route(const Node& node, unsigned level, Key key, unsigned line) {
  const unsigned i = search(node, key, line);
  Key high = i + 1 < Node::kEntries ? node.entry(i + 1).key.get() : kNoKey;
  if (high == kNoKey) {
    high = node.high_key();
    if (key >= high) [[unlikely]]
      return {node.right(), level, 0};
  }
  const Link child(node.entry(i).value.get());
  const unsigned next_line =
      level == 1 ? leaf::line_of(key)
                 : window_line(interpolate(node.entry(i).key, high, key, child.entries_hint()));
  return {child, level - 1, next_line};
}

/// Adds a child that was split off from the one that covers `low`. There must be room: count < kEntries.
inline void insert(Node& node, Key low, Link child) {
  const unsigned count = node.count();
  unsigned i = count;
  for (; i > 0 && node.entry(i - 1).key > low; --i) {
    node.entry(i).value = node.entry(i - 1).value;
    node.entry(i).key = node.entry(i - 1).key;
  }
  node.entry(i).value = child.word();
  node.entry(i).key = low;
  node.set_count(count + 1);
  if (i == 0) return;
  const Link left(node.entry(i - 1).value.get());  // kept the other half
  node.entry(i - 1).value = left.with_entries_hint(child.entries_hint()).word();
}

/// Notes how full a child is by now. `low` is its lowest key.
inline void refresh(Node& node, Key low, Link child) {
  Entry& entry = node.entry(binary_search(node, low));
  if (Link(entry.value.get()).handle() == child.handle()) entry.value = child.word();
}

inline void remove(Node& node, unsigned i) {
  const unsigned count = node.count();
  for (; i + 1 < count; ++i) {
    node.entry(i).key = node.entry(i + 1).key;
    node.entry(i).value = node.entry(i + 1).value;
  }
  node.entry(count - 1).key = kNoKey;
  node.set_count(count - 1);
}

/// Moves the entries from `first` on behind those of `to`, which have smaller keys. There must be room.
inline void move_entries(Node& from, unsigned first, Node& to) {
  const unsigned count = from.count(), behind = to.count();
  for (unsigned i = first; i < count; ++i) {
    to.entry(behind + i - first).value = from.entry(i).value;
    to.entry(behind + i - first).key = from.entry(i).key;
  }
  for (unsigned i = first; i < count; ++i) from.entry(i).key = kNoKey;
  to.set_count(behind + count - first);
  from.set_count(first);
}

/// Moves the upper half of the entries to `right`, a new node, and links it. @returns its lowest key. count
/// >= 2.
inline Key split(Node& node, Node& right, Link right_link) {
  move_entries(node, node.count() / 2, right);
  const Key separator = right.entry(0).key;
  right.set_high_key(node.high_key());
  right.set_right(node.right());
  node.set_high_key(separator);
  node.set_right(right_link);
  return separator;
}

}  // namespace rubato::apps::ycsb::inner
