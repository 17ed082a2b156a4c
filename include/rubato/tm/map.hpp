// An ordered map for transactions: std::map's interface, each function safe inside `__transaction_atomic` of
// GCC's -fgnu-tm and usable outside. Iterators and references stay valid as with std::map, also over swap.
//
// Left out, besides what std::map has of allocators, ranges and constexpr: node handles (extract, merge) and
// comparisons of other types than the key's. begin() takes the logarithm of size(), and hints are not used.
// The functions of the comparison must be inline or `transaction_safe`. Insertions and removals write size(),
// so two of them on one map conflict; look-ups and changes of values do not conflict unless they meet at an
// element.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <initializer_list>

#include "rubato/tm/detail/tree.hpp"
#include "rubato/tm/detail/values_by_key.hpp"

namespace rubato::tm {

/// As std::map.
template <class Key, class T, class Less = std::less<Key>>
class map : public detail::Tree<Key, std::pair<const Key, T>, detail::FirstOf, Less, false>,
            public detail::ValuesByKey<map<Key, T, Less>, Key, T>,
            detail::Compared<map<Key, T, Less>> {
  using Base = detail::Tree<Key, std::pair<const Key, T>, detail::FirstOf, Less, false>;

 public:
  /// As in std::map.
  /**@{*/
  using mapped_type = T;
  using typename Base::const_iterator;
  using typename Base::iterator;
  using typename Base::value_type;

  constexpr map() = default;
  explicit map(const Less& less) : Base(less) {}
  template <class Iterator, class = detail::if_iterator<Iterator>>
  map(Iterator first, Iterator last, const Less& less = Less()) : Base(less) {
    this->insert(std::move(first), std::move(last));
  }
  map(std::initializer_list<value_type> values, const Less& less = Less())
      : map(values.begin(), values.end(), less) {}
  map& operator=(std::initializer_list<value_type> values) {
    map other(values.begin(), values.end(), this->key_comp());
    swap(other);
    return *this;
  }

  void swap(map& other) noexcept { Base::swap(other); }
  friend void swap(map& a, map& b) noexcept { a.swap(b); }
  /**@}*/
 private:
  friend class detail::ValuesByKey<map, Key, T>;
  static constexpr const char* kNoSuchKey = "rubato::tm::map::at: there is no such key";
};

/// As in the standard library.
template <class Key, class T, class Less, class Predicate>
std::size_t erase_if(map<Key, T, Less>& from, Predicate predicate) {
  return detail::erase_if_in(from, predicate);
}

}  // namespace rubato::tm
