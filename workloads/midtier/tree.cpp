// SPDX-License-Identifier: MIT
#include "workloads/midtier/tree.hpp"

#include <utility>

#include "base/rng.hpp"

namespace rubato::workloads::midtier::tree {
namespace {

bool is_above(const Object* a, const Object* b) { return mix64(key_of(a)) > mix64(key_of(b)); }

Object* merged(Object* low, Object* high) {
  if (low == nullptr) return high;
  if (high == nullptr) return low;
  if (is_above(low, high)) {
    low->set_ref(1, merged(right_of(low), high));
    return low;
  }
  high->set_ref(0, merged(low, left_of(high)));
  return high;
}

/// Keys below `key`, and the others.
std::pair<Object*, Object*> split(Object* root, std::uint64_t key) {
  if (root == nullptr) return {nullptr, nullptr};
  if (key_of(root) < key) {
    const auto [low, high] = split(right_of(root), key);
    root->set_ref(1, low);
    return {root, high};
  }
  const auto [low, high] = split(left_of(root), key);
  root->set_ref(0, high);
  return {low, root};
}

Object* insert_node(Object* root, Object* node) {
  if (root == nullptr) return node;
  if (is_above(node, root)) {
    const auto [low, high] = split(root, key_of(node));
    node->set_ref(0, low);
    node->set_ref(1, high);
    return node;
  }
  const unsigned side = key_of(node) < key_of(root) ? 0 : 1;
  root->set_ref(side, insert_node(root->ref(side), node));
  return root;
}

}  // namespace

Object* insert(Heap& heap, Object* root, std::uint64_t key, Object* value) {
  Object* node = heap.make(kKind, 3, 1);
  node->word(0) = key;
  node->set_ref(2, value);
  return insert_node(root, node);
}

Object* erase(Object* root, std::uint64_t key) {
  if (root == nullptr) return nullptr;
  if (key_of(root) == key) return merged(left_of(root), right_of(root));
  const unsigned side = key < key_of(root) ? 0 : 1;
  root->set_ref(side, erase(root->ref(side), key));
  return root;
}

Object* find(Object* root, std::uint64_t key) {
  while (root != nullptr && key_of(root) != key) root = key < key_of(root) ? left_of(root) : right_of(root);
  return root == nullptr ? nullptr : value_of(root);
}

Object* first_from(Object* root, std::uint64_t key) {
  Object* best = nullptr;
  while (root != nullptr) {
    if (key_of(root) >= key) best = root;
    root = key_of(root) >= key ? left_of(root) : right_of(root);
  }
  return best == nullptr ? nullptr : value_of(best);
}

}  // namespace rubato::workloads::midtier::tree
