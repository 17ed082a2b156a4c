// The task unit's part in capsules: abort handlers and doomed runs. Espresso, Sec. IV-C, V-C; P34 to P46.
//
// A handler is a task without timestamp, locale and parent. It becomes one where its attempt is aborted, and
// waits in abort_handlers.hpp.
// SPDX-License-Identifier: MIT
#include <utility>

#include "base/check.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

void TaskUnit::on_abort(CoreId core, const Handler& handler) {
  ++state_.counts.handlers_registered;
  state_.slots[state_.slot_of(core)].task->attempt->handlers.push_back(handler);
}

void TaskUnit::doom(CoreId core, AbortCause cause, Cycle now) {
  state_.touch();
  Attempt* attempt = state_.slots[state_.slot_of(core)].task->attempt;
  context_.aborts->abort({&attempt, 1}, {cause, LineAddr{}, core, attempt->task}, now);
}

void TaskUnit::run_handlers(std::span<const Handler> handlers, CoreId core, Cycle now) {
  if (handlers.empty()) return;
  state_.touch();
  if (context_.capsule_fault == CapsuleFault::handler_lost) handlers = handlers.first(handlers.size() - 1);
  state_.counts.handlers_queued += handlers.size();
  std::size_t added = 0;
  for (std::size_t i = handlers.size(); i-- > 0;) {
    Task* task = context_.make_task(handlers[i].task, 0);
    ++state_.counts.created;
    if (context_.observer != nullptr) {
      context_.observer->on_created(task->id, 0, handlers[i].task, core, now);
      context_.observer->on_handler_queued(task->id, core, now);
    }
    handlers_.add(task, handlers[i].record, now);
    if (context_.capsule_fault == CapsuleFault::handler_twice && ++added <= handlers.size()) ++i;
  }
  state_.reconsider_later(now);
}

void TaskUnit::drop_handlers(Attempt& attempt, CapsuleFault otherwise, Cycle now) {
  if (context_.capsule_fault == otherwise)
    return run_handlers(std::exchange(attempt.handlers, {}), attempt.core, now);
  state_.counts.handlers_dropped += attempt.handlers.size();
  for (std::size_t i = attempt.handlers.size(); i-- > 0;)
    context_.host.free_record(attempt.handlers[i].record);
  attempt.handlers.clear();
}

void TaskUnit::end_doomed(CoreId core, Cycle now) {
  state_.touch();
  const std::uint32_t slot = state_.slot_of(core);
  RUBATO_CHECK(state_.states[slot] == CoreState::doomed, "a run ends that was not doomed");
  state_.states.set(slot, CoreState::busy);
  if (context_.observer != nullptr) context_.observer->on_doomed_ended(core, now);
  if (is_empty()) context_.arbiter->arm(now);
  evaluate(now);
}

}  // namespace rubato::chip
