// The task unit's handling of attempts that make room, as found by room_finder.hpp, and of waiting earlier
// tasks. Espresso, Sec. V-A; C9, C13, C17, C18.
// SPDX-License-Identifier: MIT
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

void TaskUnit::give_way(const Obstacle& obstacle, Cycle now) {
  spiller_.prefer(obstacle.by);
  Attempt* attempt = obstacle.attempt;
  context_.aborts->abort({&attempt, 1}, {obstacle.cause, LineAddr{}, attempt->core, obstacle.by}, now);
}

void TaskUnit::reconsider(Cycle now) {
  if (state_.reconsider_at <= now) state_.reconsider_at = kNever;
  state_.queue.recall();
  stopped_.end_needless([this] { return choice_.view(); }, now);
  stopped_.request_promotions(now);
  end_stalls_of_earliest(now);
  if (const Candidates candidates = choice_.candidates(); !room_.is_unobstructed(candidates))
    if (const Obstacle obstacle = room_.find(candidates); obstacle.attempt != nullptr)
      give_way(obstacle, now);
  commit_room_.wake_finishing(now);
  admission_.serve_waiting(now);
  admission_.serve_senders(now);
  evaluate(now);
}

// The earliest active task needs no room for what it creates, or is promoted.
void TaskUnit::end_stalls_of_earliest(Cycle now) {
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot) {
    const CoreSlot& c = state_.slots[slot];
    if (state_.states[slot] != CoreState::stalled || c.granted || c.task->attempt == nullptr ||
        !state_.is_earliest(*c.task->attempt) || c.task->uncommitted_parent != nullptr)
      continue;
    if (!become_nonspeculative(slot, now) && c.task->descriptor.type == TaskType::spec) {
      const CoreId core = state_.core_of(slot);
      context_.host.abort_running(core, now);
      exception(core, now, false);
      state_.states.set(slot, CoreState::waking);
      context_.host.wake(core, now);
    }
  }
}

}  // namespace rubato::chip
