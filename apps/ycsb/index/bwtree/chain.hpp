// Reading chains of the Bw-tree: the newest delta that speaks of a key decides, else the base. Behind a merge
// the base is that of the part in which the key lies.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "apps/ycsb/index/bwtree/record.hpp"
#include "apps/ycsb/operation.hpp"

namespace rubato::apps::ycsb::index::bwtree {

/// The types of one tree, and searches in its chains.
template <unsigned capacity, unsigned deltas>
struct Chain {
  using Record = bwtree::Record<capacity, deltas>;
  using Delta = bwtree::Delta<capacity, deltas>;
  using Head = bwtree::Head<capacity, deltas>;
  using Base = bwtree::Base<capacity, deltas>;
  using Merge = bwtree::Merge<capacity, deltas>;
  using Removal = bwtree::Removal<capacity, deltas>;

  /// The entry of a leaf.
  [[gnu::always_inline]] static Answer search(const Record* record, Key key) {
    while (record->kind != RecordKind::base) {
      if (!is_delta(record->kind)) [[unlikely]] {
        record = part_of(record, key);
        continue;
      }
      const Delta& delta = delta_of(record);
      if (delta.key == key) return delta.kind == RecordKind::put ? Answer{delta.word, true} : Answer{};
      record = delta.next;
    }
    const Base& base = base_of(record);
    const unsigned i = base.lower_bound(key);
    return i < base.count && base.keys[i] == key ? Answer{base.words[i], true} : Answer{};
  }
  /// The child whose range the key lies in: deltas have the exact range that they change.
  [[gnu::always_inline]] static NodeId child(const Record* record, Key key) {
    while (record->kind != RecordKind::base) {
      if (!is_delta(record->kind)) [[unlikely]] {
        record = part_of(record, key);
        continue;
      }
      const Delta& delta = delta_of(record);
      if (key >= delta.key && key < delta.bound) return unmarked(delta.word);
      record = delta.next;
    }
    const Base& base = base_of(record);
    return unmarked(base.words[base.child_of(key)]);
  }
  /// The child that begins at `key`, with its mark; none if no child does.
  static std::optional<std::uint64_t> term_at(const Record* record, Key key) {
    while (record->kind != RecordKind::base) {
      if (!is_delta(record->kind)) {
        record = part_of(record, key);
        continue;
      }
      const Delta& delta = delta_of(record);
      if (delta.key == key)
        return delta.kind == RecordKind::separator ? std::optional(delta.word) : std::nullopt;
      record = delta.next;
    }
    const Base& base = base_of(record);
    const unsigned i = base.child_of(key);
    return base.keys[i] == key ? std::optional(base.words[i]) : std::nullopt;
  }
  /// End of the range of the child in whose range `key` lies: the next separator, or the end of the node.
  static Key next_separator(const Record* newest, Key key) {
    for (;;) {
      key = next_key(newest, key, newest->head->high);
      if (key == newest->head->high || term_at(newest, key)) return key;
    }
  }

 private:
  static const Delta& delta_of(const Record* record) { return *static_cast<const Delta*>(record); }
  static const Record* part_of(const Record* record, Key key) {
    return static_cast<const Merge*>(record)->part_of(key);
  }
  static const Base& base_of(const Record* record) { return *static_cast<const Base*>(record); }

  /// The smallest key of a record that is above `key`, at most `next`; perhaps a separator no more.
  static Key next_key(const Record* record, Key key, Key next) {
    for (; is_delta(record->kind); record = delta_of(record).next) {
      const Key other = delta_of(record).key;
      if (other > key && other < next) next = other;
    }
    if (record->kind != RecordKind::base) {
      const Merge& merge = *static_cast<const Merge*>(record);
      next = next_key(merge.upper, key, next);
      return next_key(merge.lower, key, next);
    }
    const Base& base = base_of(record);
    const unsigned i = halved(base.keys, 0, base.count, [key](Key k) { return k <= key; });
    return i < base.count && base.keys[i] < next ? base.keys[i] : next;
  }
};

/// Entries of a chain from a key on, in order, as consolidation and scans need them.
template <unsigned capacity, unsigned deltas>
class Merged {
 public:
  using Types = Chain<capacity, deltas>;
  using Record = typename Types::Record;

  [[gnu::always_inline]] Merged(const Record* newest, Key from) {
    const Record* const head = collect(newest, from);
    if (head->kind == RecordKind::base) [[likely]] {
      const auto& base = *static_cast<const typename Types::Base*>(head);
      const unsigned first = from == 0 ? 0 : base.lower_bound(from);
      change(base.keys + first, base.words + first, base.count - first);
    } else {
      change_parts(*static_cast<const typename Types::Merge*>(head), from);
    }
  }

  /// Position of the first entry whose key is not less.
  unsigned position_of(Key key) const {
    return static_cast<unsigned>(std::lower_bound(keys.begin(), keys.begin() + count, key) - keys.begin());
  }

  /// Two nodes that are merged, with the deltas before the merge and behind it.
  static constexpr unsigned kMost = 2 * capacity + deltas;

  unsigned count = 0;
  std::array<Key, kMost> keys;
  std::array<std::uint64_t, kMost> words;

 private:
  using Delta = typename Types::Delta;

  /// The deltas of the chain in order of keys, of one key only the newest. @returns the chain's head.
  const Record* collect(const Record* record, Key from) {
    for (; is_delta(record->kind);) {
      const Delta* const delta = static_cast<const Delta*>(record);
      record = delta->next;
      if (delta->key < from) continue;
      unsigned i = change_count_;  // sorted insertion
      while (i > 0 && changes_[i - 1]->key > delta->key) --i;
      if (i > 0 && changes_[i - 1]->key == delta->key) continue;
      std::copy_backward(changes_.begin() + i, changes_.begin() + change_count_,
                         changes_.begin() + change_count_ + 1);
      changes_[i] = delta;
      ++change_count_;
    }
    return record;
  }
  /// Takes `n` entries over, as the deltas change them.
  void change(const Key* old_keys, const std::uint64_t* old_words, unsigned n) {
    unsigned next = 0;
    const auto put_until = [&](Key key) {
      for (; next < change_count_ && changes_[next]->key < key; ++next) put(*changes_[next]);
    };
    for (unsigned i = 0; i < n; ++i) {
      put_until(old_keys[i]);
      if (next < change_count_ && changes_[next]->key == old_keys[i]) {
        put(*changes_[next++]);
      } else {
        keys[count] = old_keys[i];
        words[count++] = old_words[i];
      }
    }
    put_until(kNoKey);
  }
  [[gnu::noinline]] void change_parts(const typename Types::Merge& merge, Key from) {
    Merged both(merge.lower, from);
    const Merged upper(merge.upper, from);
    std::copy_n(upper.keys.begin(), upper.count, both.keys.begin() + both.count);
    std::copy_n(upper.words.begin(), upper.count, both.words.begin() + both.count);
    change(both.keys.data(), both.words.data(), both.count + upper.count);
  }
  void put(const Delta& delta) {
    if (delta.kind == RecordKind::removal || delta.kind == RecordKind::term_removal) return;
    keys[count] = delta.key;
    words[count++] = delta.word;
  }

  unsigned change_count_ = 0;
  std::array<const Delta*, deltas> changes_;
};

}  // namespace rubato::apps::ycsb::index::bwtree
