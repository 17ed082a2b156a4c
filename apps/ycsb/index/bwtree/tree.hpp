// The open Bw-tree (Levandoski, Lomet, Sengupta, ICDE 2013; Wang et al., SIGMOD 2018): a B-link tree without
// locks. A write puts a delta before the node's chain by one compare-and-swap in the mapping table; long
// chains are consolidated to a new base.
//
// A node that removals made small is merged into the one on its left (ICDE 2013, Sec. IV-C): a remove-node
// delta ends the use of the node, a merge delta on its left neighbour takes its entries, a term-removal delta
// takes it out of the parent. Every operation that meets a removed node carries out the steps that are left.
// The number of the node is used again once no thread can hold it.
//
// A root with one child collapses, so that the tree loses a level: first the root gets a base that takes no
// deltas, then a remove-node delta ends the use of the child, at last the root gets the child's entries. If
// the child is split before its end, the root gets a usual base again:
//
//     root, level 2: [C]       [C] collapsing       [C] collapsing          entries of C, level 1
//     C, level 1: entries  ->  entries          ->  remove-node delta   ->  (the number C is retired)
//
// Differences: a consolidation that finds too many entries publishes the lower half as the new base, where
// the publication puts a split delta before the chain; the separator goes to the parent as a delta, as there.
// Before a node is removed its term in the parent is marked, so that the parent is not split there: SIGMOD
// 2018 blocks the whole parent by an abort delta. The root keeps its number and grows by getting two
// children. The publications say nothing of a root with one child.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>

#include "apps/ycsb/index/bwtree/chain.hpp"
#include "apps/ycsb/index/bwtree/check.hpp"
#include "apps/ycsb/index/bwtree/mapping_table.hpp"
#include "apps/ycsb/index/session.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/node_latch.hpp"
#include "apps/ycsb/operation.hpp"
#include "apps/ycsb/tree.hpp"

namespace rubato::apps::ycsb::index::bwtree {

/// Places at which a test may let another operation come between.
enum class Step : std::uint8_t {
  chain_read,     ///< the answer was read, the delta not yet published
  merged,         ///< a chain was merged to a new base, which is not yet published
  split,          ///< a node was split, its parent does not know
  child_found,    ///< the number of a child was read, its records not yet
  term_marked,    ///< the removal of a node is decided
  node_removed,   ///< a node was removed, its left neighbour has not got its entries
  node_merged,    ///< it has, the parent still names the node
  root_waits,     ///< the root takes no deltas, its only child is as it was
  child_removed,  ///< the root's only child is removed, the root has not got its entries
};

/// The rules of the protocol, and the size of nodes. Tests derive from it to build mutants, which they must
/// catch.
struct Rules {
  static constexpr unsigned kEntries = 128;                   ///< a node with more is split
  static constexpr unsigned kLeafChain = 8, kInnerChain = 2;  ///< deltas. Row: bench/native_indexes
  static constexpr bool kComparesNewest = true;
  static constexpr bool kGoesRight = true;
  static constexpr bool kMarksTerms = true;
  static constexpr bool kTellsOfNodesInUse = true;
  static constexpr bool kRecyclesByEpochs = true;
  static constexpr bool kCollapsesWholeLevels = true;
  static constexpr bool kLooksAtRootAgain = true;
  static void at(Step) {}
};

template <class R = Rules>
class Tree {
  static constexpr unsigned kDeltas = R::kLeafChain, kCapacity = R::kEntries;

 public:
  using Types = Chain<kCapacity, kDeltas>;
  using Record = typename Types::Record;
  using Head = typename Types::Head;
  using Base = typename Types::Base;
  using Delta = typename Types::Delta;
  using Merge = typename Types::Merge;
  using Removal = typename Types::Removal;
  using Merged = bwtree::Merged<kCapacity, kDeltas>;
  static_assert(R::kInnerChain <= kDeltas && kCapacity >= 2 * kDeltas, "half of a split node fits a base");

  Tree() {
    table_.take();
    table_.store(kRoot, make_node<Base>(0u, Key{0}));
  }
  ~Tree() {
    for (NodeId id = 0; id < table_.count(); ++id) {
      const Record* const newest = table_.load(id);
      if (newest == nullptr) continue;
      const Record* contents = newest;
      // A collapse that found no memory: only the removed child has its entries.
      if (newest->kind == RecordKind::node_removal && newest->head->low == 0) {
        contents = static_cast<const Removal*>(newest)->contents;
        free_node(const_cast<Head*>(newest->head));
      }
      each_head(*contents->head, [](Head* head) { free_node(head); });
    }
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  Answer lookup(Key key, Session& session) { return Types::search(find(key, 0, session).newest, key); }
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
  Answer scan(Key key, unsigned length, ScanBuffer& buffer, Session& session) {
    unsigned taken = 0;
    const Record* newest = find(key, 0, session).newest;
    for (;;) {
      const Merged merged(newest, key);
      for (unsigned i = 0; i < merged.count && taken < length; ++i, ++taken) {
        buffer.pairs[taken].key = merged.keys[i];
        buffer.pairs[taken].value = merged.words[i];
      }
      const Head& head = *newest->head;
      if (taken == length || head.right == kNoNode) return {taken, taken != 0};
      key = head.high;
      newest = table_.load(head.right);
      // The right node may have been split or extended since, but it begins where it did.
      if (newest->kind == RecordKind::node_removal) newest = find(key, 0, session).newest;
    }
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (NodeId id = leftmost(0); id != kNoNode;) {
      const Record* const newest = table_.load(id);
      const Merged merged(newest, 0);
      for (unsigned i = 0; i < merged.count; ++i) visit(leaf::Pair{merged.keys[i], merged.words[i]});
      id = newest->head->right;
    }
  }
  /// How many nodes have a number: those of the tree, and removed ones whose number may still be held.
  NodeId numbers_in_use() const { return table_.in_use(); }
  /// Walks all nodes (check.hpp).
  TreeShape check() const {
    TreeShape shape;
    const unsigned top = table_.load(kRoot)->level;
    shape.levels = top + 1;
    for (unsigned level = 0; level <= top && shape.error.empty(); ++level)
      check_level(table_, {.number = level, .chain = chain_of(level), .first = leftmost(level)}, shape);
    if (shape.error.empty() && collapsing(table_.load(kRoot)->head) != nullptr)
      shape.error = "a root that waits for the contents of its child";
    return shape;
  }

 private:
  static constexpr NodeId kRoot = 0;
  /// A node with fewer entries is merged with a neighbour if both have at most three quarters of a node.
  static constexpr unsigned kSmall = kCapacity / 4, kMostMerged = kCapacity * 3 / 4;
  /// Entries of a removed node: with all its neighbour can get meanwhile, half of them fits a base.
  static constexpr unsigned kMostMoved = std::min(kMostMerged, kCapacity - kDeltas);

  struct Place {
    NodeId id;
    const Record* newest;
  };
  using MaybePlace = std::optional<Place>;
  struct Change {
    RecordKind kind;
    std::uint64_t word;
  };

  static std::optional<Change> change_if(bool condition, RecordKind kind, std::uint64_t word) {
    return condition ? std::optional(Change{kind, word}) : std::nullopt;
  }
  static unsigned chain_of(unsigned level) { return level == 0 ? R::kLeafChain : R::kInnerChain; }

  /// The node of `level` whose range `key` lies in; the root if all levels are lower. Goes right where a
  /// parent does not know of a split yet. Inlined where each operation begins: bench/native_indexes. Changes
  /// of the tree's shape call place_of().
  [[gnu::always_inline]] Place find(Key key, unsigned level, Session& session) {
    for (NodeId id = kRoot;;) {
      const Record* const newest = table_.load(id);
      if (key >= newest->head->high && (R::kGoesRight || newest->kind == RecordKind::node_removal))
          [[unlikely]] {
        id = beyond(newest, session);
      } else if (newest->level <= level) {
        return {id, newest};
      } else {
        id = Types::child(newest, key);
        R::at(Step::child_found);
      }
    }
  }
  /// The next node of a search whose key is not below the end of this one: the right neighbour. Removed nodes
  /// end at 0: the search carries out what is left of their removal and begins again.
  [[gnu::cold, gnu::noinline]] NodeId beyond(const Record* newest, Session& session) {
    if (newest->kind != RecordKind::node_removal) return newest->head->right;
    const auto& removal = *static_cast<const Removal*>(newest);
    if (removal.low != 0) {
      finish_removal(removal, session);
    } else if (const Base* const root = collapsing(table_.load(kRoot)->head); root != nullptr) {
      finish_collapse(*root, session);
    }
    return kRoot;
  }

  /// As find(); none if the tree has lost the level.
  [[gnu::noinline]] MaybePlace place_of(Key key, unsigned level, Session& session) {
    const Place place = find(key, level, session);
    return place.newest->level == level ? MaybePlace(place) : std::nullopt;
  }

  /// Does what decide(answer) says, if the node is still as it was when the answer was read.
  template <class Decide>
  Answer write(Key key, Session& session, Decide decide) {
    for (Backoff wait;; wait()) {
      const Place place = find(key, 0, session);
      const Answer answer = Types::search(place.newest, key);
      const std::optional<Change> change = decide(answer);
      if (!change) return answer;
      R::at(Step::chain_read);
      if (!prepend(place, {.kind = change->kind, .word = change->word}, key, 0, session)) continue;
      if (change->kind == RecordKind::removal) note_removal(place, session);
      return answer;
    }
  }
  /// A leaf that may have become empty, or a node above that may have become small, is consolidated, which
  /// merges it. `place`: before the removal.
  void note_removal(const Place& place, Session& session) {
    const Head& head = *place.newest->head;
    const unsigned least = head.level == 0 ? 1 : kSmall;
    if (head.kind != RecordKind::base ||
        static_cast<const Base&>(head).count >= least + place.newest->depth + 1u)
      return;
    const Record* const newest = table_.load(place.id);
    if (newest->kind != RecordKind::node_removal) consolidate({place.id, newest}, session);
  }
  /// Puts a delta before the chain. @returns false if that has changed, or was too long: try again.
  bool prepend(const Place& place, const Change& change, Key key, Key bound, Session& session) {
    const Record* const newest = place.newest;
    Delta* const delta = newest->depth < chain_of(newest->level) ? newest->head->claim() : nullptr;
    if (delta == nullptr) {
      consolidate(place, session);
      return false;
    }
    delta->kind = change.kind;
    delta->level = newest->level;
    delta->depth = static_cast<std::uint16_t>(newest->depth + 1);
    delta->head = newest->head;
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
    const Head& head = *place.newest->head;
    if (const Base* const root = collapsing(&head); root != nullptr) return finish_collapse(*root, session);
    const Merged merged(place.newest, 0);
    R::at(Step::merged);
    // A removed node's records are retired with the chain: no search may come to the node any more.
    if (head.kind == RecordKind::merge) {
      const Merge& merge = static_cast<const Merge&>(head);
      remove_term(merge.separator, head.level + 1u, merge.removed, session);
    }
    if (merged.count > R::kEntries) return split(place, merged, session);
    const bool has_shrunk =
        head.kind == RecordKind::base && merged.count < static_cast<const Base&>(head).count;
    Base* const base = part(head.low, head.level, merged, 0, merged.count);
    base->high = head.high;
    base->right = head.right;
    if (place.id == kRoot) return publish_root(place.newest, base, nullptr, session);
    if (!publish(place, base, session)) return free_node(base);
    if (has_shrunk && merged.count < kSmall) merge_small(place.id, head.level, session);
  }
  bool publish(const Place& place, const Base* base, Session& session) {
    if (R::kComparesNewest) {
      if (!table_.replace(place.id, place.newest, base)) return false;
    } else {
      table_.store(place.id, base);
    }
    each_head(*place.newest->head, [&](Head* head) { session.retire(head); });
    return true;
  }
  /// Calls visit(head) for the chain's head, and for those of merged parts.
  template <class Visit>
  static void each_head(const Head& head, const Visit& visit) {
    if (head.kind == RecordKind::merge) {
      each_head(*static_cast<const Merge&>(head).lower->head, visit);
      each_head(*static_cast<const Merge&>(head).upper->head, visit);
    }
    visit(const_cast<Head*>(&head));
  }
  /// Out of line: for changes of the tree's shape. Inlined, as in consolidate(), it takes fewer instructions.
  [[gnu::noinline]] static Merged entries(const Record* newest) { return Merged(newest, 0); }
  static Base* part(Key low, unsigned level, const Merged& merged, unsigned first, unsigned last) {
    Base* const base = make_node<Base>(level, low);
    for (unsigned i = first; i < last; ++i) base->append(merged.keys[i], merged.words[i]);
    return base;
  }

  /// The upper half becomes a node to the right, of which the parent is told then.
  void split(const Place& place, const Merged& merged, Session& session) {
    const Head& old = *place.newest->head;
    const unsigned level = place.newest->level;
    unsigned half = merged.count / 2;
    if (level > 0 && is_marked(merged.words[half])) ++half;  // of two neighbours one is not marked
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
      free_node(const_cast<Head*>(table_.load(id)->head));
      table_.give_back(id);
    }
    free_node(root);
  }
  /// The parent gets the term of a node that was split off, unless it has it, or the node has been removed
  /// meanwhile.
  void tell_parent(Key separator, unsigned level, NodeId node, Session& session) {
    for (Backoff wait;; wait()) {
      const MaybePlace parent = place_of(separator, level, session);
      if (!parent) return;  // a level is lost only if the one below has one node, the first
      const std::optional<std::uint64_t> term = Types::term_at(parent->newest, separator);
      if (term && unmarked(*term) == node) return;
      // A node is removed only while its parent has its term. So if the node is in use now, and the parent,
      // read before, has no such term, then a removal would change the parent and the delta fail.
      if (R::kTellsOfNodesInUse && table_.load(node)->kind == RecordKind::node_removal) return;
      if (term) {  // of a node that began there before, and was merged
        remove_term(separator, level, unmarked(*term), session);
      } else if (put_term(*parent, separator, node, session)) {
        return;
      }
    }
  }
  bool put_term(const Place& parent, Key separator, std::uint64_t word, Session& session) {
    return prepend(parent, {RecordKind::separator, word}, separator,
                   Types::next_separator(parent.newest, separator), session);
  }

  // Merging. Any thread can carry out the steps that follow a removal, by three rules:
  // - A term is marked only if neither neighbour is: the left neighbour of a removed node is in use.
  // - A marked term is not the first of its parent, and no split makes it so.
  // - The thread that has set a mark removes the node or takes the mark away. Others wait for neither.

  /// Merges a node that has become small with neighbours below the same parent, as long as it is small and
  /// there is room. With a parent that is merged meanwhile it has other neighbours.
  void merge_small(NodeId id, unsigned level, Session& session) {
    for (Backoff wait;; wait()) {
      const Record* const newest = table_.load(id);
      if (newest->kind == RecordKind::node_removal) return;
      const Key low = newest->head->low;
      const MaybePlace parent = place_of(low, level + 1, session);
      if (!parent) return;  // the node has become the root
      const Merged terms = entries(parent->newest);
      const unsigned i = terms.position_of(low);
      if (i == terms.count || terms.keys[i] != low || unmarked(terms.words[i]) != id) {
        tell_parent(low, level + 1, id, session);
        continue;
      }
      const unsigned upper = choose_removed(terms, i);
      if (upper == 0) return collapse_above(*parent, terms, session);
      const NodeId left = begin_merge(*parent, terms, upper, session);
      if (left == kNoNode) continue;
      if (level > 0) merge_seam(terms.keys[upper], level - 1, session);
      if (entries_of(left) >= kSmall) return;
      id = left;
    }
  }
  /// The children on both sides of `key` have one parent only now.
  void merge_seam(Key key, unsigned level, Session& session) {
    for (const Key side : {key - 1, key}) {
      const MaybePlace child = place_of(side, level, session);
      if (child && child->id != kRoot && entries_of(child->id) < kSmall)
        merge_small(child->id, level, session);
    }
  }
  /// The child that goes to its left neighbour: child i, else the next one. 0: neither can.
  unsigned choose_removed(const Merged& terms, unsigned i) const {
    if (i > 0 && can_merge(terms, i)) return i;
    return i + 1 < terms.count && can_merge(terms, i + 1) ? i + 1 : 0;
  }
  bool can_merge(const Merged& terms, unsigned upper) const {
    for (unsigned i = upper - 1; i < std::min(upper + 2, terms.count); ++i) {
      if (is_marked(terms.words[i])) return false;
    }
    const unsigned moved = entries_of(terms.words[upper]);
    return moved == 0 || (moved <= kMostMoved && moved + entries_of(terms.words[upper - 1]) <= kMostMerged);
  }
  /// More than fit if the node has been removed.
  unsigned entries_of(NodeId id) const {
    const Record* const newest = table_.load(id);
    return newest->kind == RecordKind::node_removal ? kCapacity + 1 : entries(newest).count;
  }
  /// @returns the node that has the entries of both; none if other changes of the parent or child came first.
  NodeId begin_merge(const Place& parent, const Merged& terms, unsigned upper, Session& session) {
    const NodeId id = terms.words[upper];
    const Key low = terms.keys[upper];
    const unsigned level = parent.newest->level;
    if (R::kMarksTerms && !put_term(parent, low, id | kMark, session)) return kNoNode;
    R::at(Step::term_marked);
    const Removal* const removal = remove_node(id, session);
    if (removal == nullptr) {
      // The level is there: it has two nodes below, as long as one has a mark.
      for (Backoff wait; !put_term(*place_of(low, level, session), low, id, session);) wait();
      return kNoNode;
    }
    R::at(Step::node_removed);
    const NodeId left = finish_removal(*removal, session);
    if (left == kNoNode) return kNoNode;  // other threads have seen to it, and to more
    const Record* const newest = table_.load(left);
    if (newest->head->kind == RecordKind::merge) consolidate({left, newest}, session);
    return left;
  }
  /// The thread that has marked a node's term ends the use of the node. Null: it has too many entries now.
  const Removal* remove_node(NodeId id, Session& session) {
    for (Backoff wait;; wait()) {
      const Record* const newest = table_.load(id);
      if (newest->head->kind == RecordKind::merge) {
        consolidate({id, newest}, session);
        continue;
      }
      if (entries(newest).count > kMostMoved) return nullptr;
      Removal* const removal = make_node<Removal>(table_, id, newest);
      if (table_.replace(id, newest, removal)) return removal;
      free_node(removal);
    }
  }
  /// The steps that are left once a node is removed. @returns its left neighbour; none if that has collapsed
  /// into the root since.
  NodeId finish_removal(const Removal& removal, Session& session) {
    const NodeId left = extend_left(removal, session);
    R::at(Step::node_merged);
    remove_term(removal.low, removal.level + 1u, removal.id, session);
    return left;
  }
  /// The left neighbour gets the entries, if it still links to the removed node.
  NodeId extend_left(const Removal& removal, Session& session) {
    for (Backoff wait;; wait()) {
      const MaybePlace left = place_of(removal.low - 1, removal.level, session);
      if (!left || left->id == kRoot) return kNoNode;
      const Head& head = *left->newest->head;
      if (head.right != removal.id) return left->id;
      if (head.kind == RecordKind::merge || left->newest->depth >= chain_of(removal.level)) {
        consolidate(*left, session);
        continue;
      }
      Merge* const merge = make_node<Merge>(left->newest, removal);
      if (table_.replace(left->id, left->newest, merge)) return left->id;
      free_node(merge);
    }
  }
  /// The parent forgets a node that is merged. The thread that has seen to it retires the node's number.
  void remove_term(Key key, unsigned level, NodeId id, Session& session) {
    for (Backoff wait;; wait()) {
      const MaybePlace parent = place_of(key, level, session);
      if (!parent) return;
      const std::optional<std::uint64_t> term = Types::term_at(parent->newest, key);
      if (!term || unmarked(*term) != id) return;
      const NodeId left = Types::child(parent->newest, key - 1);
      const Key bound = Types::next_separator(parent->newest, key);
      if (!prepend(*parent, {RecordKind::term_removal, left}, key, bound, session)) continue;
      retire_number(id, session);
      return note_removal(*parent, session);
    }
  }
  void retire_number(NodeId id, Session& session) {
    auto* const removal = static_cast<Removal*>(const_cast<Record*>(table_.load(id)));
    removal->is_unlinked = R::kRecyclesByEpochs;
    if (!R::kRecyclesByEpochs) table_.reuse(id);
    session.retire(removal);
  }

  // Collapse of the root. Any thread can carry out the steps that follow the first, by three rules:
  // - The first step is taken while the root has one term. So long as the root waits it gets no other. So a
  //   node that is split off from its child is not merged back: the child then has a right neighbour.
  // - The child is removed only if it has no right neighbour, and the root still waits for it. The records of
  //   the child are read before the root is looked at again.
  // - The root gets a usual base again only if the child has a right neighbour. So one of the two happens.

  /// The root's base if it waits for the contents of its only child; null: it does not.
  static const Base* collapsing(const Head* head) {
    if (head->kind != RecordKind::base) return nullptr;
    const auto* const base = static_cast<const Base*>(head);
    return base->is_collapsing ? base : nullptr;
  }
  /// Whether the entries make a root whose child can take its place: the only node of its level, and not so
  /// full that the root would soon be split again.
  bool can_collapse(const Base& root) const {
    if (root.level == 0 || root.count != 1) return false;
    const Record* const child = table_.load(root.words[0]);
    return child->head->high == kNoKey && entries(child).count <= kMostMoved;
  }
  /// The root's new base, which collapses if it can. `taken`: the child whose contents it has; null: none.
  /// The thread that has seen to it retires the child.
  void publish_root(const Record* newest, Base* base, const Removal* taken, Session& session) {
    const bool collapses = can_collapse(*base);
    if (collapses) base->begin_collapse();
    if (!publish({kRoot, newest}, base, session)) return free_node(base);
    if (taken != nullptr) {
      each_head(*taken->contents->head, [&](Head* head) { session.retire(head); });
      retire_number(taken->id, session);
    }
    if (!collapses) return;
    R::at(Step::root_waits);
    finish_collapse(*base, session);
  }
  /// A node has become small that cannot be merged: perhaps its parent is a root that it can replace.
  void collapse_above(const Place& parent, const Merged& terms, Session& session) {
    if (parent.id == kRoot && terms.count == 1) consolidate(parent, session);
  }
  /// The steps that are left while the root is `root`, which waits.
  void finish_collapse(const Base& root, Session& session) {
    const NodeId id = root.words[0];
    for (Backoff wait;; wait()) {
      const Record* const newest = table_.load(id);
      if (R::kLooksAtRootAgain && table_.load(kRoot) != &root) return;
      if (newest->kind == RecordKind::node_removal) {
        const auto& removal = *static_cast<const Removal*>(newest);
        const Merged merged = entries(removal.contents);
        return publish_root(&root, part(0, removal.level, merged, 0, merged.count), &removal, session);
      }
      if (R::kCollapsesWholeLevels && newest->head->high != kNoKey) {
        const Merged merged = entries(&root);
        return publish_root(&root, part(0, root.level, merged, 0, merged.count), nullptr, session);
      }
      if (newest->head->kind == RecordKind::merge || entries(newest).count > R::kEntries) {
        consolidate({id, newest}, session);
        continue;
      }
      Removal* const removal = make_node<Removal>(table_, id, newest);
      if (!table_.replace(id, newest, removal)) {
        free_node(removal);
        continue;
      }
      R::at(Step::child_removed);
    }
  }

  NodeId leftmost(unsigned level) const {
    NodeId id = kRoot;
    while (table_.load(id)->level > level) id = Types::child(table_.load(id), 0);
    return id;
  }

  MappingTable<Record> table_;
};

}  // namespace rubato::apps::ycsb::index::bwtree
