// Check of a Bw-tree, one level at a time: nodes are a chain of adjoining ranges, entries ascend within their
// node's range, and each child begins at its separator. While nothing else runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "apps/ycsb/index/bwtree/chain.hpp"
#include "apps/ycsb/index/bwtree/mapping_table.hpp"
#include "apps/ycsb/tree.hpp"

namespace rubato::apps::ycsb::index::bwtree {

struct Level {
  unsigned number;  ///< 0: leaves
  unsigned chain;   ///< deltas that a node may have
  NodeId first;     ///< node
};

/// @returns what is wrong with a child of a node; empty: nothing.
template <unsigned capacity, unsigned deltas>
std::string wrong_child(const MappingTable<Record<capacity, deltas>>& table,
                        const Record<capacity, deltas>* newest, Key key, std::uint64_t word) {
  if (is_marked(word)) return "a child whose removal was not carried out";
  if (table.load(word)->kind == RecordKind::node_removal) return "a removed child";
  if (table.load(word)->head->low != key) return "a child that does not begin at its separator";
  if (Chain<capacity, deltas>::child(newest, key) != word) return "a child that a search does not find";
  return "";
}

/// @returns what is wrong with the entries of a node; empty: nothing.
template <unsigned capacity, unsigned deltas>
std::string wrong_entry(const MappingTable<Record<capacity, deltas>>& table,
                        const Record<capacity, deltas>* newest, const Merged<capacity, deltas>& merged) {
  for (unsigned i = 0; i < merged.count; ++i) {
    const Key key = merged.keys[i];
    if (key < newest->head->low || key >= newest->head->high) return "a key outside its node's range";
    if (i > 0 && key <= merged.keys[i - 1]) return "keys out of order";
    if (newest->level == 0) continue;
    if (std::string wrong = wrong_child(table, newest, key, merged.words[i]); !wrong.empty()) return wrong;
  }
  return "";
}

/// @returns what is wrong with a node whose range begins at `low`; empty: nothing.
template <unsigned capacity, unsigned deltas>
std::string wrong_node(const MappingTable<Record<capacity, deltas>>& table,
                       const Record<capacity, deltas>* newest, const Level& level, Key low) {
  if (newest->kind == RecordKind::node_removal) return "a removed node";
  const Head<capacity, deltas>& head = *newest->head;
  const Merged<capacity, deltas> merged(newest, 0);
  if (newest->level != level.number) return "a node of the wrong level";
  if (head.low != low || head.high <= low) return "a node that does not begin where the one before ends";
  if ((head.right == kNoNode) != (head.high == kNoKey)) return "a node whose right link does not fit";
  if (newest->depth > level.chain) return "a chain that is too long";
  if (level.number > 0 && (merged.count == 0 || merged.keys[0] != low)) return "a node without a first child";
  return wrong_entry(table, newest, merged);
}

/// Walks a level: counts its nodes and pairs, and notes the first error.
template <unsigned capacity, unsigned deltas>
void check_level(const MappingTable<Record<capacity, deltas>>& table, const Level& level, TreeShape& shape) {
  Key low = 0;
  for (NodeId id = level.first; id != kNoNode;) {
    const Record<capacity, deltas>* const newest = table.load(id);
    ++shape.nodes;
    if (std::string wrong = wrong_node(table, newest, level, low); !wrong.empty()) {
      shape.error =
          wrong + " at level " + std::to_string(level.number) + ", keys from " + std::to_string(low);
      return;
    }
    if (level.number == 0) shape.pairs += Merged<capacity, deltas>(newest, 0).count;
    low = newest->head->high;
    id = newest->head->right;
  }
}

}  // namespace rubato::apps::ycsb::index::bwtree
