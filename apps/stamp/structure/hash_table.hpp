// A map as a table of sorted lists, whose number does not change. Plain code: in a transaction the compiler's
// clones of it run.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "apps/stamp/structure/list.hpp"

namespace rubato::apps::stamp {

/// `Hash` is a type with a static function of(key).
template <class Key, class Value, class Hash>
class HashTable {
 public:
  /// At least `buckets`.
  explicit HashTable(std::uint64_t buckets)
      : mask_(std::bit_ceil(buckets) - 1), buckets_(new List<Key, Value>[mask_ + 1]) {}

  Value* find(const Key& key) { return bucket_of(key).find(key); }
  bool insert(const Key& key, const Value& value) { return bucket_of(key).insert(key, value); }
  bool remove(const Key& key) { return bucket_of(key).remove(key); }

  std::uint64_t buckets() const { return mask_ + 1; }
  List<Key, Value>& bucket(std::uint64_t i) { return buckets_[i]; }

 private:
  List<Key, Value>& bucket_of(const Key& key) { return buckets_.get()[Hash::of(key) & mask_]; }

  std::uint64_t mask_;
  std::unique_ptr<List<Key, Value>[]> buckets_;
};

}  // namespace rubato::apps::stamp
