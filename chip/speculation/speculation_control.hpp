// Messages of the task units to a conflict scheme about attempts, and the query for the dependents of one
// that is undone. The scheme keeps the read and write sets as it likes. Espresso, Sec. V-A "Scalable
// speculation"; C12, C14, C18.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "chip/speculation/attempt.hpp"
#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

class SpeculationControl {
 public:
  virtual ~SpeculationControl() = default;
  /// A speculative task starts on attempt.core of attempt.tile: its sets are empty.
  virtual void begin(Attempt& attempt) = 0;
  /// The attempt on `core` finished, was suspended, aborted, excepted or goes on non-speculatively.
  virtual void stop_running(CoreId core) = 0;
  /// The attempt, which was suspended, goes on on attempt.core, with its sets.
  virtual void go_on(Attempt& attempt) = 0;
  /// Commit or abort: no access conflicts with the attempt any more. Its lists of lines stay.
  virtual void end(Attempt& attempt) = 0;
  /// end() of an attempt whose writes are permanent now.
  virtual void commit(Attempt& attempt) = 0;
  /// An exception undid the attempt's writes. Its read set stays armed and takes the written lines in, of
  /// which the task may have read other words (C18).
  virtual void drop_writes(Attempt& attempt) = 0;

  /// Appends the live attempts later than `vt` that read or wrote `line`, or may have, by tile and slot:
  /// those that depend on a write that is undone in tile `from`.
  virtual void later_accessors(TileId from, LineAddr line, VirtualTime vt,
                               std::vector<Attempt*>& out) const = 0;
  /// Appends all live attempts later than `vt`, by tile and slot.
  virtual void later_attempts(VirtualTime vt, std::vector<Attempt*>& out) const = 0;

  /// Software prefetch of the host memory that commit() or end() of a live attempt will touch. Only a hint.
  virtual void prefetch_end(const Attempt&) const {}
};

}  // namespace rubato::chip
