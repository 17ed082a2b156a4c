// A binary search tree that many tasks fill at once, without a lock in its source: each step is a task that
// says which node it touches, and two tasks on one node never run at the same time. Prints "10000 keys, in
// order"; on every engine.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::resource;
using rubato::tracked;

struct Node {
  explicit Node(std::uint64_t k) : key(k) {}
  const std::uint64_t key;
  tracked<resource<Node>> left;
  tracked<resource<Node>> right;
};

void insert(resource<Node> node, std::uint64_t key) {
  if (key == node->key) return;
  tracked<resource<Node>>& child = key < node->key ? node->left : node->right;
  if (const resource<Node> next = child) {
    rubato::create<rubato::nonspec>(insert, {.on = next}, next, key);
  } else {
    child = rubato::make_resource<Node>({}, key);
  }
}

struct Walk {
  std::uint64_t keys = 0;
  std::uint64_t previous = 0;
  bool is_ordered = true;

  void visit_and_remove(resource<Node> node) {
    if (!node) return;
    visit_and_remove(node->left);
    is_ordered = is_ordered && (keys == 0 || previous < node->key);
    previous = node->key;
    ++keys;
    visit_and_remove(node->right);
    rubato::remove(node);
  }
};

int main() {
  constexpr std::uint64_t kKeys = 10'000;
  const auto scrambled = [](std::uint64_t i) {
    return (i * 7'919 + 5'000) % kKeys;
  };  // each number below kKeys once
  const auto root = rubato::make_resource<Node>({}, scrambled(0));
  for (std::uint64_t i = 1; i < kKeys; ++i) {
    rubato::create<rubato::nonspec>(insert, {.on = root}, root, scrambled(i));
  }
  rubato::run();

  Walk walk;
  walk.visit_and_remove(root);
  std::printf("%llu keys, %s\n", static_cast<unsigned long long>(walk.keys),
              walk.is_ordered ? "in order" : "disordered");
  return walk.keys == kKeys && walk.is_ordered ? 0 : 1;
}
