// Clock of an access while the protocol resolves it. Every move of the clock is accounted to one part, so the
// parts add up to the latency of the access (C23).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.hpp"
#include "chip/speculation/conflict_check.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

class Path {
 public:
  explicit Path(Cycle now) : start_(now), at_(now) {}
  Cycle at() const { return at_; }
  Cycle start() const { return start_; }
  const AccessParts& parts() const { return parts_; }

  /// The access was in `part` until `until`; an earlier cycle costs nothing (it did not have to wait).
  void until(std::uint32_t AccessParts::*part, Cycle until) {
    if (until <= at_) return;
    parts_.*part += static_cast<std::uint32_t>(until - at_);
    at_ = until;
  }
  void spend(std::uint32_t AccessParts::*part, Latency cycles) {
    parts_.*part += static_cast<std::uint32_t>(cycles);
    at_ += cycles;
  }
  /// A conflict check took place.
  void note(const CheckResult& check) {
    spend(&AccessParts::check, check.cycles);
    disturbed_ |= check.disturbed;
  }
  AccessResult done(ServedBy served_by) const {
    RUBATO_DCHECK(Latency{parts_.l1} + parts_.l2 + parts_.llc + parts_.memory + parts_.network +
                      parts_.check ==
                  at_ - start_);
    return {.disturbed = disturbed_, .served_by = served_by, .cycle = at_, .parts = parts_};
  }
  AccessResult blocked(BlockReason reason) const {
    return {.done = false, .blocked = reason, .disturbed = disturbed_, .cycle = at_, .parts = parts_};
  }

 private:
  Cycle start_, at_;
  AccessParts parts_;
  bool disturbed_ = false;
};

}  // namespace rubato::chip
