// Visit of one node: the step of which every operation of every variant consists (MxTasking, Fig. 6). A visit
// only looks at and changes its node and nodes that it has just made. It says where to go on, what to answer,
// and what else must be done elsewhere in the tree. The variant excludes other visits of the node. read() may
// run beside other reads, and beside one write if its caller then detects the traces of that write.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "apps/ycsb/cursor.hpp"
#include "apps/ycsb/inner.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/node.hpp"
#include "apps/ycsb/operation.hpp"

namespace rubato::apps::ycsb {

/// The part of the node that the visit will touch: bytes from the node's start.
struct Lines {
  std::uint32_t offset;
  std::uint32_t bytes;
};
inline Lines lines_of(const Cursor& c) {
  return {c.line() % Node::kLines * kLineBytes, (c.level() == 0 ? 1 : inner::kWindowLines) * kLineBytes};
}

/// Result of a visit: go on at `next` with `cursor`, or be done.
struct Visited {
  Link next;  ///< empty: done
  Cursor cursor;
  Answer answer;

  static Visited done(Answer answer) { return {Link(), Cursor(), answer}; }
  static Visited go(const Hop& hop, const Cursor& cursor) { return {hop.next(), cursor.at(hop), {}}; }
};

/// A write of the tree itself that a visit makes necessary; a new operation of its own, from the root.
struct FollowUp {
  Kind kind = Kind::link;
  std::uint8_t level = 0;  ///< where it takes place
  Key key = 0;
  Link child;
};

/// The leaf's part of a scan: its pairs from `key` on, behind those taken so far. The scan may have been here
/// before, and be sent back by a node that this one absorbed meanwhile: it goes on behind its last key. Not
/// inlined: other visits need no room for pairs.
[[gnu::noinline]] inline Visited scan_leaf(const Node& node, Key key, const Cursor& c,
                                           const Operation& operation) {
  unsigned taken = c.taken();
  leaf::Pairs pairs;
  leaf::collect(node, taken == 0 ? key : operation.buffer->pairs[taken - 1].key + 1, pairs);
  leaf::sort(pairs);
  for (unsigned i = 0; i < pairs.count && taken < operation.length; ++i, ++taken) {
    operation.buffer->pairs[taken].key = pairs.pairs[i].key;
    operation.buffer->pairs[taken].value = pairs.pairs[i].value;
  }
  const Link right = node.right();
  if (taken == operation.length || !right) return Visited::done({taken, taken != 0});
  return Visited::go({right, 0, 1}, c.with_taken(taken));
}

/// A visit that changes nothing. `self` is the link to `node`; `operation` is looked at by scans only.
[[gnu::always_inline]] inline Visited read(Link self, const Node& node, Key key, const Cursor& c,
                                           const Operation* operation) {
  if (c.level() != c.target()) {
    unsigned level = c.level(), line = c.line();
    if (level == kRootLevel) {
      level = node.level();
      line = inner::window_line(interpolate(0, kNoKey, key, node.count()));
    }
    if (level > c.target()) return Visited::go(inner::route(node, level, key, line), c);
    if (is_write(c.kind())) return {self, c.writing_root(), {}};  // known only now: again, as a writer
  }
  if (c.kind() == Kind::scan) {
    if (leaf::is_right_of(node, key)) return Visited::go({node.right(), 0, 1}, c);
    return scan_leaf(node, key, c, *operation);
  }
  if (const Entry* const entry = leaf::find(node, key)) return Visited::done({entry->value, true});
  if (leaf::is_right_of(node, key)) {
    return Visited::go({node.right(), 0, leaf::line_of(key)}, c);
  }
  return Visited::done({});
}

/// The root is full: its entries move into two new nodes below it. Memory::make(level) makes a node.
template <class Memory>
void grow(Node& root, Memory& memory) {
  const unsigned level = root.level();
  const Link left_link = memory.make(level), right_link = memory.make(level);
  Node& left = *left_link.node();
  Node& right = *right_link.node();
  Key separator;
  if (level == 0) {
    leaf::Pairs pairs;
    leaf::collect(root, 0, pairs);
    leaf::assign(left, {pairs.pairs.data(), pairs.count});
    leaf::assign(root, {});
    separator = leaf::split(left, right, right_link);
  } else {
    inner::move_entries(root, 0, left);
    separator = inner::split(left, right, right_link);
  }
  root.set_level(level + 1);
  inner::insert(root, 0, left_link.with_entries_hint(left.count()));
  inner::insert(root, separator, right_link.with_entries_hint(right.count()));
}

/// How often a node tells its parent how full it is: at every 4th entry.
inline std::optional<FollowUp> refresh_of(Link self, const Node& node) {
  const unsigned count = node.count();
  if (node.is_root() || count % 4 != 0) return std::nullopt;
  return FollowUp{Kind::refresh, static_cast<std::uint8_t>(node.level() + 1), node.entry(0).key,
                  self.with_entries_hint(count)};
}

/// Adds a pair or a child, splitting the node if it is full. Not for a full root.
template <class Memory>
std::optional<FollowUp> add_entry(Link self, Node& node, Key key, std::uint64_t value, Memory& memory) {
  const unsigned level = node.level();
  const auto put = [&](Node& to) {
    level == 0 ? leaf::add(to, key, value) : inner::insert(to, key, Link(value));
  };
  if (node.count() < (level == 0 ? leaf::kMaxEntries : Node::kEntries)) {
    put(node);
    return level == 0 ? std::nullopt : refresh_of(self, node);
  }
  const Link right_link = memory.make(level);
  Node& right = *right_link.node();  // private until this visit ends
  const Key separator =
      level == 0 ? leaf::split(node, right, right_link) : inner::split(node, right, right_link);
  put(key < separator ? node : right);
  return FollowUp{Kind::link, static_cast<std::uint8_t>(level + 1), separator,
                  level == 0 ? right_link : right_link.with_entries_hint(right.count())};
}

/// A visit that writes: alone at this node, which is of the cursor's target level unless the root has grown.
template <class Memory>
Visited write(Link self, Node& node, Key key, std::uint64_t argument, const Cursor& c, Memory& memory,
              std::optional<FollowUp>& follow_up) {
  if (c.is_root() && node.level() != c.target()) return {self, c.at_root(), {}};
  if (c.target() == 0) {  // first what needs only the line of the key
    if (Entry* const entry = leaf::find(node, key)) {
      const Answer answer{entry->value, true};
      if (c.kind() == Kind::update) entry->value = argument;
      if (c.kind() == Kind::add) entry->value = answer.value + argument;
      if (c.kind() == Kind::remove) leaf::remove(node, entry);
      return Visited::done(answer);
    }
  }
  if (leaf::is_right_of(node, key)) return Visited::go({node.right(), c.target(), c.line()}, c);
  if (c.kind() == Kind::refresh) inner::refresh(node, key, Link(argument));
  if (c.kind() != Kind::insert && c.kind() != Kind::link) return Visited::done({});
  if (node.is_root() && node.count() >= (c.target() == 0 ? leaf::kMaxEntries : Node::kEntries)) {
    grow(node, memory);
    return {self, c.at_root(), {}};
  }
  follow_up = add_entry(self, node, key, argument, memory);
  return Visited::done({});
}

}  // namespace rubato::apps::ycsb
