// Gives emptied nodes back: of two neighbours under one parent the left takes everything, the right is freed.
// Runs alone: no visit is under way, but visits that wait may hold links to any node. The rest of a freed
// node keeps them right: it sends every visit to the node that took its place:
//
//     left [a, b) -> right [b, c) -> ...      left [a, c) -> ...        right: no entries, high key 0
//                                               ^------------- right
//
// and its memory must stay until all visits that were created before have ended, with what they created. A
// scan that is sent to the left has been at that node before; see scan_leaf().
//
// A node whose link operation is still under way is in no parent, so it is neither freed nor does it absorb.
// The root keeps its height.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/ycsb/inner.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb {

/// Memory: free(Link), which waits as said above.
template <class Memory>
class Merger {
 public:
  Merger(Link root, Memory& memory) : root_(root), memory_(memory) {}

  /// Merges the leaf that covers `key` with its neighbours while they fit into one, and the nodes above as
  /// far as that made them small.
  void merge_at(Key key) {
    for (unsigned level = 1; level <= root_.node()->level(); ++level) {
      Node& parent = *find(key, level).node();
      bool is_merged = false;
      while (merge_child(parent, inner::binary_search(parent, key))) is_merged = true;
      if (!is_merged && parent.count() > 1) return;
    }
  }

 private:
  /// Whether one node for the entries of both would have room: an inserted entry must not split it at once.
  static bool fit(const Node& left, const Node& right) {
    const unsigned entries = left.count() + right.count();
    if (left.level() > 0) return entries <= Node::kEntries * 3 / 4;
    return left.count() == 0 || right.count() == 0 || entries <= leaf::kMaxEntries / 2;
  }

  /// The node of `level` that covers `key`; 1 to the root's.
  Link find(Key key, unsigned level) const {
    Link link = root_;
    while (link.node()->level() > level || key >= link.node()->high_key()) {
      const Node& node = *link.node();
      link = key >= node.high_key() ? node.right()
                                    : Link(node.entry(inner::binary_search(node, key)).value.get());
    }
    return link;
  }

  /// With the neighbour to the right, else to the left.
  bool merge_child(Node& parent, unsigned i) {
    return merge_pair(parent, i) || (i > 0 && merge_pair(parent, i - 1));
  }

  /// Children i and i + 1. False: they stay two.
  bool merge_pair(Node& parent, unsigned i) {
    if (i + 1 >= parent.count()) return false;
    const Link left_link(parent.entry(i).value.get()), right_link(parent.entry(i + 1).value.get());
    Node& left = *left_link.node();
    Node& right = *right_link.node();
    const bool are_adjacent =
        left.right().handle() == right_link.handle() && left.high_key() == parent.entry(i + 1).key.get();
    if (!are_adjacent || !fit(left, right)) return false;
    const unsigned seam = left.count();
    absorb(left, right);
    right.set_right(left_link);
    inner::remove(parent, i + 1);
    if (left.level() > 0) {
      parent.entry(i).value = left_link.with_entries_hint(left.count()).word();
      merge_pair(left, seam - 1);  // these two have one parent only now
    }
    memory_.free(right_link);
    return true;
  }

  /// All of `right` goes over to `left`.
  static void absorb(Node& left, Node& right) {
    if (left.level() > 0) {
      inner::move_entries(right, 0, left);
    } else {
      leaf::Pairs pairs;
      leaf::collect(right, 0, pairs);
      for (unsigned i = 0; i < pairs.count; ++i) leaf::add(left, pairs.pairs[i].key, pairs.pairs[i].value);
      leaf::assign(right, {});
    }
    left.set_high_key(right.high_key());
    left.set_right(right.right());
    right.set_high_key(0);
  }

  Link root_;
  Memory& memory_;
};

}  // namespace rubato::apps::ycsb
