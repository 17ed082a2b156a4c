// A node of the B+-tree with optimistic lock coupling (Leis et al., DaMoN 2016, Sec. 4; IEEE Data Eng. Bull.
// 42(1), 2019): sorted keys, and for each a word, which is the value in a leaf and the child above. The first
// key of a node above the leaves is its lower bound, so that each child has a key and both kinds are alike.
// Beside the publication, all keys are fetched together before a search halves them. A search may interpolate
// instead, as the task tree does, which takes longer here.
// Every mutable field is tracked; all loops are bounded by the capacity, since readers may see half a write.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstring>

#include "apps/ycsb/index/sorted_keys.hpp"
#include "apps/ycsb/index/version_lock.hpp"
#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb::index::olc {

/// @tparam bytes   of the node; with the header of its memory before it, which takes a line, a power of two
/// @tparam window  keys that a search looks at around where it expects the key; 0: it halves
template <unsigned bytes, unsigned window>
class alignas(kLineBytes) Node {
 public:
  static constexpr unsigned kHeaderBytes = 32;
  static constexpr unsigned kCapacity = (bytes - kHeaderBytes) / sizeof(Entry);
  static_assert(kCapacity >= 4, "a node that is split needs two entries a half");

  explicit Node(unsigned level, Key high_key)
      : high_key_(high_key), level_(static_cast<std::uint8_t>(level)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  unsigned level() const { return level_; }
  bool is_leaf() const { return level_ == 0; }
  /// At most kCapacity, also for readers that lose.
  unsigned count() const { return count_; }
  bool is_full() const { return count_ == kCapacity; }
  /// All keys of this node are smaller; kNoKey: no bound.
  Key high_key() const { return high_key_; }
  Key key(unsigned i) const { return keys_[i]; }
  Value value(unsigned i) const { return words_[i]; }
  Node* child(unsigned i) const { return std::bit_cast<Node*>(words_[i].get()); }

  /// The first entry whose key is not less than `key`; count() if there is none.
  unsigned lower_bound(Key key) const {
    return position(0, key, [key](Key k) { return k < key; });
  }
  /// The child whose range `key` lies in.
  unsigned child_of(Key key) const {
    return position(1, key, [key](Key k) { return k <= key; }) - 1;
  }
  bool has(unsigned i, Key key) const { return i < count() && keys_[i] == key; }

  // For writers.
  void set_high_key(Key key) { high_key_ = key; }
  void set_value(unsigned i, Value value) { words_[i] = value; }
  void set_child(unsigned i, Node* child) { words_[i] = std::bit_cast<std::uint64_t>(child); }
  void insert(unsigned i, Key key, std::uint64_t word) {
    const unsigned n = count_;
    move(i, n, *this, i + 1);
    keys_[i] = key;
    words_[i] = word;
    set_count(n + 1);
  }
  void insert(unsigned i, Key key, Node* child) { insert(i, key, std::bit_cast<std::uint64_t>(child)); }
  void erase(unsigned i) {
    const unsigned n = count_;
    move(i + 1, n, *this, i);
    set_count(n - 1);
  }
  /// Moves the upper half to `right`, which is new and empty. @returns the smallest key of `right`.
  Key split(Node& right) {
    const unsigned n = count_, half = n / 2;
    move(half, n, right, 0);
    right.set_count(n - half);
    set_count(half);
    set_high_key(right.key(0));
    return right.key(0);
  }
  /// Takes over all entries of its right neighbour, whose range begins at `separator`.
  void absorb(const Node& right, Key separator) {
    const unsigned n = count_;
    right.move(0, right.count(), *this, n);
    if (!is_leaf()) keys_[n] = separator;
    set_count(n + right.count());
    set_high_key(right.high_key());
  }

  /// The node's first lines, before they are read.
  template <unsigned fetched_bytes>
  [[gnu::always_inline]] void prefetch() const {
    const char* const lines = reinterpret_cast<const char*>(this);
    for (unsigned i = 0; i < fetched_bytes; i += kLineBytes) __builtin_prefetch(lines + i);
  }

  VersionLock lock;

 private:
  void set_count(unsigned count) { count_ = static_cast<std::uint16_t>(count); }

  /// The first entry from `first` on for which is_below(key) is false. The node's first line says where to
  /// look; keys and words are then fetched side by side.
  template <class IsBelow>
  unsigned position(unsigned first, Key key, IsBelow is_below) const {
    const unsigned n = count_;
    if constexpr (window == 0) return halved(keys_, first, n, is_below);
    const unsigned guess = expected_position(keys_, n, keys_[0], high_key_, key);
    prefetch_words(guess);
    return near<window>(keys_, first, n, guess, is_below);
  }
  /// The words that belong to the keys around entry `i`.
  void prefetch_words(unsigned i) const {
    constexpr unsigned kHalf = kLineBytes / sizeof(Key) / 2;
    __builtin_prefetch(&words_[i < kHalf ? 0 : i - kHalf]);
    __builtin_prefetch(&words_[i + kHalf < kCapacity ? i + kHalf : kCapacity - 1]);
  }

  /// Copies entries [first, last) to `to` from its entry `at` on. Words are moved whole, as tracked<T> does
  /// it one by one.
  void move(unsigned first, unsigned last, Node& to, unsigned at) const {
    const auto copy = [&](const tracked<std::uint64_t>* from, tracked<std::uint64_t>* into) {
#if defined(__SANITIZE_THREAD__)
      if (into + at <= from + first) {
        for (unsigned i = first; i < last; ++i) into[at + i - first] = from[i];
      } else {
        for (unsigned i = last; i-- > first;) into[at + i - first] = from[i];
      }
#else
      std::memmove(static_cast<void*>(into + at), static_cast<const void*>(from + first),
                   std::size_t{last - first} * sizeof(std::uint64_t));
#endif
    };
    copy(keys_, to.keys_);
    copy(words_, to.words_);
  }

  tracked<Key> high_key_;
  tracked<std::uint16_t> count_{std::uint16_t{0}};
  tracked<std::uint8_t> level_;
  tracked<Key> keys_[kCapacity];
  tracked<std::uint64_t> words_[kCapacity];
};

}  // namespace rubato::apps::ycsb::index::olc
