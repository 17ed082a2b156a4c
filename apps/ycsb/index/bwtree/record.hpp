// Records of the Bw-tree (Levandoski, Lomet, Sengupta, ICDE 2013, Sec. III; Wang et al., SIGMOD 2018, Sec.
// 3): a node is a base with sorted entries, and a chain of deltas before it. Records never change once they
// are published. A base brings the memory of its deltas (SIGMOD 2018, Sec. 4.1), so that a chain lies
// together and is freed at once.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "apps/ycsb/index/bwtree/mapping_table.hpp"
#include "apps/ycsb/index/sorted_keys.hpp"
#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb::index::bwtree {

enum class RecordKind : std::uint8_t {
  base,
  put,        ///< leaf: `key` has the value `word`
  removal,    ///< leaf: `key` is not there
  separator,  ///< above: keys of [key, bound) are in the child `word`
};

template <unsigned capacity, unsigned deltas>
struct Base;

/// A delta or a base.
template <unsigned capacity, unsigned deltas>
struct Record {
  RecordKind kind = RecordKind::base;
  std::uint8_t level = 0;   ///< 0: leaf
  std::uint16_t depth = 0;  ///< deltas from here to the base
  const Base<capacity, deltas>* base = nullptr;
};

template <unsigned capacity, unsigned deltas>
struct Delta : Record<capacity, deltas> {
  const Record<capacity, deltas>* next = nullptr;  ///< older
  Key key = 0;
  std::uint64_t word = 0;
  Key bound = 0;
};

template <unsigned capacity, unsigned deltas>
struct alignas(kLineBytes) Base : Record<capacity, deltas> {
  Base(unsigned its_level, Key its_low) : low(its_low) {
    this->level = static_cast<std::uint8_t>(its_level);
    this->base = this;
  }

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

  /// Memory of a further delta; null: there is none left, the node is to be consolidated.
  Delta<capacity, deltas>* claim() const {
    if (claimed.load(std::memory_order_relaxed) >= deltas) return nullptr;
    const unsigned i = claimed.fetch_add(1, std::memory_order_relaxed);
    return i < deltas ? &memory[i] : nullptr;
  }

  Key low;                 ///< no key of the node is smaller
  Key high = kNoKey;       ///< all are smaller
  NodeId right = kNoNode;  ///< the next node of the level
  unsigned count = 0;
  mutable std::atomic<unsigned> claimed{0};
  Key keys[capacity];
  std::uint64_t words[capacity];
  mutable Delta<capacity, deltas> memory[deltas];
};

/// Entries of a chain from a key on, in order, as consolidation and scans need them.
template <unsigned capacity, unsigned deltas>
class Merged {
 public:
  Merged(const Record<capacity, deltas>* newest, Key from) {
    using D = Delta<capacity, deltas>;
    std::array<const D*, deltas> changes;
    unsigned n = 0;
    for (const auto* record = newest; record->kind != RecordKind::base;) {
      const D* const delta = static_cast<const D*>(record);
      record = delta->next;
      if (delta->key < from) continue;
      unsigned i = n;  // sorted insertion; of one key only the newest counts
      while (i > 0 && changes[i - 1]->key > delta->key) --i;
      if (i > 0 && changes[i - 1]->key == delta->key) continue;
      std::copy_backward(changes.begin() + i, changes.begin() + n, changes.begin() + n + 1);
      changes[i] = delta;
      ++n;
    }
    const auto& base = *newest->base;
    unsigned next = 0;
    const auto put_until = [&](Key key) {
      for (; next < n && changes[next]->key < key; ++next) put(*changes[next]);
    };
    for (unsigned i = from == 0 ? 0 : base.lower_bound(from); i < base.count; ++i) {
      put_until(base.keys[i]);
      if (next < n && changes[next]->key == base.keys[i]) {
        put(*changes[next++]);
      } else {
        keys[count] = base.keys[i];
        words[count++] = base.words[i];
      }
    }
    put_until(kNoKey);
  }

  unsigned count = 0;
  std::array<Key, capacity + deltas> keys;
  std::array<std::uint64_t, capacity + deltas> words;

 private:
  void put(const Delta<capacity, deltas>& delta) {
    if (delta.kind == RecordKind::removal) return;
    keys[count] = delta.key;
    words[count++] = delta.word;
  }
};

}  // namespace rubato::apps::ycsb::index::bwtree
