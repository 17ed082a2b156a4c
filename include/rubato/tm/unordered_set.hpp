// A hash set for transactions: std::unordered_set's interface, each function safe inside
// `__transaction_atomic` of GCC's -fgnu-tm and usable outside. What is left out is the same as in
// rubato/tm/unordered_map.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "rubato/tm/detail/hash_table.hpp"
#include "rubato/tm/hash.hpp"
#include "rubato/tm/set.hpp"

namespace rubato::tm {

/// As std::unordered_set.
template <class Key, class Hash = hash<Key>, class Equal = std::equal_to<Key>>
class unordered_set : public detail::HashTable<Key, Key, detail::ValueItself, Hash, Equal, true> {
  using Base = detail::HashTable<Key, Key, detail::ValueItself, Hash, Equal, true>;

 public:
  using typename Base::size_type;

  /// As in std::unordered_set.
  /**@{*/

  constexpr unordered_set() = default;
  explicit unordered_set(size_type buckets, const Hash& hash = Hash(), const Equal& equal = Equal())
      : Base(buckets, hash, equal) {}
  template <class Iterator, class = detail::if_iterator<Iterator>>
  unordered_set(Iterator first, Iterator last, size_type buckets = 0, const Hash& hash = Hash(),
                const Equal& equal = Equal())
      : Base(buckets, hash, equal) {
    this->insert(std::move(first), std::move(last));
  }
  unordered_set(std::initializer_list<Key> values, size_type buckets = 0, const Hash& hash = Hash(),
                const Equal& equal = Equal())
      : unordered_set(values.begin(), values.end(), buckets, hash, equal) {}
  unordered_set& operator=(std::initializer_list<Key> values) {
    unordered_set other(values.begin(), values.end(), 0, this->hash_function(), this->key_eq());
    swap(other);
    return *this;
  }
  void swap(unordered_set& other) noexcept { Base::swap(other); }
  friend void swap(unordered_set& a, unordered_set& b) noexcept { a.swap(b); }
  friend bool operator==(const unordered_set& a, const unordered_set& b) {
    return a.equals(b, [](const Key&, const Key&) { return true; });
  }
  friend bool operator!=(const unordered_set& a, const unordered_set& b) { return !(a == b); }
  /**@}*/
};

}  // namespace rubato::tm
