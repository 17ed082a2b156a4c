// SPDX-License-Identifier: MIT
// The first key of an inner node counts as less than all keys, so it need not change when a first child does.
// Only the root may be empty.
#include "apps/silo/tree.hpp"

namespace rubato::apps::silo {

struct Tree::Node : WholeLines {
  tracked<std::uint32_t> count = 0;
  tracked<bool> is_leaf = true;
  tracked<std::uint64_t> keys[kFanout];    // of an inner node: the least that the child may hold
  tracked<std::uint64_t> values[kFanout];  // of an inner node: its children

  Node* child(std::uint32_t i) const { return reinterpret_cast<Node*>(values[i].get()); }
  /// The first place whose key is not less.
  std::uint32_t lower_bound(std::uint64_t key) const {
    std::uint32_t low = 0, high = count;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (keys[middle] < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  /// The child that holds the key if any does.
  std::uint32_t child_for(std::uint64_t key) const {
    const std::uint32_t place = lower_bound(key);
    if (place < count && keys[place] == key) return place;
    return place == 0 ? 0 : place - 1;
  }
  void put(std::uint32_t place, std::uint64_t key, std::uint64_t value) {
    for (std::uint32_t i = count; i > place; --i) {
      keys[i] = keys[i - 1];
      values[i] = values[i - 1];
    }
    keys[place] = key;
    values[place] = value;
    count += 1;
  }
  void take(std::uint32_t place) {
    count -= 1;
    for (std::uint32_t i = place; i < count; ++i) {
      keys[i] = keys[i + 1];
      values[i] = values[i + 1];
    }
  }
  /// The upper half goes to a new node.
  Node* split() {
    auto* const right = new Node;
    right->is_leaf = is_leaf;
    const std::uint32_t kept = (kFanout + 1) / 2;
    for (std::uint32_t i = kept; i < kFanout; ++i) {
      right->keys[i - kept] = keys[i];
      right->values[i - kept] = values[i];
    }
    right->count = kFanout - kept;
    count = kept;
    return right;
  }
};

Tree::Tree() : root_(new Node) { static_assert(sizeof(Node) > 192 && sizeof(Node) <= 256); }
Tree::~Tree() { free_all(root_); }

void Tree::free_all(Node* node) {
  if (!node->is_leaf) {
    for (std::uint32_t i = 0; i < node->count; ++i) free_all(node->child(i));
  }
  delete node;
}

std::uint64_t Tree::find(std::uint64_t key) const {
  const Node* node = root_;
  while (!node->is_leaf) node = node->child(node->child_for(key));
  const std::uint32_t place = node->lower_bound(key);
  return place < node->count && node->keys[place] == key ? node->values[place].get() : 0;
}

Entry Tree::first_in(const Node* node, std::uint64_t key) {
  if (node->is_leaf) {
    const std::uint32_t place = node->lower_bound(key);
    return place < node->count ? Entry{node->keys[place], node->values[place]} : Entry{};
  }
  for (std::uint32_t i = node->child_for(key); i < node->count; ++i) {
    const Entry found = first_in(node->child(i), key);
    if (found.value != 0) return found;
  }
  return {};
}

Entry Tree::last_in(const Node* node, std::uint64_t key) {
  if (node->is_leaf) {
    const std::uint32_t place = node->lower_bound(key);
    if (place < node->count && node->keys[place] == key) return {key, node->values[place]};
    return place > 0 ? Entry{node->keys[place - 1], node->values[place - 1]} : Entry{};
  }
  for (std::uint32_t i = node->child_for(key) + 1; i > 0; --i) {
    const Entry found = last_in(node->child(i - 1), key);
    if (found.value != 0) return found;
  }
  return {};
}

Entry Tree::first_at_least(std::uint64_t key) const { return first_in(root_, key); }
Entry Tree::last_at_most(std::uint64_t key) const { return last_in(root_, key); }

Tree::Node* Tree::insert_into(Node* node, std::uint64_t key, std::uint64_t value) {
  std::uint32_t place = 0;
  if (node->is_leaf) {
    place = node->lower_bound(key);
  } else {
    const std::uint32_t i = node->child_for(key);
    Node* const right = insert_into(node->child(i), key, value);
    if (right == nullptr) return nullptr;
    place = i + 1;
    key = right->keys[0];
    value = reinterpret_cast<std::uint64_t>(right);
  }
  if (node->count < kFanout) {
    node->put(place, key, value);
    return nullptr;
  }
  Node* const right = node->split();
  if (place <= node->count) {
    node->put(place, key, value);
  } else {
    right->put(place - node->count, key, value);
  }
  return right;
}

void Tree::insert(std::uint64_t key, std::uint64_t value) {
  Node* const left = root_;
  Node* const right = insert_into(left, key, value);
  if (right == nullptr) return;
  auto* const root = new Node;
  root->is_leaf = false;
  root->put(0, 0, reinterpret_cast<std::uint64_t>(left));
  root->put(1, right->keys[0], reinterpret_cast<std::uint64_t>(right));
  root_ = root;
}

Tree::Removed Tree::remove_from(Node* node, std::uint64_t key) {
  std::uint32_t place = 0;
  std::uint64_t value = 0;
  if (node->is_leaf) {
    place = node->lower_bound(key);
    if (place == node->count || node->keys[place] != key) return {0, false};
    value = node->values[place];
  } else {
    place = node->child_for(key);
    Node* const child = node->child(place);
    const Removed removed = remove_from(child, key);
    if (!removed.is_empty) return removed;
    delete child;
    value = removed.value;
  }
  node->take(place);
  return {value, node->count == 0};
}

std::uint64_t Tree::remove(std::uint64_t key) {
  const std::uint64_t value = remove_from(root_, key).value;
  for (Node* root = root_; !root->is_leaf && root->count <= 1; root = root_) {
    root_ = root->count == 1 ? root->child(0) : new Node;
    delete root;
  }
  return value;
}

}  // namespace rubato::apps::silo
