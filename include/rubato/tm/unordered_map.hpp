// A hash map for transactions: std::unordered_map's interface, each function safe inside
// `__transaction_atomic` of GCC's -fgnu-tm and usable outside. References stay valid as with
// std::unordered_map.
//
// Left out, besides what std::unordered_map has of allocators, ranges and constexpr: node handles (extract,
// merge), the iterators of single buckets, keys of other types than the map's, and iterators that stay valid
// over swap and move. The hash function is rubato::tm::hash, since that of libstdc++ has no transactional
// form for all types. Hash function and comparison must be inline or `transaction_safe`. Insertions and
// removals write size(), so two of them on one map conflict; look-ups and changes of values do not conflict
// unless they meet at an element or a bucket.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "rubato/tm/detail/hash_table.hpp"
#include "rubato/tm/detail/values_by_key.hpp"
#include "rubato/tm/hash.hpp"

namespace rubato::tm {

/// As std::unordered_map.
template <class Key, class T, class Hash = hash<Key>, class Equal = std::equal_to<Key>>
class unordered_map
    : public detail::HashTable<Key, std::pair<const Key, T>, detail::FirstOf, Hash, Equal, false>,
      public detail::ValuesByKey<unordered_map<Key, T, Hash, Equal>, Key, T> {
  using Base = detail::HashTable<Key, std::pair<const Key, T>, detail::FirstOf, Hash, Equal, false>;

 public:
  /// As in std::unordered_map.
  /**@{*/
  using mapped_type = T;
  using typename Base::const_iterator;
  using typename Base::iterator;
  using typename Base::size_type;
  using typename Base::value_type;

  constexpr unordered_map() = default;
  explicit unordered_map(size_type buckets, const Hash& hash = Hash(), const Equal& equal = Equal())
      : Base(buckets, hash, equal) {}
  template <class Iterator, class = detail::if_iterator<Iterator>>
  unordered_map(Iterator first, Iterator last, size_type buckets = 0, const Hash& hash = Hash(),
                const Equal& equal = Equal())
      : Base(buckets, hash, equal) {
    this->insert(std::move(first), std::move(last));
  }
  unordered_map(std::initializer_list<value_type> values, size_type buckets = 0, const Hash& hash = Hash(),
                const Equal& equal = Equal())
      : unordered_map(values.begin(), values.end(), buckets, hash, equal) {}
  unordered_map& operator=(std::initializer_list<value_type> values) {
    unordered_map other(values.begin(), values.end(), 0, this->hash_function(), this->key_eq());
    swap(other);
    return *this;
  }

  void swap(unordered_map& other) noexcept { Base::swap(other); }
  friend void swap(unordered_map& a, unordered_map& b) noexcept { a.swap(b); }
  friend bool operator==(const unordered_map& a, const unordered_map& b) {
    return a.equals(b, [](const value_type& x, const value_type& y) { return x.second == y.second; });
  }
  friend bool operator!=(const unordered_map& a, const unordered_map& b) { return !(a == b); }
  /**@}*/
 private:
  friend class detail::ValuesByKey<unordered_map, Key, T>;
  static constexpr const char* kNoSuchKey = "rubato::tm::unordered_map::at: there is no such key";
};

/// As in the standard library.
template <class Key, class T, class Hash, class Equal, class Predicate>
std::size_t erase_if(unordered_map<Key, T, Hash, Equal>& from, Predicate predicate) {
  return detail::erase_if_in(from, predicate);
}

}  // namespace rubato::tm
