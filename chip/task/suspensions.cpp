// The suspended tasks of suspensions.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/suspensions.hpp"

#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

void Suspensions::suspend(std::uint32_t slot) {
  Task* const task = state_.slots[slot].task;
  RUBATO_CHECK(task != nullptr && task->attempt == nullptr, "only a non-speculative task is suspended");
  std::uint32_t place = 0;
  while (suspended_[place] != nullptr) ++place;
  suspended_[place] = task;
  ++count_;
  ++state_.counts.suspended;
  task->is_suspended = true;
  if (!state_.speculates() && task->descriptor.type == TaskType::spec) atomic_ = task;
  state_.queue.move_holder(slot, kMaxCoresPerTile + place);
  state_.take_core(slot);
  without_worker_ |= 1U << slot;
  state_.states.set(slot, CoreState::busy);
}

void Suspensions::resume(std::uint64_t id) {
  std::uint32_t place = 0;
  while (suspended_[place] == nullptr || suspended_[place]->id != id) ++place;
  if (suspended_[place] == atomic_) {
    resumable_.push_front(place);
  } else {
    resumable_.push_back(place);
  }
}

Task* Suspensions::start_next(std::uint32_t slot) {
  const std::uint32_t place = resumable_.front();
  resumable_.pop_front();
  Task* const task = std::exchange(suspended_[place], nullptr);
  if (--count_ == 0) {
    may_spec_start_ = false;
    started_before_spec_ = 0;
  }
  task->is_suspended = false;
  atomic_ = nullptr;
  state_.queue.move_holder(kMaxCoresPerTile + place, slot);
  if ((without_worker_ >> slot & 1) == 0) ++spare_workers_;  // the task brings one
  without_worker_ &= ~(1U << slot);
  state_.give_core(slot, task, false);
  state_.states.set(slot, CoreState::running);
  return task;
}

bool Suspensions::let_spec_start() { return !std::exchange(may_spec_start_, true); }

}  // namespace rubato::chip
