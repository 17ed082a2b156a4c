// The suspended runs of suspensions.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/suspensions.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

bool Suspensions::has_nonspeculative() const {
  return any() && std::any_of(runs_.begin(), runs_.end(), [](const SuspendedRun& run) {
           return run.task != nullptr && run.task->attempt == nullptr;
         });
}

bool Suspensions::has_attempt() const {
  return any() && std::any_of(runs_.begin(), runs_.end(),
                              [](const SuspendedRun& run) { return run.attempt() != nullptr; });
}

void Suspensions::suspend(std::uint32_t slot, const DispatchedTask& what, Cycle now) {
  const bool is_doomed = state_.states[slot] == CoreState::doomed;
  Task* const task = state_.slots[slot].task;
  RUBATO_CHECK((task == nullptr) == is_doomed && what.run != 0, "no task leaves its core to wait");
  const std::uint32_t place = place_of(0);
  const bool is_attempt = is_doomed || task->attempt != nullptr;
  runs_[place] = {task, what, now, is_attempt};
  ++count_;
  ++state_.counts.suspended;
  if (is_attempt) ++state_.counts.suspended_attempts;
  if (task != nullptr) {
    task->is_suspended = true;
    if (task->attempt != nullptr) {
      task->attempt->state = Attempt::State::suspended;
      state_.context.speculation->stop_running(task->attempt->core);
    }
    if (!state_.speculates() && task->descriptor.type == TaskType::spec) atomic_ = task;
    state_.queue.move_holder(slot, kMaxCoresPerTile + place);
    state_.take_core(slot);
  }
  without_worker_ |= 1U << slot;
  state_.states.set(slot, CoreState::busy);
}

void Suspensions::resume(std::uint64_t run) {
  const std::uint32_t place = place_of(run);
  if (atomic_ != nullptr && runs_[place].task == atomic_) {
    resumable_.push_front(place);
  } else {
    resumable_.push_back(place);
  }
}

const Task* Suspensions::most_urgent() const {
  const Task* earliest = nullptr;
  for (const std::uint32_t place : resumable_) {
    const Task* const task = runs_[place].task;
    if (task == nullptr) continue;
    if (task->attempt == nullptr) return task;
    if (earliest == nullptr || task->virtual_time < earliest->virtual_time) earliest = task;
  }
  return earliest;
}

SuspendedRun Suspensions::start_next(std::uint32_t slot, Cycle now) {
  const std::uint32_t place = resumable_.front();
  resumable_.pop_front();
  const SuspendedRun run = std::exchange(runs_[place], {});
  if (--count_ == 0) {
    may_spec_start_ = false;
    started_before_spec_ = 0;
  }
  if (run.was_attempt) state_.counts.suspended_cycles += now - run.since;
  atomic_ = nullptr;
  if ((without_worker_ >> slot & 1) == 0) ++spare_workers_;  // the run brings one
  without_worker_ &= ~(1U << slot);
  if (run.is_doomed()) {
    state_.states.set(slot, CoreState::doomed);
    return run;
  }
  run.task->is_suspended = false;
  state_.queue.move_holder(kMaxCoresPerTile + place, slot);
  if (run.attempt() != nullptr) go_on(*run.attempt(), state_.core_of(slot));
  state_.give_core(slot, run.task, run.attempt() != nullptr);
  state_.states.set(slot, CoreState::running);
  return run;
}

void Suspensions::go_on(Attempt& attempt, CoreId core) {
  if (attempt.core != core) {
    attempt.cycles_before.push_back(attempt.cycles);
    attempt.cycles = {.core = core, .function = attempt.cycles.function};
    attempt.has_moved = true;
  }
  attempt.core = core;
  attempt.state = Attempt::State::running;
  state_.context.speculation->go_on(attempt);
}

void Suspensions::doom(const Attempt& attempt) {
  std::uint32_t place = 0;
  while (runs_[place].task != attempt.task) ++place;
  runs_[place].task = nullptr;
  attempt.task->is_suspended = false;
  ++state_.counts.suspended_doomed;
  state_.queue.finish(kMaxCoresPerTile + place);
}

bool Suspensions::let_spec_start() { return !std::exchange(may_spec_start_, true); }

}  // namespace rubato::chip
