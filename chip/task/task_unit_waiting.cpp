// The task unit's suspended tasks: they wait in system calls, without a core (C18). Non-speculative, they
// count as running: their virtual times hold the GVT back, their locales are taken, a promotion waits for
// them. When a call is done, its task goes on before anything else begins.
//
// A suspended task keeps the worker whose stack it is on. Invariant: cores with a worker, workers to spare
// and suspended tasks together are as many as the tile's cores and the workers that it began the region with.
// A core without a worker, where none is to spare, goes on with what has waited, and spills where others wait
// for room; it is given nothing else.
//
// Where nothing speculates a SPEC task is atomic because it runs alone: it starts when none is suspended, or
// nothing else can proceed, and suspended lets nobody else run.
// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

void TaskUnit::suspend(CoreId core, Cycle now) {
  touch();
  const std::uint32_t slot = slot_of(core);
  CoreSlot& c = slots_[slot];
  RUBATO_CHECK(c.task != nullptr && c.task->attempt == nullptr, "only a non-speculative task is suspended");
  std::uint32_t place = 0;
  while (suspended_[place] != nullptr) ++place;
  suspended_[place] = c.task;
  ++suspended_count_;
  ++stats_.suspended;
  c.task->is_suspended = true;
  if (context_.detector == nullptr && c.task->descriptor.type == TaskType::spec) atomic_ = c.task;
  queue_.move_holder(slot, kMaxCoresPerTile + place);
  if (context_.observer != nullptr) context_.observer->on_suspended(c.task->id, core, now);
  take_core(slot);
  without_worker_ |= 1U << slot;
  states_.set(slot, CoreState::busy);
  evaluate(now);
}

void TaskUnit::resume(std::uint64_t id, Cycle now) {
  std::uint32_t place = 0;
  while (suspended_[place] == nullptr || suspended_[place]->id != id) ++place;
  if (suspended_[place] == atomic_) {
    resumable_.push_front(place);
  } else {
    resumable_.push_back(place);
  }
  evaluate(now);
}

// They may be waiting for it, or for what it hides or has kept from starting.
bool TaskUnit::go_on_beside_suspended(Cycle now) {
  if (!is_spec_waiting_ || may_spec_start_) return false;
  may_spec_start_ = true;
  evaluate(now);
  return true;
}

Task* TaskUnit::start_resumed(std::uint32_t slot, Cycle now) {
  const std::uint32_t place = resumable_.front();
  resumable_.pop_front();
  Task* task = std::exchange(suspended_[place], nullptr);
  if (--suspended_count_ == 0) {
    may_spec_start_ = false;
    started_before_spec_ = 0;
  }
  task->is_suspended = false;
  atomic_ = nullptr;
  queue_.move_holder(kMaxCoresPerTile + place, slot);
  if ((without_worker_ >> slot & 1) == 0) ++spare_workers_;  // the task brings one
  without_worker_ &= ~(1U << slot);
  give_core(slot, task, false);
  states_.set(slot, CoreState::running);
  // While it was suspended nobody asked whether it had ended, see poll_blocked_creators().
  if (context_.detector != nullptr && !task->descriptor.has_timestamp)
    for (const auto& tile : tiles_) tile->reconsider_later(now);
  return task;
}

}  // namespace rubato::chip
