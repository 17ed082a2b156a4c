// Search trees of objects: treaps, whose priorities are hashes of the keys, so that a set of keys has one
// shape.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "workloads/midtier/heap.hpp"

namespace rubato::workloads::midtier::tree {

constexpr unsigned kKind = 1;

/// All take a tree's root, null if it is empty; those that change the tree return its new root.
[[nodiscard]] Object* insert(Heap& heap, Object* root, std::uint64_t key, Object* value);  ///< a new key
[[nodiscard]] Object* erase(Object* root, std::uint64_t key);
/// The value, or null.
[[nodiscard]] Object* find(Object* root, std::uint64_t key);
/// The value of the first key that is not below, or null.
[[nodiscard]] Object* first_from(Object* root, std::uint64_t key);

/// Calls `visit(key, value)` in the order of keys.
template <class Visit>
void for_each(Object* root, const Visit& visit);

inline std::uint64_t key_of(const Object* node) { return node->word(0); }
inline Object* left_of(const Object* node) { return node->ref(0); }
inline Object* right_of(const Object* node) { return node->ref(1); }
inline Object* value_of(const Object* node) { return node->ref(2); }

template <class Visit>
void for_each(Object* root, const Visit& visit) {
  if (root == nullptr) return;
  for_each(left_of(root), visit);
  visit(key_of(root), value_of(root));
  for_each(right_of(root), visit);
}

}  // namespace rubato::workloads::midtier::tree
