// The core's side of accesses that wait for messages (K11, K14). See deferral_unit.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/core.hpp"
#include "chip/core/pipeline.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

// In an event of its own: the protocol is in the middle of telling.
void Core::access_ready(LineAddr line, Cycle now) {
  CoreModel* const model = pipeline_.model();
  if (model != nullptr ? model->note_ready(line) : pipeline_.deferrals().note_ready(line))
    timeline_.schedule(later(now, timeline_.now()), this, kPerform, line.value);
  if (blocked_ && line == pipeline_.blocked_line()) wake(now);
}

void Core::perform(Cycle now, std::uint32_t kind, LineAddr line) {
  if (CoreModel* const model = pipeline_.model()) {
    model->perform(line, now);
    if (activity_ != Activity::thread) return;
    wakeup_.cancel();
    return wakeup_.handle(now, [this](Cycle at) { go_on(at); });
  }
  if (kind == kPerform) {
    pipeline_.deferrals().perform(line, now);
  } else {
    will_retry_ = false;
    pipeline_.deferrals().perform_blocked(now);
  }
  if (pipeline_.deferrals().take_fault()) return on_deferral_fault(now);
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
  pipeline_.deferrals().perform_at_once(0, ~Addr{0}, now);
  if (on_fault(fault, now)) wakeup_.schedule(later(now, reached()));
}

// Only loads and stores pass deferred accesses. A return has been executed; other instructions are retried.
bool Core::awaits_deferred(PipelineStop stop) {
  if (stop == PipelineStop::blocked) return false;
  if (stop == PipelineStop::returned) owed_ = stop;
  return awaits_deferred_ = true;
}

}  // namespace rubato::chip
