// The open Bw-tree (Levandoski, Lomet, Sengupta, ICDE 2013; Wang et al., SIGMOD 2018): a B-link tree without
// locks. A write puts a delta before the node's chain by one compare-and-swap in the mapping table; long
// chains are consolidated to a new base.
//
// Differences: a consolidation that finds too many entries publishes the lower half as the new base, where
// the publication puts a split delta before the chain; the separator goes to the parent as a delta, as there.
// The root keeps its number and grows by getting two children. Nodes are not merged.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "apps/ycsb/index/bwtree/mapping_table.hpp"
#include "apps/ycsb/index/bwtree/record.hpp"
#include "apps/ycsb/index/session.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/node_latch.hpp"
#include "apps/ycsb/operation.hpp"
#include "apps/ycsb/tree.hpp"

namespace rubato::apps::ycsb::index::bwtree {

/// Places at which a test may let another operation come between.
enum class Step : std::uint8_t {
  chain_read,  ///< the answer was read, the delta not yet published
  merged,      ///< a chain was merged to a new base, which is not yet published
  split,       ///< a node was split, its parent does not know
};

/// The rules of the protocol, and the size of nodes. Tests derive from it to build mutants, which they must
/// catch.
struct Rules {
  static constexpr unsigned kEntries = 128;                   ///< a node with more is split
  static constexpr unsigned kLeafChain = 8, kInnerChain = 2;  ///< deltas. Row: bench/native_indexes
  static constexpr bool kComparesNewest = true;
  static constexpr bool kGoesRight = true;
  static void at(Step) {}
};

template <class R = Rules>
class Tree {
  static constexpr unsigned kDeltas = R::kLeafChain, kCapacity = R::kEntries;

 public:
  using Record = bwtree::Record<kCapacity, kDeltas>;
  using Base = bwtree::Base<kCapacity, kDeltas>;
  using Delta = bwtree::Delta<kCapacity, kDeltas>;
  using Merged = bwtree::Merged<kCapacity, kDeltas>;
  static_assert(R::kInnerChain <= kDeltas && kCapacity >= kDeltas, "half of a split node fits a base");

  Tree() {
    table_.take();
    table_.store(kRoot, make_node<Base>(0u, Key{0}));
  }
  ~Tree() {
    for (NodeId id = 0; id < table_.count(); ++id) {
      if (const Record* const newest = table_.load(id)) free_node(const_cast<Base*>(newest->base));
    }
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Answer lookup(Key key, Session&) { return search(find(key, 0).newest, key); }
  Answer insert(Key key, Value value, Session& session) {
    return write(key, session,
                 [&](const Answer& was) { return change_if(!was.is_found, RecordKind::put, value); });
  }
  Answer update(Key key, Value value, Session& session) {
    return write(key, session,
                 [&](const Answer& was) { return change_if(was.is_found, RecordKind::put, value); });
  }
  Answer add(Key key, Value value, Session& session) {
    return write(key, session, [&](const Answer& was) {
      return change_if(was.is_found, RecordKind::put, was.value + value);
    });
  }
  Answer remove(Key key, Session& session) {
    return write(key, session,
                 [&](const Answer& was) { return change_if(was.is_found, RecordKind::removal, 0); });
  }
  Answer scan(Key key, unsigned length, ScanBuffer& buffer, Session&) {
    unsigned taken = 0;
    const Record* newest = find(key, 0).newest;
    for (;;) {
      const Merged merged(newest, key);
      for (unsigned i = 0; i < merged.count && taken < length; ++i, ++taken) {
        buffer.pairs[taken].key = merged.keys[i];
        buffer.pairs[taken].value = merged.words[i];
      }
      const Base& base = *newest->base;
      if (taken == length || base.right == kNoNode) return {taken, taken != 0};
      key = base.high;
      newest = table_.load(base.right);
      // The right node may have been split since, but it begins where it did.
    }
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (NodeId id = leftmost(0); id != kNoNode;) {
      const Record* const newest = table_.load(id);
      const Merged merged(newest, 0);
      for (unsigned i = 0; i < merged.count; ++i) visit(leaf::Pair{merged.keys[i], merged.words[i]});
      id = newest->base->right;
    }
  }
  /// Walks all nodes: each level is a chain of adjoining ranges, entries ascend within their node's range,
  /// and each child begins at its separator.
  TreeShape check() const {
    TreeShape shape;
    const unsigned top = table_.load(kRoot)->level;
    shape.levels = top + 1;
    for (unsigned level = 0; level <= top && shape.error.empty(); ++level) check_level(level, shape);
    return shape;
  }

 private:
  static constexpr NodeId kRoot = 0;

  struct Place {
    NodeId id;
    const Record* newest;
  };
  struct Change {
    RecordKind kind;
    std::uint64_t word;
  };

  static std::optional<Change> change_if(bool condition, RecordKind kind, std::uint64_t word) {
    return condition ? std::optional(Change{kind, word}) : std::nullopt;
  }
  static unsigned chain_of(unsigned level) { return level == 0 ? R::kLeafChain : R::kInnerChain; }

  /// The node of `level` whose range `key` lies in. Goes right where a parent does not know of a split yet.
  Place find(Key key, unsigned level) const {
    for (NodeId id = kRoot;;) {
      const Record* const newest = table_.load(id);
      if (R::kGoesRight && key >= newest->base->high) {
        id = newest->base->right;
      } else if (newest->level == level) {
        return {id, newest};
      } else {
        id = child(newest, key);
      }
    }
  }
  /// The newest separator that has the key in its range decides; else the base.
  static NodeId child(const Record* record, Key key) {
    while (record->kind != RecordKind::base) {
      const Delta* const delta = static_cast<const Delta*>(record);
      if (key >= delta->key && key < delta->bound) return delta->word;
      record = delta->next;
    }
    const Base& base = *record->base;
    return base.words[base.child_of(key)];
  }
  /// The newest delta of the key decides; else the base.
  static Answer search(const Record* record, Key key) {
    while (record->kind != RecordKind::base) {
      const Delta* const delta = static_cast<const Delta*>(record);
      if (delta->key == key) return delta->kind == RecordKind::put ? Answer{delta->word, true} : Answer{};
      record = delta->next;
    }
    const Base& base = *record->base;
    const unsigned i = base.lower_bound(key);
    return i < base.count && base.keys[i] == key ? Answer{base.words[i], true} : Answer{};
  }

  /// Does what decide(answer) says, if the node is still as it was when the answer was read.
  template <class Decide>
  Answer write(Key key, Session& session, Decide decide) {
    for (Backoff wait;; wait()) {
      const Place place = find(key, 0);
      const Answer answer = search(place.newest, key);
      const std::optional<Change> change = decide(answer);
      if (!change) return answer;
      R::at(Step::chain_read);
      if (prepend(place, {.kind = change->kind, .word = change->word}, key, 0, session)) return answer;
    }
  }
  /// Puts a delta before the chain. @returns false if that has changed, or was too long: try again.
  bool prepend(const Place& place, const Change& change, Key key, Key bound, Session& session) {
    const Record* const newest = place.newest;
    Delta* const delta = newest->depth < chain_of(newest->level) ? newest->base->claim() : nullptr;
    if (delta == nullptr) {
      consolidate(place, session);
      return false;
    }
    delta->kind = change.kind;
    delta->level = newest->level;
    delta->depth = static_cast<std::uint16_t>(newest->depth + 1);
    delta->base = newest->base;
    delta->next = newest;
    delta->key = key;
    delta->word = change.word;
    delta->bound = bound;
    if (R::kComparesNewest) return table_.replace(place.id, newest, delta);
    table_.store(place.id, delta);
    return true;
  }

  /// Replaces the chain by a new base, or by two if it has too many entries.
  void consolidate(const Place& place, Session& session) {
    const Merged merged(place.newest, 0);
    R::at(Step::merged);
    if (merged.count > R::kEntries) {
      split(place, merged, session);
    } else {
      Base* const base = part(place.newest->base->low, place.newest->level, merged, 0, merged.count);
      base->high = place.newest->base->high;
      base->right = place.newest->base->right;
      if (!publish(place, base, session)) free_node(base);
    }
  }
  bool publish(const Place& place, const Base* base, Session& session) {
    if (R::kComparesNewest) {
      if (!table_.replace(place.id, place.newest, base)) return false;
    } else {
      table_.store(place.id, base);
    }
    session.retire(const_cast<Base*>(place.newest->base));
    return true;
  }
  static Base* part(Key low, unsigned level, const Merged& merged, unsigned first, unsigned last) {
    Base* const base = make_node<Base>(level, low);
    for (unsigned i = first; i < last; ++i) base->append(merged.keys[i], merged.words[i]);
    return base;
  }

  /// The upper half becomes a node to the right, of which the parent is told then.
  void split(const Place& place, const Merged& merged, Session& session) {
    const Base& old = *place.newest->base;
    const unsigned level = place.newest->level, half = merged.count / 2;
    const Key separator = merged.keys[half];
    Base* const left = part(old.low, level, merged, 0, half);
    Base* const right = part(separator, level, merged, half, merged.count);
    const NodeId right_id = table_.take();
    right->high = old.high;
    right->right = old.right;
    left->high = separator;
    left->right = right_id;
    table_.store(right_id, right);
    if (place.id == kRoot) return grow(place, left, right_id, session);
    if (!publish(place, left, session)) {
      free_node(left);
      free_node(right);
      table_.give_back(right_id);
      return;
    }
    R::at(Step::split);
    tell_parent(separator, level + 1, right_id, session);
  }
  /// The halves of the root get numbers of their own.
  void grow(const Place& place, Base* left, NodeId right_id, Session& session) {
    const NodeId left_id = table_.take();
    table_.store(left_id, left);
    Base* const root = make_node<Base>(left->level + 1u, Key{0});
    root->append(0, left_id);
    root->append(left->high, right_id);
    if (publish(place, root, session)) return;
    for (const NodeId id : {left_id, right_id}) {
      free_node(const_cast<Base*>(table_.load(id)->base));
      table_.give_back(id);
    }
    free_node(root);
  }
  void tell_parent(Key separator, unsigned level, NodeId node, Session& session) {
    for (Backoff wait;; wait()) {
      const Place place = find(separator, level);
      if (prepend(place, {RecordKind::separator, node}, separator, next_separator(place.newest, separator),
                  session))
        return;
    }
  }
  /// End of the range of a child that begins at `key`: the next separator, or the end of the node.
  static Key next_separator(const Record* record, Key key) {
    const Base& base = *record->base;
    Key next = base.high;
    const unsigned i = base.child_of(key) + 1;
    if (i < base.count) next = base.keys[i];
    for (; record->kind != RecordKind::base; record = static_cast<const Delta*>(record)->next) {
      const Key other = static_cast<const Delta*>(record)->key;
      if (other > key && other < next) next = other;
    }
    return next;
  }

  NodeId leftmost(unsigned level) const {
    NodeId id = kRoot;
    while (table_.load(id)->level > level) id = child(table_.load(id), 0);
    return id;
  }
  void check_level(unsigned level, TreeShape& shape) const {
    Key low = 0;
    for (NodeId id = leftmost(level); id != kNoNode;) {
      const Record* const newest = table_.load(id);
      const Base& base = *newest->base;
      const Merged merged(newest, 0);
      const auto fail = [&](const char* what) {
        shape.error = what + (" at level " + std::to_string(level)) + ", keys from " + std::to_string(low);
      };
      ++shape.nodes;
      if (level == 0) shape.pairs += merged.count;
      if (newest->level != level) return fail("a node of the wrong level");
      if (base.low != low || base.high <= low)
        return fail("a node that does not begin where the one before ends");
      if ((base.right == kNoNode) != (base.high == kNoKey))
        return fail("a node whose right link does not fit");
      if (newest->depth > chain_of(level)) return fail("a chain that is too long");
      if (level > 0 && (merged.count == 0 || merged.keys[0] != low))
        return fail("a node without a first child");
      for (unsigned i = 0; i < merged.count; ++i) {
        if (merged.keys[i] < low || merged.keys[i] >= base.high)
          return fail("a key outside its node's range");
        if (i > 0 && merged.keys[i] <= merged.keys[i - 1]) return fail("keys out of order");
        if (level > 0 && table_.load(merged.words[i])->base->low != merged.keys[i])
          return fail("a child that does not begin at its separator");
        if (level > 0 && child(newest, merged.keys[i]) != merged.words[i])
          return fail("a child that a search does not find");
      }
      low = base.high;
      id = base.right;
    }
  }

  MappingTable<Record> table_;
};

}  // namespace rubato::apps::ycsb::index::bwtree
