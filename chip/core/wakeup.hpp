// The time when a core goes on: its one live entry in the timeline. Entries of older generations are ignored.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class Wakeup {
 public:
  /// Entries are for `handler`, of `kind`. `goes_on_at_once`: if no other event comes before the handler's
  /// next time, the handler runs again without the timeline. On large chips another event nearly always comes
  /// first, so the test is left out there.
  Wakeup(Timeline& timeline, EventHandler& handler, std::uint32_t kind, bool goes_on_at_once)
      : timeline_(timeline), handler_(handler), kind_(kind), goes_on_at_once_(goes_on_at_once) {}

  /// At `at`, if nothing earlier is scheduled. While the handler runs, when it has ended.
  void schedule(Cycle at) {
    if (is_handling_) {
      continue_at_ = earlier(continue_at_, at);
      return;
    }
    if (scheduled_ <= at) return;
    scheduled_ = at;
    timeline_.schedule(at, &handler_, kind_, ++generation_);
  }
  /// Cancels the live entry.
  void cancel() {
    ++generation_;
    scheduled_ = continue_at_ = kNever;
  }

  /// The entry is the live one.
  bool is_live(std::uint64_t generation) const { return generation == generation_; }
  /// The live entry's time has come: calls go_on(now), and again as long as that schedules a time that may
  /// come at once.
  template <class GoOn>
  void handle(Cycle now, const GoOn& go_on) {
    scheduled_ = kNever;
    for (Cycle at = now;; at = continue_at_) {
      continue_at_ = kNever;
      is_handling_ = true;
      go_on(at);
      is_handling_ = false;
      if (continue_at_ == kNever) return;
      if (!goes_on_at_once_ || continue_at_ >= timeline_.next() || continue_at_ >= timeline_.pause())
        return schedule(continue_at_);
    }
  }

 private:
  Timeline& timeline_;
  EventHandler& handler_;
  std::uint64_t generation_ = 0;
  Cycle scheduled_ = kNever;    // of the live entry
  Cycle continue_at_ = kNever;  // asked for by the handler that runs
  std::uint32_t kind_;
  const bool goes_on_at_once_;
  bool is_handling_ = false;
};

}  // namespace rubato::chip
