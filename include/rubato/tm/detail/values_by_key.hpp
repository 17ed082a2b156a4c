// Access to the values of the transactional map and unordered_map by key, and the removal of elements by a
// condition.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace rubato::tm::detail {

struct FirstOf {
  template <class Pair>
  const auto& operator()(const Pair& pair) const {
    return pair.first;
  }
};

/// The part of a map that its table has not. `Map` has find(), end() and insert_new(), and kNoSuchKey for
/// at().
template <class Map, class Key, class T>
class ValuesByKey {
 public:
  T& at(const Key& key) { return checked(map(), map().find(key)); }
  const T& at(const Key& key) const { return checked(map(), map().find(key)); }
  T& operator[](const Key& key) { return try_emplace(key).first->second; }
  T& operator[](Key&& key) { return try_emplace(std::move(key)).first->second; }

  template <class... Arguments>
  auto try_emplace(const Key& key, Arguments&&... arguments) {
    return map().insert_new(key, std::piecewise_construct, std::forward_as_tuple(key),
                            std::forward_as_tuple(std::forward<Arguments>(arguments)...));
  }
  template <class... Arguments>
  auto try_emplace(Key&& key, Arguments&&... arguments) {
    return map().insert_new(key, std::piecewise_construct, std::forward_as_tuple(std::move(key)),
                            std::forward_as_tuple(std::forward<Arguments>(arguments)...));
  }
  template <class Value>
  auto insert_or_assign(const Key& key, Value&& value) {
    auto result = try_emplace(key, std::forward<Value>(value));
    if (!result.second) result.first->second = std::forward<Value>(value);
    return result;
  }
  template <class Value>
  auto insert_or_assign(Key&& key, Value&& value) {
    auto result = try_emplace(std::move(key), std::forward<Value>(value));
    if (!result.second) result.first->second = std::forward<Value>(value);
    return result;
  }

 private:
  Map& map() { return static_cast<Map&>(*this); }
  const Map& map() const { return static_cast<const Map&>(*this); }
  template <class Iterator>
  static auto& checked(const Map& map, const Iterator& found) {
    if (found == typename Map::const_iterator(map.end())) throw std::out_of_range(Map::kNoSuchKey);
    return found->second;
  }
};

/// Erases the elements of a map for which `predicate` holds. @returns how many.
template <class Map, class Predicate>
std::size_t erase_if_in(Map& from, Predicate& predicate) {
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

}  // namespace rubato::tm::detail
