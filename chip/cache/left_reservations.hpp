// Reservations (lr) whose lines have left their L1 caches. Eviction and recall are no reasons for an sc to
// fail: with few ways, cores that reserve different lines of one set would undo each other's for ever. An L1
// sees the stores of other cores only while it has the line. So the memory system asks here on every store
// that reaches it. Invariant: while a reservation is listed, no other L1 gets its line exclusively by reading
// it.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class L1Cache;

/// At most one entry an L1. An entry counts only while the L1 still has that reservation: the core's side
/// ends reservations without a look here.
class LeftReservations {
 public:
  bool empty() const { return entries_.empty(); }
  /// `line` is the program's own, as the L1's are; those below are as outside of L1s (K81).
  void add(L1Cache& l1, LineAddr line);
  /// True if a cache other than `self` has a reservation on `line`.
  bool has(LineAddr line, const L1Cache& self) const;
  /// A store to `line` through `by`: all others' reservations on it end.
  void on_store(LineAddr line, const L1Cache& by);

 private:
  struct Entry {
    L1Cache* l1;
    LineAddr line;
  };
  std::vector<Entry> entries_;
};

}  // namespace rubato::chip
