// Requests of clients to the tree, and their answers.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb {

enum class Kind : std::uint8_t {
  lookup,
  scan,    ///< up to `length` pairs from `key` on, in order; atomic leaf by leaf
  insert,  ///< only if the key is absent
  update,  ///< only if the key is there
  remove,
  add,  ///< adds `argument` to the value, if the key is there
  // Operations of the tree itself, above the leaves:
  link,     ///< `key` is the lowest key of a node that was split off
  refresh,  ///< `key` is the lowest key of a node that is fuller or emptier than its link says
};

constexpr bool is_write(Kind kind) { return kind != Kind::lookup && kind != Kind::scan; }
constexpr bool is_internal(Kind kind) { return kind >= Kind::link; }

struct Answer {
  Value value = 0;        ///< lookup: the value; scan: how many pairs; writes: the value before
  bool is_found = false;  ///< the key was there
};

inline constexpr unsigned kLongestScan = 100;

/// Pairs that a scan has found. Tracked, since optimistic readers write it.
struct ScanBuffer {
  Entry pairs[kLongestScan];
};

struct Operation {
  Key key = 0;
  Value argument = 0;  ///< the value to write, or to add
  Kind kind = Kind::lookup;
  std::uint16_t length = 0;      ///< of a scan: 1 to kLongestScan
  ScanBuffer* buffer = nullptr;  ///< of a scan
};

}  // namespace rubato::apps::ycsb
