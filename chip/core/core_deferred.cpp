// The core's side of accesses that wait for messages (K11, K14). See deferral_unit.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/core.hpp"
#include "chip/core/pipeline.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

// In an event of its own: the protocol is in the middle of telling.
void Core::access_ready(LineAddr line, Cycle now) {
  if (model_->note_ready(line)) timeline_.schedule(later(now, timeline_.now()), this, kPerform, line.value);
  if (blocked_ && line == pipeline_.blocked_line()) wake(now);
}

void Core::perform(Cycle now, std::uint32_t kind, LineAddr line) {
  if (kind == kRetryDeferred) will_retry_ = false;
  const bool goes_on = kind == kPerform ? model_->perform(line, now) : model_->perform_blocked(now);
  if (pipeline_.deferrals().take_fault()) return on_deferral_fault(now);
  const bool runs =
      activity_ == Activity::thread || activity_ == Activity::task || activity_ == Activity::doomed;
  if (goes_on && runs && !stalled_ && !blocked_) {
    wakeup_.cancel();
    return wakeup_.handle(now, [this](Cycle at) { go_on(at); });
  }
  if (awaits_deferred_) wakeup_.schedule(later(now, reached()));
}

// A page has lost its rights while an access to it was deferred. A speculative task's fault may be
// misspeculation. Other accesses were performed before the page changed, so their fault is as late as that
// of a machine with imprecise faults.
void Core::on_deferral_fault(Cycle now) {
  const Fault fault = pipeline_.fault();
  if (is_exception(now)) {
    pipeline_.stop_task();
    blocked_ = awaits_deferred_ = false;
    return;
  }
  model_->perform_at_once(0, ~Addr{0}, now);
  if (on_fault(fault, now)) wakeup_.schedule(later(now, reached()));
}

}  // namespace rubato::chip
