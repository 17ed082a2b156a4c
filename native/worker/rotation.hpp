// Choice of the next source of tasks: of the best waiting priority, one source after the other. R5.
// Knows the sources' names and which priorities wait there; not what they are (PrivateTasks, PoolTurns).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/perturbation.hpp"
#include "native/policy.hpp"
#include "native/pool/ready_set.hpp"
#include "native/worker/ring.hpp"

namespace rubato::inline v0::native {

/// Sources from which a worker takes its next tasks, in turn; a bit each.
struct Source {
  static constexpr unsigned kCurrent = 1, kReady = 2, kPinned = 4, kPacked = 8, kPrivate = 16;
};

/// The sources that have tasks, by priority.
class Waiting {
 public:
  void add(unsigned rank, unsigned source) { bits_ |= source << rank * kBits; }
  void remove(unsigned rank, unsigned source) { bits_ &= ~(source << rank * kBits); }
  unsigned of(unsigned rank) const { return bits_ >> rank * kBits & ((1u << kBits) - 1); }

 private:
  static constexpr unsigned kBits = 8;  // a priority
  unsigned bits_ = 0;
};

class Rotation {
 public:
  /// Moves what runs next into the ring: of the best priority that waits, from the current timestamp's tasks,
  /// ready pools and private tasks in turn; after policy::kPassLimit tasks one of a lower priority. Groups
  /// and timestamps were decided before: what is in these lists may run now. A ready pool may have nothing to
  /// give at the moment; then the next priority has its turn.
  ///
  /// `last`: the worst priority that is looked at. `take(source, rank, limit)` moves up to `limit` tasks into
  /// the ring and says whether the source has more; one that has not is no longer `waiting`.
  /// @returns false if there is nothing.
  template <class Take>
  bool take_next(const Ring& ring, Waiting& waiting, unsigned last, Take take) {
    for (unsigned best = 0; best <= last; ++best) {
      if (waiting.of(best) != 0 && take_of_rank(ring, waiting, best, take)) return true;
    }
    return false;
  }

  /// The current timestamp's tasks have a whole row of batches before them again.
  void begin_row() { current_row_ = 0; }

 private:
  /// `rank`: the best that is looked at. Something waits there.
  template <class Take>
  bool take_of_rank(const Ring& ring, Waiting& waiting, unsigned rank, Take& take) {
    std::uint64_t limit = threshold(policy::kBatch, 1u);
    for (unsigned lower = kPriorities - 1; lower > rank; --lower) {
      if (waiting.of(lower) == 0) continue;
      if (passed_[lower] >= policy::kPassLimit) {
        rank = lower;
        limit = 1;
        break;
      }
      limit = std::min(limit, policy::kPassLimit - passed_[lower]);
    }
    const unsigned before = ring.size();
    if ((waiting.of(rank) & Source::kCurrent) != 0 && current_row_ < threshold(policy::kCurrentRow, 1u)) {
      ++current_row_;
      if (!take(Source::kCurrent, rank, limit)) waiting.remove(rank, Source::kCurrent);
    } else {
      current_row_ = 0;
    }
    for (unsigned left = waiting.of(rank); left != 0 && ring.size() == before;) {
      const unsigned later = left & ~(last_source_ | (last_source_ - 1));
      const unsigned from = later != 0 ? later : left;
      last_source_ = from & -from;  // the next in turn
      left &= ~last_source_;
      if (!take(last_source_, rank, limit)) waiting.remove(rank, last_source_);
    }
    const unsigned taken = ring.size() > before ? ring.size() - before : 0;
    for (unsigned lower = rank + 1; lower < kPriorities; ++lower) {
      passed_[lower] = waiting.of(lower) != 0 ? passed_[lower] + taken : 0;
    }
    passed_[rank] = 0;
    return taken != 0;
  }

  unsigned current_row_ = 0;                // batches of the current timestamp's linked tasks in a row
  std::uint64_t passed_[kPriorities] = {};  // tasks of higher rank that ran while one of this rank waited
  unsigned last_source_ = Source::kPrivate;
};

}  // namespace rubato::inline v0::native
