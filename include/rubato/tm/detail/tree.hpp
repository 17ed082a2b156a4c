// The red-black tree of the transactional map and set. An insertion writes the nodes near its place, and
// size().
//
// A sentinel stands for the end: the root is its left child. So the end is the successor of the last node,
// and no function needs a case for the root.
// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include "rubato/tm/detail/memory.hpp"
#include "rubato/tm/detail/node_iterator.hpp"

namespace rubato::tm::detail {

struct TreeLinks {
  TreeLinks* parent;
  TreeLinks* left;
  TreeLinks* right;
  bool is_red;
};

inline TreeLinks* first_below(TreeLinks* at) {
  while (at->left != nullptr) at = at->left;
  return at;
}
inline TreeLinks* successor(TreeLinks* at) {
  if (at->right != nullptr) return first_below(at->right);
  while (at == at->parent->right) at = at->parent;
  return at->parent;
}
inline TreeLinks* predecessor(TreeLinks* at) {
  if (at->left != nullptr) {
    at = at->left;
    while (at->right != nullptr) at = at->right;
    return at;
  }
  while (at == at->parent->left) at = at->parent;
  return at->parent;
}

/// Puts `by` where `at` hangs.
inline void replace_child(TreeLinks* at, TreeLinks* by) {
  (at->parent->left == at ? at->parent->left : at->parent->right) = by;
  if (by != nullptr) by->parent = at->parent;
}
/// The right child comes up, the node goes down to the left.
inline void rotate_left(TreeLinks* at) {
  TreeLinks* const up = at->right;
  replace_child(at, up);
  at->right = up->left;
  if (at->right != nullptr) at->right->parent = at;
  up->left = at;
  at->parent = up;
}
inline void rotate_right(TreeLinks* at) {
  TreeLinks* const up = at->left;
  replace_child(at, up);
  at->left = up->right;
  if (at->left != nullptr) at->left->parent = at;
  up->right = at;
  at->parent = up;
}

/// Hangs a node below `parent`, and restores: no red node has a red parent. The sentinel and the root are
/// black.
inline void link_node(TreeLinks* end, TreeLinks* node, TreeLinks* parent, bool is_left) {
  node->parent = parent;
  node->left = node->right = nullptr;
  node->is_red = true;
  (is_left ? parent->left : parent->right) = node;
  while (node->parent->is_red) {
    TreeLinks* up = node->parent;
    TreeLinks* const top = up->parent;
    TreeLinks* const uncle = top->left == up ? top->right : top->left;
    if (uncle != nullptr && uncle->is_red) {
      up->is_red = uncle->is_red = false;
      top->is_red = true;
      node = top;
      continue;
    }
    if (up == top->left) {
      if (node == up->right) {
        rotate_left(up);
        up = node;
      }
      up->is_red = false;
      top->is_red = true;
      rotate_right(top);
    } else {
      if (node == up->left) {
        rotate_right(up);
        up = node;
      }
      up->is_red = false;
      top->is_red = true;
      rotate_left(top);
    }
    break;
  }
  if (end->left->is_red) end->left->is_red = false;
}

inline bool is_black(const TreeLinks* at) { return at == nullptr || !at->is_red; }

/// Restores equal numbers of black nodes on all ways down: those through `at`, below `parent`, lack one.
inline void add_black(TreeLinks* end, TreeLinks* at, TreeLinks* parent) {
  while (at != end->left && is_black(at)) {
    const bool is_left = at == parent->left;
    TreeLinks* sibling = is_left ? parent->right : parent->left;
    if (sibling->is_red) {
      sibling->is_red = false;
      parent->is_red = true;
      if (is_left) {
        rotate_left(parent);
        sibling = parent->right;
      } else {
        rotate_right(parent);
        sibling = parent->left;
      }
    }
    if (is_black(sibling->left) && is_black(sibling->right)) {
      sibling->is_red = true;
      at = parent;
      parent = at->parent;
      continue;
    }
    if (is_left) {
      if (is_black(sibling->right)) {
        sibling->left->is_red = false;
        sibling->is_red = true;
        rotate_right(sibling);
        sibling = parent->right;
      }
      sibling->right->is_red = false;
      sibling->is_red = parent->is_red;
      parent->is_red = false;
      rotate_left(parent);
    } else {
      if (is_black(sibling->left)) {
        sibling->right->is_red = false;
        sibling->is_red = true;
        rotate_left(sibling);
        sibling = parent->left;
      }
      sibling->left->is_red = false;
      sibling->is_red = parent->is_red;
      parent->is_red = false;
      rotate_right(parent);
    }
    return;
  }
  if (at != nullptr && at->is_red) at->is_red = false;
}

inline void unlink_node(TreeLinks* end, TreeLinks* node) {
  TreeLinks *below, *parent;
  bool was_red = node->is_red;
  if (node->left == nullptr || node->right == nullptr) {
    below = node->left == nullptr ? node->right : node->left;
    parent = node->parent;
    replace_child(node, below);
  } else {  // its successor, which has no left child, takes its place and colour
    TreeLinks* const next = first_below(node->right);
    was_red = next->is_red;
    below = next->right;
    parent = next == node->right ? next : next->parent;
    if (next != node->right) {
      replace_child(next, below);
      next->right = node->right;
      next->right->parent = next;
    }
    next->left = node->left;
    next->left->parent = next;
    next->is_red = node->is_red;
    replace_child(node, next);
  }
  if (!was_red) add_black(end, below, parent);
}

/// The common part of map and set. `KeyOf` is a function object: the key of a value. The mutable iterator of
/// a set is constant.
template <class Key, class Value, class KeyOf, class Less, bool IsSet>
class Tree {
  using Links = TreeLinks;
  using Node = LinkedNode<TreeLinks, Value>;

 public:
  using key_type = Key;
  using value_type = Value;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using key_compare = Less;
  using reference = Value&;
  using const_reference = const Value&;
  using iterator = NodeIterator<TreeLinks, Value, IsSet>;
  using const_iterator = NodeIterator<TreeLinks, Value, true>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  [[gnu::always_inline]] constexpr Tree() : end_{&end_, nullptr, nullptr, false}, less_() {
    make_at_run_time();
  }
  [[gnu::always_inline]] explicit Tree(Less less) : end_{&end_, nullptr, nullptr, false}, less_(less) {}
  [[gnu::always_inline]] Tree(const Tree& other) : Tree(other.self().less_) {
    insert(other.begin(), other.end());
  }
  [[gnu::always_inline]] Tree(Tree&& other) noexcept : Tree(other.self().less_) { take(other); }
  [[gnu::always_inline]] ~Tree() { free_below(end_.left); }
  Tree& operator=(const Tree& other) {
    if (this != &other) {
      Tree copy(other);
      swap(copy);
    }
    return *this;
  }
  Tree& operator=(Tree&& other) noexcept {
    Tree taken(std::move(other));
    swap(taken);
    return *this;
  }

  iterator begin() noexcept { return iterator(first_below(&end_)); }
  const_iterator begin() const noexcept {
    return const_iterator(first_below(const_cast<Links*>(&self().end_)));
  }
  const_iterator cbegin() const noexcept { return begin(); }
  iterator end() noexcept { return iterator(&end_); }
  const_iterator end() const noexcept { return const_iterator(const_cast<Links*>(&self().end_)); }
  const_iterator cend() const noexcept { return end(); }
  reverse_iterator rbegin() noexcept { return reverse_iterator(end()); }
  const_reverse_iterator rbegin() const noexcept { return const_reverse_iterator(end()); }
  reverse_iterator rend() noexcept { return reverse_iterator(begin()); }
  const_reverse_iterator rend() const noexcept { return const_reverse_iterator(begin()); }

  bool empty() const noexcept { return self().end_.left == nullptr; }
  size_type size() const noexcept { return self().size_; }
  static constexpr size_type max_size() noexcept { return kMaxCount<Node> - 1; }
  key_compare key_comp() const { return self().less_; }

  iterator lower_bound(const Key& key) { return iterator(lower(key)); }
  const_iterator lower_bound(const Key& key) const { return const_iterator(lower(key)); }
  iterator upper_bound(const Key& key) { return iterator(upper(key)); }
  const_iterator upper_bound(const Key& key) const { return const_iterator(upper(key)); }
  std::pair<iterator, iterator> equal_range(const Key& key) { return {lower_bound(key), upper_bound(key)}; }
  std::pair<const_iterator, const_iterator> equal_range(const Key& key) const {
    return {lower_bound(key), upper_bound(key)};
  }
  iterator find(const Key& key) { return iterator(found(key)); }
  const_iterator find(const Key& key) const { return const_iterator(found(key)); }
  bool contains(const Key& key) const { return found(key) != &self().end_; }
  size_type count(const Key& key) const { return contains(key) ? 1 : 0; }

  template <class... Arguments>
  std::pair<iterator, bool> emplace(Arguments&&... arguments) {
    MadeNode<Node> made{make_node<Node>(std::forward<Arguments>(arguments)...)};
    const Place place = place_of(key_of(made.node));
    if (place.found != nullptr) return {iterator(place.found), false};
    return {iterator(add(place, made.release())), true};
  }
  template <class... Arguments>
  iterator emplace_hint(const const_iterator&, Arguments&&... arguments) {
    return emplace(std::forward<Arguments>(arguments)...).first;
  }
  /// A node is made only if there is no such key.
  std::pair<iterator, bool> insert(const Value& value) { return insert_new(KeyOf()(value), value); }
  std::pair<iterator, bool> insert(Value&& value) { return insert_new(KeyOf()(value), std::move(value)); }
  iterator insert(const const_iterator&, const Value& value) { return insert(value).first; }
  iterator insert(const const_iterator&, Value&& value) { return insert(std::move(value)).first; }
  template <class Iterator, class = if_iterator<Iterator>>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) emplace(*first);
  }
  void insert(std::initializer_list<Value> values) { insert(values.begin(), values.end()); }

  iterator erase(const const_iterator& position) {
    Links* const node = position.links();
    Links* const next = successor(node);
    remove(node);
    return iterator(next);
  }
  iterator erase(const const_iterator& first, const const_iterator& last) {
    Links* at = first.links();
    while (at != last.links()) {
      Links* const next = successor(at);
      remove(at);
      at = next;
    }
    return iterator(at);
  }
  size_type erase(const Key& key) {
    Links* const node = found(key);
    if (node == &end_) return 0;
    remove(node);
    return 1;
  }
  [[gnu::noinline]] void clear() noexcept {
    free_below(end_.left);
    end_.left = nullptr;
    size_ = 0;
  }

 protected:
  /// The node of a key, or the one that it would hang below.
  struct Place {
    Links* found;
    Links* parent;
    bool is_left;
  };
  /// Makes a value of `arguments` unless the key is there.
  template <class... Arguments>
  std::pair<iterator, bool> insert_new(const Key& key, Arguments&&... arguments) {
    const Place place = place_of(key);
    if (place.found != nullptr) return {iterator(place.found), false};
    return {iterator(add(place, make_node<Node>(std::forward<Arguments>(arguments)...))), true};
  }
  Links* found(const Key& key) const {
    Links* const at = lower(key);
    return at == &self().end_ || self().less_(key, key_of(at)) ? const_cast<Links*>(&self().end_) : at;
  }
  void swap(Tree& other) noexcept {
    Tree held(std::move(other));
    other.take(*this);
    take(held);
    std::swap(less_, other.less_);
  }

 private:
  /// Access for constant functions, too: see detail/memory.hpp.
  Tree& self() const noexcept { return const_cast<Tree&>(*this); }
  static const Key& key_of(const Links* at) { return KeyOf()(static_cast<const Node*>(at)->value); }
  Links* lower(const Key& key) const {
    Links* found = const_cast<Links*>(&self().end_);
    for (Links* at = self().end_.left; at != nullptr;) {
      if (self().less_(key_of(at), key)) {
        at = at->right;
      } else {
        found = at;
        at = at->left;
      }
    }
    return found;
  }
  Links* upper(const Key& key) const {
    Links* found = const_cast<Links*>(&self().end_);
    for (Links* at = self().end_.left; at != nullptr;) {
      if (self().less_(key, key_of(at))) {
        found = at;
        at = at->left;
      } else {
        at = at->right;
      }
    }
    return found;
  }
  Place place_of(const Key& key) {
    Place place{nullptr, &end_, true};
    for (Links* at = end_.left; at != nullptr;) {
      place.parent = at;
      place.is_left = less_(key, key_of(at));
      if (!place.is_left && !less_(key_of(at), key)) {
        place.found = at;
        break;
      }
      at = place.is_left ? at->left : at->right;
    }
    return place;
  }
  Links* add(const Place& place, Node* node) {
    link_node(&end_, node, place.parent, place.is_left);
    ++size_;
    return node;
  }
  void remove(Links* node) {
    unlink_node(&end_, node);
    --size_;
    free_node(static_cast<Node*>(node));
  }
  static void free_below(Links* at) noexcept {
    while (at != nullptr) {
      free_below(at->right);
      Links* const left = at->left;
      free_node(static_cast<Node*>(at));
      at = left;
    }
  }
  /// The nodes of `other`, while this one has none.
  [[gnu::noinline]] void take(Tree& other) noexcept {
    end_.left = other.end_.left;
    if (end_.left != nullptr) end_.left->parent = &end_;
    size_ = other.size_;
    other.end_.left = nullptr;
    other.size_ = 0;
  }

  Links end_;
  size_type size_ = 0;
  Less less_;
};

}  // namespace rubato::tm::detail
