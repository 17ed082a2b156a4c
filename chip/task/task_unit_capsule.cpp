// The task unit's part in capsules: abort handlers and doomed runs. Espresso, Sec. IV-C, V-C; P34 to P46.
//
// A handler is a task without timestamp, locale and parent. It becomes one where its attempt is aborted, in a
// batch of the tile's chain of spilled tasks: so it needs no entry of a full task queue, and refills read it
// when there is room, as ever.
// SPDX-License-Identifier: MIT
#include <vector>

#include "base/check.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

void TaskUnit::on_abort(CoreId core, const TaskDescriptor& handler) {
  ++stats_.handlers_registered;
  slots_[slot_of(core)].task->attempt->handlers.push_back(handler);
}

void TaskUnit::doom(CoreId core, AbortCause cause, Cycle now) {
  touch();
  Attempt* attempt = slots_[slot_of(core)].task->attempt;
  context_.aborts->abort({&attempt, 1}, {cause, LineAddr{}, core, attempt->task}, now);
}

void TaskUnit::run_handlers(std::span<const TaskDescriptor> handlers, CoreId core, Cycle now) {
  if (handlers.empty()) return;
  touch();
  stats_.handlers_queued += handlers.size();
  std::vector<Task*> tasks;
  for (std::size_t i = handlers.size(); i-- > 0;) {
    Task* task = context_.make_task(handlers[i], 0);
    ++stats_.created;
    if (context_.observer != nullptr) context_.observer->on_created(task->id, 0, handlers[i], core, now);
    tasks.push_back(task);
  }
  add_initial(tasks);
  reconsider_later(now);
}

void TaskUnit::drop_handlers(Attempt& attempt) {
  stats_.handlers_dropped += attempt.handlers.size();
  attempt.handlers.clear();
}

void TaskUnit::end_doomed(CoreId core, Cycle now) {
  touch();
  const std::uint32_t slot = slot_of(core);
  RUBATO_CHECK(states_[slot] == CoreState::doomed, "a run ends that was not doomed");
  states_.set(slot, CoreState::busy);
  if (is_empty()) context_.arbiter->arm(now);
  evaluate(now);
}

}  // namespace rubato::chip
