// An ordered set for transactions: std::set's interface, each function safe inside `__transaction_atomic` of
// GCC's -fgnu-tm and usable outside. What is left out is the same as in rubato/tm/map.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <initializer_list>

#include "rubato/tm/detail/tree.hpp"

namespace rubato::tm {
namespace detail {

struct ValueItself {
  template <class Value>
  const Value& operator()(const Value& value) const {
    return value;
  }
};

}  // namespace detail

/// As std::set.
template <class Key, class Less = std::less<Key>>
class set : public detail::Tree<Key, Key, detail::ValueItself, Less, true>, detail::Compared<set<Key, Less>> {
  using Base = detail::Tree<Key, Key, detail::ValueItself, Less, true>;

 public:
  /// As in std::set.
  /**@{*/
  constexpr set() = default;
  explicit set(const Less& less) : Base(less) {}
  template <class Iterator, class = detail::if_iterator<Iterator>>
  set(Iterator first, Iterator last, const Less& less = Less()) : Base(less) {
    this->insert(std::move(first), std::move(last));
  }
  set(std::initializer_list<Key> values, const Less& less = Less())
      : set(values.begin(), values.end(), less) {}
  set& operator=(std::initializer_list<Key> values) {
    set other(values.begin(), values.end(), this->key_comp());
    swap(other);
    return *this;
  }
  void swap(set& other) noexcept { Base::swap(other); }
  friend void swap(set& a, set& b) noexcept { a.swap(b); }
  /**@}*/
};

}  // namespace rubato::tm
