// An ordered map as a red-black tree with parent pointers (Cormen et al., "Introduction to Algorithms",
// chapter 13; null stands for the black leaves). Plain code: in a transaction the compiler's clones of it
// run, so that all functions called in here must be transaction-safe.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::apps::stamp {

template <class Key, class Value>
class RedBlackTree {
 public:
  RedBlackTree() = default;
  RedBlackTree(const RedBlackTree&) = delete;
  RedBlackTree& operator=(const RedBlackTree&) = delete;
  ~RedBlackTree() {
    while (root_ != nullptr) remove(root_->key);
  }

  /// The value of `key`; null if there is none.
  Value* find(const Key& key) {
    Node* const node = node_of(key);
    return node == nullptr ? nullptr : &node->value;
  }
  /// The value of a key that is there. GCC 12 crashes where a transaction may reach find()->x with null: it
  /// makes a trap of that, for which a transaction has no code.
  Value& at(const Key& key) {
    Node* node = root_;
    while (!(key == node->key)) node = node->child[key < node->key ? 0 : 1];
    return node->value;
  }
  bool contains(const Key& key) { return node_of(key) != nullptr; }

  /// @returns false, and changes nothing, if there is one.
  bool insert(const Key& key, const Value& value) {
    Node* parent = nullptr;
    Node** place = &root_;
    while (*place != nullptr) {
      parent = *place;
      if (key == parent->key) return false;
      place = key < parent->key ? &parent->child[0] : &parent->child[1];
    }
    Node* const node = new Node{key, value, parent, {nullptr, nullptr}, true};
    *place = node;
    repair_red(node);
    return true;
  }

  /// @returns false if there is none.
  bool remove(const Key& key) {
    Node* const node = node_of(key);
    if (node == nullptr) return false;
    Node* leaving =
        node;  // the one that leaves its place: the node, or its successor, which takes the node's place
    if (node->child[0] != nullptr && node->child[1] != nullptr) {
      leaving = node->child[1];
      while (leaving->child[0] != nullptr) leaving = leaving->child[0];
    }
    Node* const child = leaving->child[leaving->child[0] == nullptr ? 1 : 0];
    Node* parent = leaving->parent;
    const bool was_black = !leaving->is_red;
    put_in_place_of(leaving, child);
    if (leaving != node) {
      if (parent == node) parent = leaving;
      put_in_place_of(node, leaving);
      leaving->is_red = node->is_red;
      for (int side = 0; side < 2; ++side) {
        leaving->child[side] = node->child[side];
        if (leaving->child[side] != nullptr) leaving->child[side]->parent = leaving;
      }
    }
    if (was_black) repair_black(child, parent);
    delete node;
    return true;
  }

  /// f(key, value), in order of keys.
  template <class F>
  void for_each(const F& f) {
    for (Node* node = lowest(root_); node != nullptr; node = next(node)) f(node->key, node->value);
  }
  /// Whether order, colours and heights are those of a red-black tree.
  bool is_valid() {
    if (root_ != nullptr && (root_->is_red || root_->parent != nullptr)) return false;
    const Node* last = nullptr;
    for (Node* node = lowest(root_); node != nullptr; node = next(node)) {
      if (last != nullptr && !(last->key < node->key)) return false;
      last = node;
    }
    return black_height(root_) >= 0;
  }

 private:
  struct Node {
    Key key;
    Value value;
    Node* parent;
    Node* child[2];
    bool is_red;
  };

  Node* node_of(const Key& key) {
    Node* node = root_;
    while (node != nullptr && !(key == node->key)) node = node->child[key < node->key ? 0 : 1];
    return node;
  }
  static Node* lowest(Node* node) {
    while (node != nullptr && node->child[0] != nullptr) node = node->child[0];
    return node;
  }
  static Node* next(Node* node) {
    if (node->child[1] != nullptr) return lowest(node->child[1]);
    while (node->parent != nullptr && node == node->parent->child[1]) node = node->parent;
    return node->parent;
  }
  /// -1: some way down has another number of black nodes, or a red node has a red child.
  static int black_height(const Node* node) {
    if (node == nullptr) return 0;
    for (const Node* child : node->child) {
      if (child != nullptr && (child->parent != node || (node->is_red && child->is_red))) return -1;
    }
    const int left = black_height(node->child[0]), right = black_height(node->child[1]);
    return left < 0 || left != right ? -1 : left + (node->is_red ? 0 : 1);
  }

  /// Makes the parent of `node` point to `other`, which may be null.
  void put_in_place_of(Node* node, Node* other) {
    Node* const parent = node->parent;
    if (parent == nullptr) {
      root_ = other;
    } else {
      parent->child[parent->child[1] == node ? 1 : 0] = other;
    }
    if (other != nullptr) other->parent = parent;
  }
  /// `node` goes down to `side`, its child of the other side takes its place.
  void rotate(Node* node, int side) {
    Node* const child = node->child[1 - side];
    Node* const middle = child->child[side];
    put_in_place_of(node, child);
    node->child[1 - side] = middle;
    if (middle != nullptr) middle->parent = node;
    child->child[side] = node;
    node->parent = child;
  }

  /// `node` is red, and so may be its parent: nothing else is wrong.
  void repair_red(Node* node) {
    while (node->parent != nullptr && node->parent->is_red) {
      Node* parent = node->parent;
      Node* const grandparent = parent->parent;  // there is one, since the root is black
      const int side = grandparent->child[1] == parent ? 1 : 0;
      Node* const uncle = grandparent->child[1 - side];
      if (uncle != nullptr && uncle->is_red) {
        parent->is_red = uncle->is_red = false;
        grandparent->is_red = true;
        node = grandparent;
        continue;
      }
      if (parent->child[1 - side] == node) {
        rotate(parent, side);
        node = parent;
        parent = node->parent;
      }
      parent->is_red = false;
      grandparent->is_red = true;
      rotate(grandparent, 1 - side);
    }
    if (root_->is_red) root_->is_red = false;
  }

  static bool is_black(const Node* node) { return node == nullptr || !node->is_red; }
  /// The ways down through `node`, a child of `parent` that may be null, have one black node too few.
  void repair_black(Node* node, Node* parent) {
    while (parent != nullptr && is_black(node)) {
      const int side = parent->child[1] == node ? 1 : 0;
      Node* sibling = parent->child[1 - side];  // there is one, with a black node more below it
      if (sibling->is_red) {
        sibling->is_red = false;
        parent->is_red = true;
        rotate(parent, side);
        sibling = parent->child[1 - side];
      }
      if (is_black(sibling->child[0]) && is_black(sibling->child[1])) {
        sibling->is_red = true;
        node = parent;
        parent = node->parent;
        continue;
      }
      if (is_black(sibling->child[1 - side])) {
        sibling->child[side]->is_red = false;
        sibling->is_red = true;
        rotate(sibling, 1 - side);
        sibling = parent->child[1 - side];
      }
      sibling->is_red = parent->is_red;
      parent->is_red = false;
      sibling->child[1 - side]->is_red = false;
      rotate(parent, side);
      return;
    }
    if (node != nullptr && node->is_red) node->is_red = false;
  }

  Node* root_ = nullptr;
};

}  // namespace rubato::apps::stamp
