// SPDX-License-Identifier: MIT
#include "workloads/oltp/btree.hpp"

#include <algorithm>

namespace rubato::workloads::oltp {

BTree::BTree() : root_(new Node) {}
BTree::~BTree() { destroy(root_); }

void BTree::destroy(Node* node) {
  if (!node->is_leaf)
    for (unsigned i = 0; i <= node->count; ++i) destroy(node->children[i]);
  delete node;
}

unsigned BTree::Node::lower_bound(std::uint64_t key) const {
  return static_cast<unsigned>(std::lower_bound(keys.begin(), keys.begin() + count, key) - keys.begin());
}

BTree::Node* BTree::Node::child_for(std::uint64_t key) const {
  return children[static_cast<std::size_t>(std::upper_bound(keys.begin(), keys.begin() + count, key) -
                                           keys.begin())];
}

void BTree::Node::insert_at(unsigned at, std::uint64_t key, std::uint64_t value) {
  std::copy_backward(keys.begin() + at, keys.begin() + count, keys.begin() + count + 1);
  std::copy_backward(values.begin() + at, values.begin() + count, values.begin() + count + 1);
  keys[at] = key;
  values[at] = value;
  ++count;
}

BTree::Node* BTree::descend(std::uint64_t key) const {
  Node* node = root_;
  node->latch.lock();
  while (!node->is_leaf) {
    Node* child = node->child_for(key);
    child->latch.lock();
    node->latch.unlock();
    node = child;
  }
  return node;
}

BTree::Node* BTree::right_of(Node* leaf) {
  Node* next = leaf->next;
  if (next != nullptr) next->latch.lock();
  leaf->latch.unlock();
  return next;
}

void BTree::split_child(Node& parent, Node& child) {
  Node* right = new Node;
  constexpr unsigned kHalf = kFanout / 2;
  std::uint64_t middle = child.keys[kHalf];
  right->is_leaf = child.is_leaf;
  if (child.is_leaf) {
    right->count = child.count - kHalf;
    std::copy(child.keys.begin() + kHalf, child.keys.begin() + child.count, right->keys.begin());
    std::copy(child.values.begin() + kHalf, child.values.begin() + child.count, right->values.begin());
    right->next = child.next;
    child.next = right;
  } else {
    right->count = child.count - kHalf - 1;
    std::copy(child.keys.begin() + kHalf + 1, child.keys.begin() + child.count, right->keys.begin());
    std::copy(child.children.begin() + kHalf + 1, child.children.begin() + child.count + 1,
              right->children.begin());
  }
  child.count = kHalf;
  const auto at = static_cast<unsigned>(
      std::upper_bound(parent.keys.begin(), parent.keys.begin() + parent.count, middle) -
      parent.keys.begin());
  std::copy_backward(parent.keys.begin() + at, parent.keys.begin() + parent.count,
                     parent.keys.begin() + parent.count + 1);
  std::copy_backward(parent.children.begin() + at + 1, parent.children.begin() + parent.count + 1,
                     parent.children.begin() + parent.count + 2);
  parent.keys[at] = middle;
  parent.children[at + 1] = right;
  ++parent.count;
}

bool BTree::insert(std::uint64_t key, std::uint64_t value) {
  Node* node = root_;
  node->latch.lock();
  if (node->count == kFanout) {  // what it has goes to a new child, which is then split
    Node* child = new Node;
    child->is_leaf = node->is_leaf;
    child->count = node->count;
    child->keys = node->keys;
    if (node->is_leaf)
      child->values = node->values;
    else
      child->children = node->children;
    node->is_leaf = false;
    node->count = 0;
    node->children[0] = child;
    split_child(*node, *child);
  }
  while (!node->is_leaf) {
    Node* child = node->child_for(key);
    child->latch.lock();
    if (child->count == kFanout) {
      split_child(*node, *child);
      Node* right = node->child_for(key);
      if (right != child) {
        right->latch.lock();
        child->latch.unlock();
        child = right;
      }
    }
    node->latch.unlock();
    node = child;
  }
  const unsigned at = node->lower_bound(key);
  const bool is_new = at == node->count || node->keys[at] != key;
  if (is_new) node->insert_at(at, key, value);
  node->latch.unlock();
  return is_new;
}

std::optional<std::uint64_t> BTree::find(std::uint64_t key) const {
  std::optional<std::uint64_t> found;
  scan(key, key + 1, [&](std::uint64_t, std::uint64_t value) {
    found = value;
    return false;
  });
  return found;
}

std::optional<BTree::Entry> BTree::take_first(std::uint64_t from, std::uint64_t to) {
  Node* leaf = descend(from);
  unsigned at = leaf->lower_bound(from);
  while (at == leaf->count) {
    leaf = right_of(leaf);
    if (leaf == nullptr) return std::nullopt;
    at = 0;
  }
  std::optional<Entry> taken;
  if (leaf->keys[at] < to) {
    taken = Entry{leaf->keys[at], leaf->values[at]};
    std::copy(leaf->keys.begin() + at + 1, leaf->keys.begin() + leaf->count, leaf->keys.begin() + at);
    std::copy(leaf->values.begin() + at + 1, leaf->values.begin() + leaf->count, leaf->values.begin() + at);
    --leaf->count;
  }
  leaf->latch.unlock();
  return taken;
}

}  // namespace rubato::workloads::oltp
