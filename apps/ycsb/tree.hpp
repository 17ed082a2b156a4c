// The tree as a whole: making, loading, walking, checking, freeing. Operations on it are in visit.hpp; the
// variants keep them apart. Everything here runs alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/ycsb/inner.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb {

/// How full bulk_load() makes nodes: about as random insertions leave them.
struct Fill {
  unsigned leaf_entries = 42;   ///< 1 to leaf::kMaxEntries
  unsigned inner_entries = 48;  ///< 2 to Node::kEntries
};

struct TreeShape {
  unsigned levels = 0;
  std::uint64_t nodes = 0;
  std::uint64_t pairs = 0;
  std::string error;  ///< the first broken invariant, in words; empty if there is none
};

/// Memory: make_root() and make(level) -> Link, free(Link).
template <class Memory>
class Tree {
 public:
  Tree() : root_(memory_.make_root()) { root_.node()->set_root(); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::vector<Link> firsts = first_nodes();
    for (Link link : firsts) {
      while (link) memory_.free(std::exchange(link, link.node()->right()));
    }
  }

  Link root() const { return root_; }
  Memory& memory() { return memory_; }

  /// Fills an empty tree. `next` returns pairs in ascending order of keys, `pairs` times; progress(done) is
  /// called now and then.
  template <class Next, class Progress>
  void bulk_load(std::uint64_t pairs, Next next, Progress progress, Fill fill = {}) {
    Node& root = *root_.node();
    if (pairs <= leaf::kMaxEntries) {
      for (std::uint64_t i = 0; i < pairs; ++i) add_pair(root, next());
      return;
    }
    std::vector<Child> level = load_leaves(pairs, next, progress, fill.leaf_entries);
    unsigned height = 1;
    for (; level.size() > Node::kEntries; ++height) level = load_level(level, height, fill.inner_entries);
    root.set_level(height);
    for (unsigned i = 0; i < level.size(); ++i) put_child(root, i, level[i]);
  }

  /// Calls visit(pair) for all pairs in ascending order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (Link link = first_nodes().back(); link; link = link.node()->right()) {
      leaf::Pairs pairs;
      leaf::collect(*link.node(), 0, pairs);
      leaf::sort(pairs);
      for (unsigned i = 0; i < pairs.count; ++i) visit(pairs.pairs[i]);
    }
  }

  /// Walks all nodes: each level is a chain of rising, adjoining ranges; every entry is in its node's range,
  /// every child begins where its entry says, counts are right, every key is found.
  TreeShape check() const {
    TreeShape shape;
    const std::vector<Link> firsts = first_nodes();
    shape.levels = static_cast<unsigned>(firsts.size());
    for (unsigned i = 0; i < firsts.size() && shape.error.empty(); ++i) {
      check_level(firsts[i], shape.levels - 1 - i, shape);
    }
    return shape;
  }

 private:
  struct Child {
    Key low;
    Link link;
  };

  static void add_pair(Node& node, const leaf::Pair& pair) { leaf::add(node, pair.key, pair.value); }
  static void put_child(Node& node, unsigned i, const Child& child) {
    node.entry(i).value = child.link.word();
    node.entry(i).key = child.low;
    node.set_count(i + 1);
  }

  /// A new node to the right of the last one of its level.
  Node& append(std::vector<Child>& level, unsigned height, Key low) {
    const Link link = memory_.make(height);
    if (!level.empty()) {
      level.back().link.node()->set_high_key(low);
      level.back().link.node()->set_right(link);
    }
    level.push_back({level.empty() ? 0 : low, link});
    return *link.node();
  }

  /// Calls fill(i, n) for the i-th of as few nodes as `per_node` allows; their sizes n differ by at most 1.
  template <class FillNode>
  static void share(std::uint64_t entries, unsigned per_node, FillNode fill) {
    const std::uint64_t nodes = (entries + per_node - 1) / per_node;
    for (std::uint64_t i = 0; i < nodes; ++i) {
      fill(static_cast<unsigned>(entries / nodes + (i < entries % nodes ? 1 : 0)));
    }
  }

  template <class Next, class Progress>
  std::vector<Child> load_leaves(std::uint64_t pairs, Next& next, Progress& progress, unsigned per_node) {
    std::vector<Child> level;
    std::uint64_t loaded = 0;
    share(pairs, per_node, [&](unsigned n) {
      leaf::Pair pair = next();
      Node& node = append(level, 0, pair.key);
      add_pair(node, pair);
      for (unsigned i = 1; i < n; ++i) add_pair(node, next());
      loaded += n;
      if (level.size() % 8192 == 0) progress(loaded);
    });
    return level;
  }

  std::vector<Child> load_level(const std::vector<Child>& children, unsigned height, unsigned per_node) {
    std::vector<Child> level;
    std::size_t next = 0;
    share(children.size(), per_node, [&](unsigned n) {
      Node& node = append(level, height, children[next].low);
      for (unsigned i = 0; i < n; ++i) put_child(node, i, children[next++]);
      level.back().link = level.back().link.with_entries_hint(n);
    });
    return level;
  }

  /// The leftmost node of every level, from the root down.
  std::vector<Link> first_nodes() const {
    std::vector<Link> firsts{root_};
    while (firsts.back().node()->level() > 0) {
      firsts.push_back(Link(firsts.back().node()->entry(0).value.get()));
    }
    return firsts;
  }

  static void check_level(Link first, unsigned level, TreeShape& shape) {
    Key low = 0;
    for (Link link = first; link; link = link.node()->right()) {
      const Node& node = *link.node();
      ++shape.nodes;
      shape.error = node.level() != level ? "a node of the wrong level" : check_node(node, low);
      if (level == 0) shape.pairs += node.count();
      if (shape.error.empty() && !(node.high_key() > low)) shape.error = "a node with an empty range";
      if (shape.error.empty() && bool(node.right()) == (node.high_key() == kNoKey)) {
        shape.error = "a node whose right link does not fit its high key";
      }
      if (!shape.error.empty()) {
        shape.error += " at level " + std::to_string(level) + ", keys from " + std::to_string(low);
        return;
      }
      low = node.high_key();
    }
  }

  static std::string check_node(const Node& node, Key low) {
    unsigned used = 0;
    for (unsigned i = node.level() == 0 ? 2 : 0; i < Node::kEntries; ++i) {
      const Key key = node.entry(i).key;
      if (key == kNoKey) continue;
      ++used;
      if (key < low || key >= node.high_key()) return "a key outside its node's range";
      if (node.level() == 0 && leaf::find(node, key) != &node.entry(i))
        return "a key that a search does not find";
    }
    if (used != node.count()) return "a node with a wrong count";
    return node.level() == 0 ? "" : check_children(node, low);
  }

  static std::string check_children(const Node& node, Key low) {
    if (node.count() == 0 || node.entry(0).key != low)
      return "a node whose first child does not begin with it";
    for (unsigned i = 0; i < node.count(); ++i) {
      const Key next = i + 1 < node.count() ? node.entry(i + 1).key.get() : node.high_key();
      if (next <= node.entry(i).key) return "children out of order";
      const Node& child = *Link(node.entry(i).value.get()).node();
      if (child.level() + 1 != node.level()) return "a child of the wrong level";
      if (child.high_key() != next) return "a child that does not end where the next one begins";
    }
    return "";
  }

  Memory memory_;
  Link root_;
};

}  // namespace rubato::apps::ycsb
