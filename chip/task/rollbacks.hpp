// A tile's rollbacks: the stores of attempts that were aborted, or stopped at an exception, are restored in
// time, the last one first: a chain of accesses (C14). Memory was restored in one step before, by the
// cascade.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class Rollbacks {
 public:
  explicit Rollbacks(TileState& state) : state_(state) {}

  /// Tasks of aborted attempts that will be idle again, or are discarded.
  const std::vector<Task*>& tasks() const { return tasks_; }
  bool any() const { return !tasks_.empty(); }

  /// `task` of an aborted attempt.
  void add(Task* task) {
    task->state = TaskState::rolling_back;
    task->index = static_cast<std::uint32_t>(tasks_.size());
    tasks_.push_back(task);
  }
  void start(Attempt* attempt, Cycle now) {
    if (std::exchange(attempt->is_rolling_back, true)) return;
    state_.schedule(now, TaskEvent::rollback_step, attempt->number);
  }
  /// The attempt's next store is restored. True: all are; its task, if it was aborted, is no longer here.
  bool step(Attempt* attempt, Cycle now) {
    if (attempt->undo.empty()) {
      attempt->is_rolling_back = false;
      if (attempt->is_victim) remove(attempt->task);
      return true;
    }
    const LineAddr line = line_of(attempt->undo.back().address);
    const AccessResult result = state_.context.memory.access(attempt->core, line, AccessKind::rollback, now);
    if (result.done) attempt->undo.pop_back();
    state_.schedule(result.done ? later(now + 1, result.cycle) : now + TileState::kRetry,
                    TaskEvent::rollback_step, attempt->number);
    return false;
  }

 private:
  void remove(Task* task) {
    tasks_[task->index] = tasks_.back();
    tasks_[task->index]->index = task->index;
    tasks_.pop_back();
  }

  TileState& state_;
  std::vector<Task*> tasks_;
};

}  // namespace rubato::chip
