// A core's cycles (C23): charged to a class, or to the attempt whose fate will decide on their class.
//
// Invariant: every cycle before accounted() is charged exactly once, and none from there on.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "chip/core/stall_account.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CoreAccount {
 public:
  CoreAccount(CoreId core, CycleAccount& account) : core_(core), account_(account) {}

  Cycle accounted() const { return accounted_; }
  /// From now on the core works for the task function at `function`; 0: for no task.
  void run_function(Addr function) { account_.run_function(core_, function); }

  /// Charges [accounted(), until) to `c`: to the parts that `stalls` has, which is taken, and else the core's
  /// own.
  void charge(CycleClass c, Cycle until, StallAccount& stalls) {
    charge_parts(until, stalls,
                 [&](CyclePart part, Latency cycles) { account_.charge(core_, c, part, cycles); });
  }
  /// The same to an attempt.
  void charge(AttemptCycles& attempt, Cycle until, StallAccount& stalls) {
    charge_parts(until, stalls, [&](CyclePart part, Latency cycles) { attempt.charge(part, cycles); });
  }

 private:
  template <class Charge>
  void charge_parts(Cycle until, StallAccount& stalls, const Charge& charge) {
    if (!stalls.any()) {  // mostly: it waited for nothing
      if (until > accounted_) charge(CyclePart::core, until - accounted_);
      accounted_ = later(accounted_, until);
      return;
    }
    const auto parts = stalls.take();
    if (until <= accounted_) return;
    Latency rest = until - accounted_;
    for (unsigned p = 0; p < kCycleParts; ++p) {
      // Branch-free: the parts that are zero are unpredictable.
      const Latency share = std::min<Latency>(parts[p], rest);
      charge(static_cast<CyclePart>(p), share);
      rest -= share;
    }
    charge(CyclePart::core, rest);
    accounted_ = until;
  }

  CoreId core_;
  Cycle accounted_{};
  CycleAccount& account_;
};

}  // namespace rubato::chip
