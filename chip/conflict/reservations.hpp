// Lines that non-speculative tasks have load-reserved while others speculate (C12, C13). The caches alone
// cannot say what became of such a reservation: speculative stores take lines away as all stores do, yet they
// are later than every non-speculative access, and the store-conditional aborts them. If they made it fail,
// the earliest task might retry for ever while others run, abort and run again. So a reservation on tracked
// memory stands until a store is there for good: a non-speculative one of another core, or a committed one.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "chip/speculation/probe.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Invariant: at most one a core. Few stand at a time.
class Reservations {
 public:
  void make(CoreId core, LineAddr line) {
    end(core);
    standing_.push_back({core, line});
  }
  /// Ends the reservation of a core, if it has one.
  void end(CoreId core) {
    if (!standing_.empty()) std::erase_if(standing_, [&](const Reservation& r) { return r.core == core; });
  }
  bool stands(CoreId core, LineAddr line) const {
    return std::any_of(standing_.begin(), standing_.end(),
                       [&](const Reservation& r) { return r.core == core && r.line == line; });
  }

  /// A non-speculative task on core `by` stores to `line`. Its own reservation is not concerned.
  void on_store(CoreId by, LineAddr line) {
    if (!standing_.empty())
      std::erase_if(standing_, [&](const Reservation& r) { return r.line == line && r.core != by; });
  }
  /// The writes of a speculative task are permanent now.
  void on_commit(std::span<const Probe> written) {
    if (!standing_.empty())
      std::erase_if(standing_, [&](const Reservation& r) { return has_line(written, r.line); });
  }

 private:
  struct Reservation {
    CoreId core;
    LineAddr line;
  };
  std::vector<Reservation> standing_;
};

}  // namespace rubato::chip
