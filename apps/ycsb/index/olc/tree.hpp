// B+-tree with optimistic lock coupling (BtreeOLC: Leis et al., DaMoN 2016, Sec. 4; IEEE Data Eng. Bull.
// 42(1), 2019). A reader validates a node's version after it has read the child's; a writer upgrades the
// version of the leaf to a lock. On its way down an insertion splits full nodes, so that a split never
// climbs.
//
// Beside the publication: a removal merges nodes that have become small, and nodes are freed by epochs. A
// scan continues at the leaf's high key, from the root.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string>

#include "apps/ycsb/index/olc/node.hpp"
#include "apps/ycsb/index/session.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/operation.hpp"
#include "apps/ycsb/tree.hpp"

namespace rubato::apps::ycsb::index::olc {

/// Places at which a test may let another operation come between.
enum class Step : std::uint8_t {
  child_found,  ///< the link to the child is valid, its version not yet read
  entry_found,  ///< the position in the leaf was found, the entry not yet read
  leaf_chosen,  ///< the leaf to write was read, not yet locked
};

/// The rules of the protocol, and the size of nodes. Tests derive from it to build mutants, which they must
/// catch.
struct Rules {
  static constexpr unsigned kNodeBytes = 960;  ///< with its header a block of 1 KB. Row: bench/native_indexes
  static constexpr unsigned kWindow = 0;       ///< keys that a search looks at; 0: it halves
  static constexpr unsigned kFetchedBytes = 512;  ///< of a child, as soon as its link is known: all keys
  static constexpr bool kValidatesParent = true;
  static constexpr bool kValidatesAnswer = true;
  static constexpr bool kLocksWhatItRead = true;
  static void at(Step) {}
};

template <class R = Rules>
class Tree {
 public:
  using Node = olc::Node<R::kNodeBytes, R::kWindow>;

  Tree() : root_(make_node<Node>(0u, kNoKey)) {}
  ~Tree() { free_below(root_.load(std::memory_order_relaxed)); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Answer lookup(Key key, Session&) {
    for (Backoff wait;; wait()) {
      Path path;
      if (!descend(key, path)) continue;
      const unsigned i = path.node->lower_bound(key);
      R::at(Step::entry_found);
      const Answer answer = answer_at(*path.node, i, key);
      if (!R::kValidatesAnswer || path.node->lock.is_still(path.version)) return answer;
    }
  }
  Answer insert(Key key, Value value, Session&) {
    for (Backoff wait;; wait()) {
      Path path;
      if (!descend_with_room(key, path)) continue;
      const unsigned i = path.node->lower_bound(key);
      const Answer answer = answer_at(*path.node, i, key);
      if (answer.is_found) {
        if (path.node->lock.is_still(path.version)) return answer;
        continue;
      }
      if (!lock(path)) continue;
      path.node->insert(i, key, value);
      path.node->lock.unlock();
      return {};
    }
  }
  Answer update(Key key, Value value, Session&) {
    return change(key, [value](Node& leaf, unsigned i) { leaf.set_value(i, value); });
  }
  Answer add(Key key, Value value, Session&) {
    return change(key, [value](Node& leaf, unsigned i) { leaf.set_value(i, leaf.value(i) + value); });
  }
  Answer remove(Key key, Session& session) {
    bool is_small = false;
    const Answer answer = change(key, [&](Node& leaf, unsigned i) {
      leaf.erase(i);
      is_small = leaf.count() < kSmall && leaf.count() % kSmallStep == 0;
    });
    if (is_small) {
      for (Backoff wait; merge_small(key, session);) wait();
    }
    return answer;
  }
  Answer scan(Key key, unsigned length, ScanBuffer& buffer, Session&) {
    unsigned taken = 0;
    for (Backoff wait; taken < length && key != kNoKey;) {
      Path path;
      if (!descend(key, path)) {
        wait();
        continue;
      }
      const Node& leaf = *path.node;
      unsigned end = taken;
      const unsigned first = leaf.lower_bound(key);
      R::at(Step::entry_found);
      for (unsigned i = first; i < leaf.count() && end < length; ++i, ++end) {
        buffer.pairs[end].key = leaf.key(i);
        buffer.pairs[end].value = leaf.value(i);
      }
      const Key high_key = leaf.high_key();
      if (R::kValidatesAnswer && !leaf.lock.is_still(path.version)) continue;
      taken = end;
      key = high_key;
    }
    return {taken, taken != 0};
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    visit_below(*root_.load(std::memory_order_relaxed), visit);
  }
  /// Walks all nodes: levels fall by one, keys ascend within their node's range, high keys are those of the
  /// parent.
  TreeShape check() const {
    TreeShape shape;
    const Node& root = *root_.load(std::memory_order_relaxed);
    shape.levels = root.level() + 1;
    check_below(root, 0, kNoKey, shape);
    return shape;
  }

 private:
  using Version = VersionLock::Version;
  /// A leaf with fewer entries is merged with a neighbour if both then leave room for a quarter.
  static constexpr unsigned kSmall = Node::kCapacity < 8 ? 2 : Node::kCapacity / 4;
  static constexpr unsigned kMerged = Node::kCapacity * 3 / 4;
  /// How often a removal from a small leaf tries to merge it: at every so many entries, and when it is empty.
  static constexpr unsigned kSmallStep = kSmall < 8 ? 1 : kSmall / 8;

  /// A node on the way down, with its parent, and the versions that were read.
  struct Path {
    Node* node = nullptr;
    Node* parent = nullptr;
    Version version = 0;
    Version parent_version = 0;
  };

  static Answer answer_at(const Node& leaf, unsigned i, Key key) {
    return leaf.has(i, key) ? Answer{leaf.value(i), true} : Answer{};
  }

  /// False: the root has changed.
  bool begin(Path& path) const {
    path.parent = nullptr;
    path.node = root_.load(std::memory_order_acquire);
    return path.node->lock.begin_read(path.version) && path.node == root_.load(std::memory_order_acquire);
  }
  /// Goes on to child `i`. False: something has changed. The link is validated before it is followed: it may
  /// be of a node that was freed. The parent is validated once more behind the child's version, so that the
  /// child had the key's range at that version.
  static bool step(Path& path, unsigned i) {
    Node* const child = path.node->child(i);
    child->template prefetch<R::kFetchedBytes>();
    if (!path.node->lock.is_still(path.version)) return false;
    R::at(Step::child_found);
    Version version;
    if (!child->lock.begin_read(version)) return false;
    if (R::kValidatesParent && !path.node->lock.is_still(path.version)) return false;
    path = {child, path.node, version, path.version};
    return true;
  }
  bool descend(Key key, Path& path) const {
    if (!begin(path)) return false;
    while (!path.node->is_leaf()) {
      if (!step(path, path.node->child_of(key))) return false;
    }
    return true;
  }
  /// The same; splits full nodes. False also if it has split one.
  bool descend_with_room(Key key, Path& path) {
    if (!begin(path)) return false;
    for (;;) {
      if (path.node->is_full()) {
        split(path);
        return false;
      }
      if (path.node->is_leaf()) return true;
      if (!step(path, path.node->child_of(key))) return false;
    }
  }

  /// Locks the leaf as it was read.
  static bool lock(Path& path) {
    R::at(Step::leaf_chosen);
    if (R::kLocksWhatItRead) return path.node->lock.try_lock(path.version);
    Version now;
    return path.node->lock.begin_read(now) && path.node->lock.try_lock(now);
  }
  static bool lock_parent(Path& path) {
    return path.parent == nullptr || path.parent->lock.try_lock(path.parent_version);
  }
  static void unlock_parent(Path& path) {
    if (path.parent != nullptr) path.parent->lock.unlock();
  }

  /// Splits a full node, if it is still as it was read. Its parent has room: it was looked at first.
  void split(Path& path) {
    if (!lock_parent(path)) return;
    Node& node = *path.node;
    if (!node.lock.try_lock(path.version)) return unlock_parent(path);
    if (path.parent == nullptr && path.node != root_.load(std::memory_order_relaxed))
      return node.lock.unlock();
    Node* const right = make_node<Node>(node.level(), node.high_key());
    const Key separator = node.split(*right);
    if (path.parent != nullptr) {
      path.parent->insert(path.parent->child_of(separator) + 1, separator, right);
    } else {
      Node* const root = make_node<Node>(node.level() + 1, kNoKey);
      root->insert(0, 0, &node);
      root->insert(1, separator, right);
      root_.store(root, std::memory_order_release);
    }
    node.lock.unlock();
    unlock_parent(path);
  }

  /// Calls change(leaf, entry) with the leaf locked, if the key is there.
  template <class Change>
  Answer change(Key key, Change change) {
    for (Backoff wait;; wait()) {
      Path path;
      if (!descend(key, path)) continue;
      const unsigned i = path.node->lower_bound(key);
      Answer answer = answer_at(*path.node, i, key);
      if (!answer.is_found) {
        if (path.node->lock.is_still(path.version)) return answer;
        continue;
      }
      if (!lock(path)) continue;
      answer.value = path.node->value(i);
      change(*path.node, i);
      path.node->lock.unlock();
      return answer;
    }
  }

  /// Merges the uppermost small node on the way to `key` with a neighbour. @returns whether there may be
  /// more to merge: it has merged two, or met another writer.
  bool merge_small(Key key, Session& session) {
    Path path;
    if (!begin(path)) return true;
    while (!path.node->is_leaf()) {
      if (path.parent == nullptr && path.node->count() == 1) return lower_root(path, session);
      const unsigned i = path.node->child_of(key);
      Path child = path;
      if (!step(child, i)) return true;
      if (child.node->count() < kSmall && path.node->count() > 1) {
        const unsigned left = i == 0 ? 0 : i - 1;
        const Node* const pair[] = {path.node->child(left), path.node->child(left + 1)};
        if (!path.node->lock.is_still(path.version)) return true;
        if (pair[0]->count() + pair[1]->count() <= kMerged) {
          merge_children(path, left, session);
          return true;
        }
      }
      path = child;
    }
    return false;
  }
  /// The root has one child, which becomes the root.
  bool lower_root(Path& path, Session& session) {
    Node& root = *path.node;
    if (!root.lock.try_lock(path.version)) return true;
    if (&root != root_.load(std::memory_order_relaxed)) {
      root.lock.unlock();
      return true;
    }
    root_.store(root.child(0), std::memory_order_release);
    unlink(root, session);
    return true;
  }
  /// Merges children `i` and `i` + 1, if the parent is as it was read and both still fit one node.
  static void merge_children(Path& path, unsigned i, Session& session) {
    Node& parent = *path.node;
    if (!parent.lock.try_lock(path.version)) return;
    Node& left = *parent.child(i);
    Node& right = *parent.child(i + 1);
    Version version;
    if (left.lock.begin_read(version) && left.lock.try_lock(version)) {
      if (right.lock.begin_read(version) && right.lock.try_lock(version)) {
        if (left.count() + right.count() <= kMerged) {
          left.absorb(right, parent.key(i + 1));
          parent.erase(i + 1);
          unlink(right, session);
        } else {
          right.lock.unlock();
        }
      }
      left.lock.unlock();
    }
    parent.lock.unlock();
  }
  static void unlink(Node& node, Session& session) {
    node.lock.unlock_obsolete();
    session.retire(&node);
  }

  static void free_below(Node* node) {
    for (unsigned i = 0; !node->is_leaf() && i < node->count(); ++i) free_below(node->child(i));
    free_node(node);
  }
  template <class Visit>
  static void visit_below(const Node& node, const Visit& visit) {
    for (unsigned i = 0; i < node.count(); ++i) {
      if (node.is_leaf()) {
        visit(leaf::Pair{node.key(i), node.value(i)});
      } else {
        visit_below(*node.child(i), visit);
      }
    }
  }
  static void check_below(const Node& node, Key low, Key high, TreeShape& shape) {
    const auto fail = [&](const char* what) {
      shape.error =
          what + (" at level " + std::to_string(node.level())) + ", keys from " + std::to_string(low);
    };
    ++shape.nodes;
    if (node.high_key() != high) return fail("a node that does not end where the next one begins");
    if (!node.is_leaf() && node.count() == 0) return fail("a node without children");
    if (!node.is_leaf() && node.key(0) != low) return fail("a first child that does not begin with its node");
    const unsigned first =
        node.is_leaf() ? 0 : 1;  // a search above the leaves does not look at the first key
    for (unsigned i = first; i < node.count(); ++i) {
      const Key key = node.key(i);
      if (key < low || key >= high) return fail("a key outside its node's range");
      if (i > first && key <= node.key(i - 1)) return fail("keys out of order");
    }
    if (node.is_leaf()) {
      shape.pairs += node.count();
      return;
    }
    for (unsigned i = 0; i < node.count() && shape.error.empty(); ++i) {
      const Node& child = *node.child(i);
      if (child.level() + 1 != node.level()) return fail("a child of the wrong level");
      check_below(child, i == 0 ? low : node.key(i), i + 1 < node.count() ? node.key(i + 1) : high, shape);
    }
  }

  alignas(kLineBytes) std::atomic<Node*> root_;
};

}  // namespace rubato::apps::ycsb::index::olc
