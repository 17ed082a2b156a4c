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
#include <tuple>

#include "rubato/tm/detail/tree.hpp"

namespace rubato::tm {
namespace detail {

struct FirstOf {
  template <class Pair>
  const auto& operator()(const Pair& pair) const {
    return pair.first;
  }
};

}  // namespace detail

/// As std::map.
template <class Key, class T, class Less = std::less<Key>>
class map : public detail::Tree<Key, std::pair<const Key, T>, detail::FirstOf, Less, false>,
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

  T& at(const Key& key) { return checked(this->find(key)); }
  const T& at(const Key& key) const { return checked(this->find(key)); }
  T& operator[](const Key& key) { return try_emplace(key).first->second; }
  T& operator[](Key&& key) { return try_emplace(std::move(key)).first->second; }

  template <class... Arguments>
  std::pair<iterator, bool> try_emplace(const Key& key, Arguments&&... arguments) {
    return this->insert_new(key, std::piecewise_construct, std::forward_as_tuple(key),
                            std::forward_as_tuple(std::forward<Arguments>(arguments)...));
  }
  template <class... Arguments>
  std::pair<iterator, bool> try_emplace(Key&& key, Arguments&&... arguments) {
    return this->insert_new(key, std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                            std::forward_as_tuple(std::forward<Arguments>(arguments)...));
  }
  template <class Value>
  std::pair<iterator, bool> insert_or_assign(const Key& key, Value&& value) {
    std::pair<iterator, bool> result = try_emplace(key, std::forward<Value>(value));
    if (!result.second) result.first->second = std::forward<Value>(value);
    return result;
  }
  template <class Value>
  std::pair<iterator, bool> insert_or_assign(Key&& key, Value&& value) {
    std::pair<iterator, bool> result = try_emplace(std::move(key), std::forward<Value>(value));
    if (!result.second) result.first->second = std::forward<Value>(value);
    return result;
  }

  void swap(map& other) noexcept { Base::swap(other); }
  friend void swap(map& a, map& b) noexcept { a.swap(b); }
  /**@}*/
 private:
  template <class Iterator>
  auto& checked(const Iterator& found) const {
    if (found == const_iterator(this->end()))
      throw std::out_of_range("rubato::tm::map::at: there is no such key");
    return found->second;
  }
};

/// As in the standard library.
template <class Key, class T, class Less, class Predicate>
std::size_t erase_if(map<Key, T, Less>& from, Predicate predicate) {
  const std::size_t before = from.size();
  for (auto at = from.begin(); at != from.end();) {
    if (predicate(*at)) {
      at = from.erase(at);
    } else {
      ++at;
    }
  }
  return before - from.size();
}

}  // namespace rubato::tm
