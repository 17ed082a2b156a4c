// Splits and merges of Masstree's nodes (Mao, Kohler, Morris, EuroSys 2012, Sec. 4.6.2 to 4.6.5). Locks are
// taken from left to right, then upwards. A node's range only ever grows or shrinks at its upper end: its
// lowest slice is the same as long as it lives. So the leftmost node of a level is never removed.
//
// Difference: a removal merges a small node with a neighbour below the same parent, where the publication
// only removes empty nodes. The root of a layer stays, also with one child.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

#include "apps/ycsb/index/masstree/node.hpp"
#include "apps/ycsb/index/session.hpp"

namespace rubato::apps::ycsb::index::masstree {

template <unsigned width>
class Structure {
 public:
  using Node = masstree::Node<width>;
  using Border = masstree::Border<width>;
  using Interior = masstree::Interior<width>;
  using Layer = masstree::Layer<width>;

  static constexpr unsigned kSmall = width / 4, kMerged = width * 2 / 3;

  /// Inserts an entry into a full border node, which is locked, and unlocks it.
  static void split(Layer& layer, Border& left, unsigned position, std::uint64_t slice, std::uint8_t kind,
                    std::uint64_t word) {
    std::array<Entry, width + 1> entries;
    const auto order = left.load_order();
    for (unsigned i = 0, from = 0; i <= width; ++i) {
      if (i == position) {
        entries[i] = {slice, word, kind};
      } else {
        const unsigned slot = order.slot(from++);
        entries[i] = {left.slices[slot], left.words[slot], left.kinds[slot]};
      }
    }
    const unsigned half =
        boundary(entries, position == width && left.next.load(std::memory_order_relaxed) == nullptr);
    Border* const right = make_node<Border>(entries[half].slice);
    right->version.lock();
    right->version.mark_dividing();
    left.version.mark_dividing();
    for (unsigned i = half; i <= width; ++i)
      right->insert(i - half, entries[i].slice, entries[i].kind, entries[i].word, false);
    for (unsigned i = 0; i < half; ++i) left.write(i, entries[i].slice, entries[i].kind, entries[i].word);
    left.store_order(Border::Order::first(half));
    left.used_before = static_cast<std::uint16_t>((1u << width) - 1);
    right->next.store(left.next.load(std::memory_order_relaxed), std::memory_order_release);
    left.next.store(right, std::memory_order_release);
    link(layer, &left, right, right->low);
  }

  /// Merges a node with a neighbour below the same parent as long as one of them is small; then its parent.
  /// Gives up if the neighbour is removed or moved meanwhile: by another merge, which goes on itself.
  static void merge_small(Node* node, Session& session) {
    while (!node->version.is_deleted() && entries_of(*node) < kSmall) {
      Interior* const parent = node->parent.load(std::memory_order_acquire);
      if (parent == nullptr) return;
      const auto version = parent->version.stable();
      const unsigned children = parent->count() + 1, i = parent->position_of(node);
      const unsigned left = i == 0 ? 0 : i - 1;
      Node* const pair[] = {parent->child(left), parent->child(children > 1 ? left + 1 : left)};
      if (i >= children || !parent->version.is_still(version)) continue;
      if (children == 1) {  // nothing to merge with until the parent has been merged
        node = parent;
        continue;
      }
      if (entries_of(*pair[0]) + entries_of(*pair[1]) >= kMerged) return;
      Node* seam = nullptr;
      if (!merge(pair[0], pair[1], seam, session)) return;
      if (seam != nullptr) merge_small(seam, session);
      node = parent;
    }
  }

 private:
  struct Entry {
    std::uint64_t slice, word;
    std::uint8_t kind;
  };

  static unsigned entries_of(const Node& node) {
    return node.version.is_border() ? static_cast<const Border&>(node).count()
                                    : static_cast<const Interior&>(node).count();
  }

  /// The first entry of the right half: near the middle, or the last one if keys are inserted in ascending
  /// order, and never between two entries of one slice, of which there are at most 10.
  static unsigned boundary(const std::array<Entry, width + 1>& entries, bool is_ascending) {
    const unsigned wish = is_ascending ? width : (width + 1) / 2;
    const auto is_between = [&](unsigned i) {
      return i > 0 && i <= width && entries[i - 1].slice != entries[i].slice;
    };
    for (unsigned distance = 0; distance <= width; ++distance) {
      if (wish >= distance && is_between(wish - distance)) return wish - distance;
      if (is_between(wish + distance)) return wish + distance;
    }
    std::abort();  // 16 entries of one slice
  }

  /// The parent, locked; null for the root of a layer. The child is locked.
  static Interior* lock_parent(const Node& child) {
    for (;;) {
      Interior* const parent = child.parent.load(std::memory_order_acquire);
      if (parent == nullptr) return nullptr;
      parent->version.lock();
      if (parent == child.parent.load(std::memory_order_relaxed)) return parent;
      parent->version.unlock();
    }
  }

  /// Tells the parent of `left` about its new neighbour, and unlocks all. Both are locked and marked.
  static void link(Layer& layer, Node* left, Node* right, std::uint64_t separator) {
    for (;;) {
      Interior* const parent = lock_parent(*left);
      if (parent == nullptr) {
        Interior* const root = make_node<Interior>();
        root->set_child(0, left);
        root->insert(0, separator, right);
        layer.root.store(root, std::memory_order_release);
        left->version.unlock();
        right->version.unlock();
        return;
      }
      if (parent->count() < width) {
        parent->version.mark_changing();
        parent->insert(parent->position_of(left), separator, right);
        left->version.unlock();
        right->version.unlock();
        parent->version.unlock();
        return;
      }
      Interior* const neighbour = make_node<Interior>();
      const std::uint64_t between = divide(*parent, *neighbour, left, right, separator);
      left->version.unlock();
      right->version.unlock();
      left = parent;
      right = neighbour;
      separator = between;
    }
  }
  /// Moves the upper half of a full interior node, with one more child, to a new one. @returns the slice
  /// between both.
  static std::uint64_t divide(Interior& node, Interior& neighbour, Node* left, Node* right,
                              std::uint64_t separator) {
    neighbour.version.lock();
    neighbour.version.mark_dividing();
    node.version.mark_dividing();
    const unsigned position = node.position_of(left);
    std::array<std::uint64_t, width + 1> slices;
    std::array<Node*, width + 2> children;
    for (unsigned i = 0; i <= width; ++i)
      slices[i] = i < position ? node.slices[i].get() : i == position ? separator : node.slices[i - 1].get();
    for (unsigned i = 0; i <= width + 1; ++i)
      children[i] = i <= position ? node.child(i) : i == position + 1 ? right : node.child(i - 1);
    const unsigned half = (width + 1) / 2;  // slices[half] goes up
    neighbour.set_child(0, children[half + 1]);
    for (unsigned i = half + 1; i <= width; ++i) neighbour.insert(i - half - 1, slices[i], children[i + 1]);
    node.separators = std::uint8_t{0};
    node.set_child(0, children[0]);
    for (unsigned i = 0; i < half; ++i) node.insert(i, slices[i], children[i + 1]);
    return slices[half];
  }

  /// Moves everything of `right` to `left`. @returns false if they are not what they were. `seam`: a child
  /// that has a left neighbour below its parent only now, and so may be merged.
  static bool merge(Node* left, Node* right, Node*& seam, Session& session) {
    left->version.lock();
    if (left->version.is_deleted()) {
      left->version.unlock();
      return false;
    }
    right->version.lock();
    Interior* const parent = right->version.is_deleted() ? nullptr : lock_parent(*left);
    const bool is_merged = parent != nullptr && merge_locked(*left, *right, *parent, seam);
    if (parent != nullptr) parent->version.unlock();
    right->version.unlock();
    left->version.unlock();
    if (is_merged) session.retire(right);
    return is_merged;
  }

  static bool merge_locked(Node& left, Node& right, Interior& parent, Node*& seam) {
    const unsigned i = parent.position_of(&left);
    if (i >= parent.count() || parent.child(i + 1) != &right) return false;
    if (entries_of(left) + entries_of(right) >= kMerged) return false;
    parent.version.mark_changing();
    left.version.mark_dividing();
    right.version.mark_deleted();
    if (left.version.is_border()) {
      append(static_cast<Border&>(left), static_cast<const Border&>(right));
    } else {
      seam = static_cast<const Interior&>(right).child(0);
      static_cast<Interior&>(left).absorb(static_cast<const Interior&>(right), parent.slices[i]);
    }
    parent.erase(i);
    return true;
  }
  static void append(Border& left, const Border& right) {
    const auto order = right.load_order();
    for (unsigned i = 0; i < order.count(); ++i) {
      const unsigned slot = order.slot(i);
      left.insert(left.count(), right.slices[slot], right.kinds[slot], right.words[slot], false);
    }
    left.next.store(right.next.load(std::memory_order_relaxed), std::memory_order_release);
  }
};

}  // namespace rubato::apps::ycsb::index::masstree
