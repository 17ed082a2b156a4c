// The B-link tree with latches as an index: the task tree's structure, in which a thread makes all visits of
// an operation. It keeps empty nodes, so that it needs no epochs.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/ycsb/index/index.hpp"
#include "apps/ycsb/latched_visit.hpp"

namespace rubato::apps::ycsb::index {

template <class Latch>
class BlinkIndex {
 public:
  Answer lookup(Key key, Session&) { return ask({.key = key}); }
  Answer insert(Key key, Value value, Session&) { return ask({key, value, Kind::insert}); }
  Answer update(Key key, Value value, Session&) { return ask({key, value, Kind::update}); }
  Answer add(Key key, Value value, Session&) { return ask({key, value, Kind::add}); }
  Answer remove(Key key, Session&) { return ask({key, 0, Kind::remove}); }
  Answer scan(Key key, unsigned length, ScanBuffer& buffer, Session&) {
    return ask({key, 0, Kind::scan, static_cast<std::uint16_t>(length), &buffer});
  }
  template <class Next, class Progress>
  void bulk_load(std::uint64_t pairs, const Next& next, const Progress& progress) {
    tree_.bulk_load(pairs, next, progress);
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    tree_.for_each(visit);
  }
  TreeShape check() const { return tree_.check(); }

 private:
  Answer ask(const Operation& operation) { return ycsb::execute(tree_.root(), operation, 0, tree_.memory()); }

  Tree<LatchedMemory<Latch>> tree_;
};

}  // namespace rubato::apps::ycsb::index
