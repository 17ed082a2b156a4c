// A map as a sorted singly linked list. Plain code: in a transaction the compiler's clones of it run.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::apps::stamp {

template <class Key, class Value>
class List {
 public:
  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    while (first_ != nullptr) {
      Node* const node = first_;
      first_ = node->next;
      delete node;
    }
  }

  /// The value of `key`; null if there is none.
  Value* find(const Key& key) {
    Node* const node = *place_of(key);
    return node != nullptr && node->key == key ? &node->value : nullptr;
  }
  /// @returns false, and changes nothing, if there is one.
  bool insert(const Key& key, const Value& value) {
    Node** const place = place_of(key);
    if (*place != nullptr && (*place)->key == key) return false;
    *place = new Node{key, value, *place};
    ++size_;
    return true;
  }
  /// @returns false if there is none.
  bool remove(const Key& key) {
    Node** const place = place_of(key);
    Node* const node = *place;
    if (node == nullptr || !(node->key == key)) return false;
    *place = node->next;
    --size_;
    delete node;
    return true;
  }
  /// f(key, value), in order of keys.
  template <class F>
  void for_each(const F& f) {
    for (Node* node = first_; node != nullptr; node = node->next) f(node->key, node->value);
  }
  std::uint64_t size() const { return size_; }

 private:
  struct Node {
    Key key;
    Value value;
    Node* next;
  };

  /// The pointer to the first node that is not below `key`.
  Node** place_of(const Key& key) {
    Node** place = &first_;
    while (*place != nullptr && (*place)->key < key) place = &(*place)->next;
    return place;
  }

  Node* first_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace rubato::apps::stamp
