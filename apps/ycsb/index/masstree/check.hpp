// Walks over all nodes of Masstree, while no operation runs: to visit pairs, to check invariants, to free.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "apps/ycsb/index/masstree/node.hpp"
#include "apps/ycsb/index/session.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/tree.hpp"

namespace rubato::apps::ycsb::index::masstree {

template <unsigned width>
class Walk {
 public:
  using Node = masstree::Node<width>;
  using Border = masstree::Border<width>;
  using Interior = masstree::Interior<width>;
  using Layer = masstree::Layer<width>;

  /// Calls visit(pair) for the entries of a layer of integers.
  template <class Visit>
  static void visit(const Layer& layer, const Visit& visit) {
    for (const Border* border = leftmost(layer); border != nullptr;
         border = border->next.load(std::memory_order_relaxed)) {
      const auto order = border->load_order();
      for (unsigned i = 0; i < order.count(); ++i)
        visit(leaf::Pair{border->slices[order.slot(i)], border->words[order.slot(i)]});
    }
  }

  /// The shape of the layer and of all below it: entries ascend within their node's range, separators are the
  /// lowest slices of their children, children know their parent, and border nodes are linked in order.
  static TreeShape check(const Layer& layer) {
    TreeShape shape;
    const Node& root = *layer.root.load(std::memory_order_relaxed);
    const Border* last = nullptr;
    if (root.parent.load(std::memory_order_relaxed) != nullptr) shape.error = "a root with a parent";
    shape.levels = check_below(root, Range{}, shape, last);
    if (shape.error.empty() && last->next.load(std::memory_order_relaxed) != nullptr)
      shape.error = "a last node with a next one";
    return shape;
  }

  static void free(const Layer& layer) { free_below(layer.root.load(std::memory_order_relaxed)); }

 private:
  /// Slices of a node: [low, high), or without an upper bound.
  struct Range {
    std::uint64_t low = 0, high = 0;
    bool has_high = false;
    bool has(std::uint64_t slice) const { return slice >= low && (!has_high || slice < high); }
  };

  static const Border* leftmost(const Layer& layer) {
    const Node* node = layer.root.load(std::memory_order_relaxed);
    while (!node->version.is_border()) node = static_cast<const Interior*>(node)->child(0);
    return static_cast<const Border*>(node);
  }

  /// @returns the number of levels.
  static unsigned check_below(const Node& node, const Range& range, TreeShape& shape, const Border*& last) {
    ++shape.nodes;
    if (node.version.is_deleted()) return fail(shape, range, "a node that is marked as deleted");
    if (node.version.is_border()) {
      const Border& border = static_cast<const Border&>(node);
      if (last != nullptr && last->next.load(std::memory_order_relaxed) != &border)
        return fail(shape, range, "border nodes that are not linked in order");
      last = &border;
      check_border(border, range, shape);
      return 1;
    }
    const Interior& interior = static_cast<const Interior&>(node);
    unsigned levels = 0;
    for (unsigned i = 0; i <= interior.count() && shape.error.empty(); ++i) {
      const Range below{i == 0 ? range.low : interior.slices[i - 1].get(),
                        i == interior.count() ? range.high : interior.slices[i].get(),
                        i != interior.count() || range.has_high};
      const Node& child = *interior.child(i);
      if (below.has_high && below.low >= below.high) return fail(shape, range, "separators out of order");
      if (child.parent.load(std::memory_order_relaxed) != &interior)
        return fail(shape, range, "a child that does not know its parent");
      const unsigned its_levels = check_below(child, below, shape, last);
      if (i != 0 && its_levels != levels) return fail(shape, range, "children of different heights");
      levels = its_levels;
    }
    return levels + 1;
  }
  static void check_border(const Border& border, const Range& range, TreeShape& shape) {
    const auto order = border.load_order();
    if (border.low != range.low) fail(shape, range, "a border node with a wrong lowest slice");
    for (unsigned i = 0; i < order.count(); ++i) {
      const unsigned slot = order.slot(i);
      if (!range.has(border.slices[slot])) fail(shape, range, "a key outside its node's range");
      if (i != 0 &&
          !border.is_before(order.slot(i - 1), border.slices[slot], Border::length_of(border.kinds[slot])))
        fail(shape, range, "keys out of order");
      if (Border::content_of(border.kinds[slot]) != Content::layer) {
        ++shape.pairs;
        continue;
      }
      const TreeShape below = check(*std::bit_cast<const Layer*>(border.words[slot].get()));
      shape.pairs += below.pairs;
      shape.nodes += below.nodes;
      if (!below.error.empty()) shape.error = below.error;
    }
  }
  static unsigned fail(TreeShape& shape, const Range& range, const char* what) {
    shape.error = what + (", slices from " + std::to_string(range.low));
    return 0;
  }

  static void free_below(Node* node) {
    if (!node->version.is_border()) {
      const Interior& interior = static_cast<const Interior&>(*node);
      for (unsigned i = 0; i <= interior.count(); ++i) free_below(interior.child(i));
      return free_node(node);
    }
    const Border& border = static_cast<const Border&>(*node);
    const auto order = border.load_order();
    for (unsigned i = 0; i < order.count(); ++i) {
      const std::uint64_t word = border.words[order.slot(i)];
      const Content content = Border::content_of(border.kinds[order.slot(i)]);
      if (content == Content::long_key) free_node(std::bit_cast<LongKey*>(word));
      if (content != Content::layer) continue;
      free_below(std::bit_cast<Layer*>(word)->root.load(std::memory_order_relaxed));
      free_node(std::bit_cast<Layer*>(word));
    }
    free_node(node);
  }
};

}  // namespace rubato::apps::ycsb::index::masstree
