// The narrow interface of an index: the structures that the task tree is compared with, and the B-link tree
// with latches. One operation is one call, by any number of threads, each with a session of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <functional>

#include "apps/ycsb/index/session.hpp"
#include "apps/ycsb/leaf.hpp"
#include "apps/ycsb/operation.hpp"
#include "apps/ycsb/tree.hpp"

namespace rubato::apps::ycsb::index {

/// Keys are at most kLargestKey. Every operation but scan() is linearizable; a scan is atomic node by node.
template <class I>
concept Index =
    requires(I& index, const I& resting, Key key, Value value, unsigned length, ScanBuffer& buffer,
             Session& session, const std::function<void(const leaf::Pair&)>& visit) {
      { index.lookup(key, session) } -> std::same_as<Answer>;
      { index.insert(key, value, session) } -> std::same_as<Answer>;  // only if the key is absent
      { index.update(key, value, session) } -> std::same_as<Answer>;  // only if the key is there
      { index.add(key, value, session) } -> std::same_as<Answer>;  // adds to the value, if the key is there
      { index.remove(key, session) } -> std::same_as<Answer>;
      { index.scan(key, length, buffer, session) } -> std::same_as<Answer>;  // `length` pairs from `key` on
      // While no operation runs:
      resting.for_each(visit);                         // all pairs, ascending
      { resting.check() } -> std::same_as<TreeShape>;  // walks all nodes
    };

template <Index I>
Answer execute(I& index, const Operation& operation, Session& session) {
  switch (operation.kind) {
    case Kind::lookup:
      return index.lookup(operation.key, session);
    case Kind::scan:
      return index.scan(operation.key, operation.length, *operation.buffer, session);
    case Kind::insert:
      return index.insert(operation.key, operation.argument, session);
    case Kind::update:
      return index.update(operation.key, operation.argument, session);
    case Kind::remove:
      return index.remove(operation.key, session);
    case Kind::add:
      return index.add(operation.key, operation.argument, session);
    case Kind::link:
    case Kind::refresh:
      break;
  }
  return {};
}

}  // namespace rubato::apps::ycsb::index
