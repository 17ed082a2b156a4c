// Leaves: a hash table of 15 lines of 4 entries in the node. A search needs one line: the searcher knows it
// from the key alone and can have it fetched before the search begins. Order matters only to scans and
// splits, which sort. Invariant: between the line of a key's hash and the line where it lies, going up and
// around, every line is full; so a search ends at the first line with a free entry.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb::leaf {

inline constexpr unsigned kBuckets = Node::kLines - 1;
inline constexpr unsigned kBucketEntries = Node::kEntriesPerLine;
/// A fuller leaf is split. 90 % of the 60 entries: few searches need a second line.
inline constexpr unsigned kMaxEntries = 54;

struct Pair {
  Key key;
  Value value;
};

/// Pairs of one leaf; in ascending order where it says so.
struct Pairs {
  std::array<Pair, kBuckets * kBucketEntries> pairs;
  unsigned count = 0;
};

/// 0 to kBuckets - 1.
inline unsigned bucket_of(Key key) {
  const std::uint64_t hash = key * 0x9e3779b97f4a7c15u >> 32;
  return static_cast<unsigned>(hash * kBuckets >> 32);
}
/// The line of a leaf that a search for `key` needs.
inline unsigned line_of(Key key) { return 1 + bucket_of(key); }

inline Entry* bucket(Node& node, unsigned b) { return &node.entry(2 + b * kBucketEntries); }
inline const Entry* bucket(const Node& node, unsigned b) { return &node.entry(2 + b * kBucketEntries); }
inline unsigned next_bucket(unsigned b) { return b + 1 == kBuckets ? 0 : b + 1; }

/// A bit for each entry of a bucket that holds `key`.
inline unsigned entries_with(const Entry* entries, Key key) {
  unsigned mask = 0;
  unrolled<kBucketEntries>([&](unsigned i) { mask |= unsigned{entries[i].key == key} << i; });
  return mask;
}

/// The entry of `key`, or null. key <= kLargestKey.
inline const Entry* find(const Node& node, Key key) {
  unsigned b = bucket_of(key);
  for (unsigned probes = 0; probes < kBuckets; ++probes, b = next_bucket(b)) {
    const Entry* const entries = bucket(node, b);
    if (const unsigned found = entries_with(entries, key)) return entries + std::countr_zero(found);
    if (entries_with(entries, kNoKey) != 0) return nullptr;
  }
  return nullptr;
}
inline Entry* find(Node& node, Key key) {
  return const_cast<Entry*>(find(static_cast<const Node&>(node), key));
}

/// Whether `key` may be where right() leads, but not here.
inline bool is_right_of(const Node& node, Key key) { return key >= node.high_key(); }

/// Adds a key that is not there. There must be room: count < kMaxEntries.
inline void add(Node& node, Key key, Value value) {
  unsigned b = bucket_of(key);
  for (unsigned probes = 0; probes < kBuckets; ++probes, b = next_bucket(b)) {
    Entry* const entries = bucket(node, b);
    const unsigned free = entries_with(entries, kNoKey);
    if (free == 0) continue;
    Entry& entry = entries[std::countr_zero(free)];
    entry.value = value;
    entry.key = key;
    node.set_count(node.count() + 1);
    return;
  }
}

/// An entry that may move from the lines after the full line `b` into it: of a key whose search passes `b`.
/// Null if there is none.
inline Entry* find_displaced(Node& node, unsigned b) {
  unsigned from = b;
  for (unsigned distance = 1; distance < kBuckets; ++distance) {
    from = next_bucket(from);
    Entry* const entries = bucket(node, from);
    for (unsigned i = 0; i < kBucketEntries; ++i) {
      const Key key = entries[i].key;
      if (key != kNoKey && (from + kBuckets - bucket_of(key)) % kBuckets >= distance) return entries + i;
    }
    if (entries_with(entries, kNoKey) != 0) return nullptr;
  }
  return nullptr;
}

/// Removes what find() returned.
inline void remove(Node& node, Entry* entry) {
  node.set_count(node.count() - 1);
  for (unsigned moves = 0; moves < kBuckets; ++moves) {
    const unsigned b = static_cast<unsigned>(entry - &node.entry(2)) / kBucketEntries;
    Entry* const displaced = entries_with(bucket(node, b), kNoKey) != 0 ? nullptr : find_displaced(node, b);
    if (displaced == nullptr) break;
    entry->value = displaced->value;
    entry->key = displaced->key;
    entry = displaced;
  }
  entry->key = kNoKey;
}

/// The pairs with keys from `from`, in no order.
inline void collect(const Node& node, Key from, Pairs& result) {
  result.count = 0;
  for (unsigned i = 2; i < Node::kEntries; ++i) {
    const Entry& entry = node.entry(i);
    const Key key = entry.key;
    result.pairs[result.count] = {key, entry.value};
    result.count += unsigned{key >= from} & unsigned{key != kNoKey};
  }
}

inline void sort(Pairs& pairs) {
  std::sort(pairs.pairs.begin(), pairs.pairs.begin() + pairs.count,
            [](const Pair& a, const Pair& b) { return a.key < b.key; });
}

/// Replaces all entries. At most kMaxEntries.
inline void assign(Node& node, std::span<const Pair> pairs) {
  for (unsigned i = 2; i < Node::kEntries; ++i) node.entry(i).key = kNoKey;
  node.set_count(0);
  for (const Pair& pair : pairs) add(node, pair.key, pair.value);
}

/// Moves the upper half of the entries to `right`, a new leaf, and links it. @returns the smallest key of
/// `right`, from now on the high key of `node`. count >= 2.
inline Key split(Node& node, Node& right, Link right_link) {
  Pairs all;
  collect(node, 0, all);
  sort(all);
  const std::span<const Pair> pairs(all.pairs.data(), all.count);
  const unsigned half = all.count / 2;
  const Key separator = pairs[half].key;
  assign(right, pairs.subspan(half));
  right.set_high_key(node.high_key());
  right.set_right(node.right());
  assign(node, pairs.first(half));
  node.set_high_key(separator);
  node.set_right(right_link);
  return separator;
}

}  // namespace rubato::apps::ycsb::leaf
