// The common state of all task units: task_context.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_context.hpp"

namespace rubato::chip {

Task* TaskContext::make_task(const TaskDescriptor& descriptor, std::uint64_t parent) {
  // Ties are first in, first out but for a few places, which the seed decides (C29). Unique: two that agree
  // above the low byte were created within eight of each other.
  constexpr std::uint64_t kPlaces = 8;
  Task* task = pool.acquire();
  task->descriptor = descriptor;
  task->id = next_id++;
  task->parent = parent;
  task->tie = (task->id + rng.below(kPlaces)) << 8 | (task->id & 0xff);
  task->descriptor.type = runs_as(descriptor.type);
  return task;
}

void TaskContext::settle(Attempt& attempt, CycleClass fate) {
  account->settle(attempt.cycles, fate);
  for (const AttemptCycles& before : attempt.cycles_before) account->settle(before, fate);
  attempt.cycles_before.clear();
}

void TaskContext::wake_waiting_for_fate(Cycle now) {
  for (const CoreId core : waiting_for_fate) host.wake(core, now);
  waiting_for_fate.clear();
}

}  // namespace rubato::chip
