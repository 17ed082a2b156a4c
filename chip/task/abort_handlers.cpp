// The handlers of abort_handlers.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/abort_handlers.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

void AbortHandlers::add(Task* task, LineAddr record, Cycle now) {
  task->tile = state_.tile;
  task->state = TaskState::spilled;
  unread_.push_back({.task = task, .record = record, .since = now});
  state_.counts.handlers_most_waiting = std::max(state_.counts.handlers_most_waiting, ++waiting_);
}

void AbortHandlers::start_read(std::uint32_t slot) {
  RUBATO_CHECK(!is_reading(slot), "a core reads the records of two handlers at once");
  reading_[slot] = unread_.front();
  unread_.pop_front();
}

// As a refill reads a batch: an access, then a place in the dispatch order.
Cycle AbortHandlers::step_read(CoreId core, Cycle now) {
  Waiting& reading = reading_[state_.slot_of(core)];
  if (reading.arrival == Cycle{}) {
    const AccessResult result =
        state_.context.memory.access(core, reading.record, AccessKind::untracked_load, now);
    if (!result.done) return now + TileState::kRetry;
    reading.arrival =
        later(now + 1, result.cycle) + std::max<Latency>(1, state_.context.config.task.create_cycles);
  }
  if (now < reading.arrival) return reading.arrival;
  state_.context.host.free_record(reading.record);
  ready_.push_back(std::exchange(reading, {}));
  ready_.back().task->state = TaskState::idle;
  return kNever;
}

void AbortHandlers::start(Cycle now) {
  state_.counts.handlers_waited += now - ready_.front().since;
  --waiting_;
  ready_.pop_front();
}

}  // namespace rubato::chip
