// The blocked children of blocked_children.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/blocked_children.hpp"

namespace rubato::chip {

void BlockedChildren::set_aside() {
  if (!state_.speculates()) return;
  if (const Task* first = state_.queue.earliest_aside(); first != nullptr && !first->waits_for_creator())
    state_.queue.recall();
  while (Task* task = state_.queue.earliest_free(Lane::untimestamped)) {
    if (task->descriptor.type != TaskType::spec || !task->waits_for_creator()) return;
    state_.queue.set_aside(task);
  }
}

void BlockedChildren::poll(Cycle now) {
  if (!state_.speculates()) return;
  const auto may_end = [](const Task& task) {
    return task.waits_for_creator() && !task.creator->is_suspended;
  };
  const Task* first = state_.queue.earliest(Lane::untimestamped);
  if ((first != nullptr && may_end(*first)) ||
      (state_.queue.earliest_aside() != nullptr && state_.queue.any_idle(Lane::untimestamped, may_end)))
    state_.reconsider_later(now + state_.context.config.arbiter.period);
}

}  // namespace rubato::chip
