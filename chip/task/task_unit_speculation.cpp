// The task unit's speculative side: attempts from dispatch to finish or abort, rollbacks in time, exceptions
// and promotions. Espresso, Sec. V-A, V-B; C9 to C18.
//
// An abort has two halves. AbortCascade finds all that must go and restores memory in one step; here tasks,
// queues and cores follow: a rollback is a chain of accesses in time, after which its task is idle again (or
// gone) and its core, or commit-queue entry, is free.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

namespace {

/// Its cycles are lost; the profile says to what.
void settle_aborted(TaskContext& context, Attempt& attempt, const AbortReason& reason) {
  const auto sum = [](const AttemptCycles& cycles) {
    return std::accumulate(cycles.parts.begin(), cycles.parts.end(), std::uint64_t{0});
  };
  std::uint64_t lost = sum(attempt.cycles);
  for (const AttemptCycles& before : attempt.cycles_before) lost += sum(before);
  context.profile.add(reason.cause, attempt.cycles.function,
                      reason.by_task != nullptr ? reason.by_task->descriptor.name() : 0, reason.line, lost);
  context.settle(attempt, CycleClass::aborted);
  attempt.cycles.parts = {};
}

/// Whether an abort teaches the throttle. Aborts for want of room, or with the parent, do not: the task's
/// distance did not cause them.
bool teaches_throttle(const Task& task, AbortCause cause) {
  const bool met_others =
      cause == AbortCause::conflict || cause == AbortCause::dependence || cause == AbortCause::forwarding;
  return met_others && task.descriptor.type == TaskType::mayspec;
}

}  // namespace

// ---- Dispatch and finish ----

bool TaskUnit::runs_attempts() const {
  const auto runs_attempt = [](const CoreSlot& slot) {
    return slot.task != nullptr && slot.task->attempt != nullptr;
  };
  return handlers_.any() || rollbacks_.any() || state_.states.in(CoreState::doomed) != 0 ||
         suspensions_.has_attempt() || std::any_of(state_.slots.begin(), state_.slots.end(), runs_attempt);
}

void TaskUnit::start_attempt(Task* task, VirtualTime time, CoreId core) {
  Attempt* attempt = context_.attempts.acquire();
  attempt->task = task;
  attempt->virtual_time = time;
  attempt->tile = state_.tile;
  attempt->core = core;
  attempt->state = Attempt::State::running;
  attempt->cycles.core = core;
  attempt->cycles.function = task->descriptor.name();
  task->attempt = attempt;
  context_.speculation->begin(*attempt);
}

bool TaskUnit::finish_attempt(std::uint32_t slot, Cycle now) {
  CoreSlot& c = state_.slots[slot];
  Task* task = c.task;
  Attempt* attempt = task->attempt;
  if (!commit_room_.make_room(*attempt, now)) {
    if (state_.states[slot] != CoreState::finishing) ++state_.counts.commit_stalls;
    state_.states.set(slot, CoreState::finishing);
    context_.arbiter->arm(now);
    evaluate(now);
    return false;
  }
  state_.account_commits(now);
  attempt->state = Attempt::State::finished;
  context_.speculation->stop_running(attempt->core);
  state_.commit_queue.add(attempt);
  state_.leave_core(slot, CoreState::busy);
  task->state = TaskState::finished;
  ++state_.counts.finished;
  if (context_.observer != nullptr) context_.observer->on_finished(task->id, attempt->core, now);
  context_.arbiter->arm(now);
  evaluate(now);
  return true;
}

// ---- Exceptions and promotions (C18) ----

bool TaskUnit::exception(CoreId core, Cycle now, bool goes_on) {
  const std::uint32_t slot = state_.slot_of(core);
  Attempt* attempt = state_.slots[slot].task->attempt;
  if (attempt == nullptr) return false;
  state_.touch();
  ++state_.counts.excepted;
  const bool has_place = commit_room_.make_room(*attempt, now);
  if (state_.states[slot] == CoreState::stalled) admission_.forget_create(slot, now);
  context_.speculation->stop_running(attempt->core);
  state_.leave_core(slot, goes_on ? context_.doomed_state() : CoreState::busy);
  if (goes_on) ++state_.counts.doomed_runs;
  attempt->state = Attempt::State::exceptioned;
  attempt->task->state = TaskState::exceptioned;
  if (has_place) {
    state_.account_commits(now);
    state_.commit_queue.add(attempt);
    context_.cascade->except(*attempt, now);
  } else {  // without a place for its read set it can only run again
    context_.aborts->abort({&attempt, 1}, {AbortCause::exception, LineAddr{}, core, attempt->task}, now);
  }
  context_.arbiter->arm(now);
  state_.reconsider_later(now);
  return true;
}

// Memory is restored and the children are gone; the attempt keeps its read set.
void TaskUnit::except(Attempt* attempt, const AbortReason& reason, Cycle now) {
  state_.touch();
  context_.speculation->drop_writes(*attempt);
  settle_aborted(context_, *attempt, reason);
  context_.host.retire(*attempt, false);
  run_handlers(std::exchange(attempt->handlers, {}), attempt->core, now);
  rollbacks_.start(attempt, now);
}

void TaskUnit::on_stop(Cycle now) {
  state_.touch();
  stopped_.stop();
  stopped_.report_quiet(suspensions_.has_nonspeculative(), now);
  evaluate(now);
}

void TaskUnit::on_resume(Cycle now) {
  state_.touch();
  state_.is_stopped = false;
  // An attempt may have become the earliest meanwhile, or need not speculate any more.
  if (state_.has_stalled_attempt() || state_.commit_queue.has_exceptioned()) state_.reconsider_later(now);
  evaluate(now);
  if (is_empty()) context_.arbiter->arm(now);
}

void TaskUnit::on_grant(Task* task, Cycle now) {
  state_.touch();
  RUBATO_CHECK(task->state == TaskState::exceptioned && task->uncommitted_parent == nullptr,
               "a task that is not the earliest is promoted");
  stopped_.end(task->attempt, now);
  state_.queue.release_active(*task);
  task->state = TaskState::idle;
  task->is_promoted = true;
  state_.promoted = task;
  admission_.serve_waiting(now);
  commit_room_.wake_finishing(now);
  evaluate(now);
}

// C13: a running MAYSPEC task that is the earliest need not speculate any more: it needs no room in the
// commit queue, and what its signatures cannot tell from a conflict no longer aborts it. A SPEC task is
// atomic with respect to non-speculative ones: it is promoted instead, if it must stop.
bool TaskUnit::become_nonspeculative(std::uint32_t slot, Cycle now) {
  Task* task = state_.slots[slot].task;
  Attempt* attempt = task->attempt;
  if (!need_not_speculate(*attempt)) return false;
  context_.speculation->stop_running(attempt->core);
  commit_in_place(attempt, now);
  state_.give_core(slot, task, false);
  return true;
}

void TaskUnit::commit_in_place(Attempt* attempt, Cycle now) {
  Task* const task = attempt->task;
  context_.speculation->commit(*attempt);
  context_.wake_waiting_for_fate(now);
  if (attempt->state == Attempt::State::suspended) {
    context_.host.become_nonspeculative_suspended(task->id);
  } else {
    context_.host.become_nonspeculative(attempt->core);
  }
  context_.settle(*attempt, CycleClass::nonspeculative);
  task->attempt = nullptr;
  drop_handlers(*attempt, CapsuleFault::handlers_survive_in_place, now);
  state_.account_occupancy(now);
  state_.queue.release_active(*task);
  commit_children(*attempt, now);
  context_.host.retire(*attempt, true);
  context_.attempts.release(attempt);
  context_.arbiter->arm(now);
  state_.reconsider_later(now);
}

// ---- Aborts ----

// A non-speculative task that has aborted many attempts goes on doing so until it ends: they and the lines
// they share with it would slow down a task that all wait for. So those it aborts from now on wait until its
// timestamp is over.
Timestamp TaskUnit::count_aborts(CoreId core, std::size_t victims) {
  Task* const task = state_.slots[state_.slot_of(core)].task;
  if (task == nullptr || task->attempt != nullptr || !task->descriptor.has_timestamp) return 0;
  task->aborts += static_cast<std::uint32_t>(victims);
  const std::uint32_t limit = context_.config.task.yield_aborts;
  return limit != 0 && task->aborts >= limit ? task->descriptor.timestamp + 1 : 0;
}

void TaskUnit::abort(Attempt* attempt, const AbortReason& reason, Cycle now) {
  state_.touch();
  Task* task = attempt->task;
  if (attempt->state == Attempt::State::running) {
    const std::uint32_t slot = state_.slot_of(attempt->core);
    const bool goes_on = context_.host.abort_running(attempt->core, now);
    if (goes_on) ++state_.counts.doomed_runs;
    if (state_.states[slot] == CoreState::stalled) admission_.forget_create(slot, now);
    context_.speculation->stop_running(attempt->core);
    state_.leave_core(slot, goes_on ? context_.doomed_state() : CoreState::rolling_back);
    attempt->holds_core = !goes_on;
    std::erase(context_.waiting_for_fate, attempt->core);  // a wake-up would end the rollback
  } else if (attempt->state == Attempt::State::suspended) {
    suspensions_.doom(*attempt);
    ++state_.counts.doomed_runs;
    attempt->holds_core = false;
  } else if (attempt->is_queued) {
    state_.account_commits(now);
    state_.commit_queue.remove(attempt);
  }
  if (attempt->state == Attempt::State::exceptioned) context_.promotion->withdraw(task);
  context_.speculation->end(*attempt);
  settle_aborted(context_, *attempt, reason);
  ++state_.counts.aborted;
  if (teaches_throttle(*task, reason.cause)) choice_.aborted(*task);
  if (context_.observer != nullptr)
    context_.observer->on_aborted(task->id, attempt->core, reason, task->is_discarded, now);
  context_.host.retire(*attempt, false);
  task->speculates_from = std::max(task->speculates_from, reason.speculates_from);
  if (task->descriptor.type == TaskType::spec && reason.cause == AbortCause::conflict &&
      reason.by_task != nullptr && reason.by_task->attempt == nullptr)
    ++task->lost;
  rollbacks_.add(task);
  run_handlers(std::exchange(attempt->handlers, {}), attempt->core, now);
  rollbacks_.start(attempt, now);
  context_.arbiter->arm(now);
  state_.reconsider_later(now);
}

void TaskUnit::discard(Task* child, Cycle now) {
  state_.touch();
  if (child->state == TaskState::idle || child->state == TaskState::held) {
    state_.account_occupancy(now);
    child->state == TaskState::idle ? state_.queue.discard(child) : state_.queue.unhold(child);
    drop(child, now);
    return state_.reconsider_later(now);
  }
  // In flight, or with an attempt: dropped when it arrives or when its stores are restored.
  child->is_discarded = true;
  if (child->state != TaskState::in_flight) state_.queue.parent_committed(*child);
  child->uncommitted_parent = nullptr;
}

void TaskUnit::drop(Task* task, Cycle now) {
  if (task->descriptor.is_again) {
    context_.waits.discarded_again(task->descriptor);
  } else {
    ++state_.counts.discarded;
  }
  if (context_.observer != nullptr) context_.observer->on_discarded(task->id, now);
  context_.pool.release(task);
}

// An exceptioned task goes on waiting when its stores are restored.
void TaskUnit::step_rollback(Attempt* attempt, Cycle now) {
  state_.touch();
  if (context_.capsule_fault == CapsuleFault::doom_keeps_locale && attempt->undo.empty() &&
      state_.states[state_.slot_of(attempt->core)] == CoreState::doomed)
    return state_.schedule(now + TileState::kRetry, TaskEvent::rollback_step, attempt->number);
  if (!rollbacks_.step(attempt, now)) return;
  if (!attempt->is_victim) return state_.reconsider_later(now);
  Task* const task = attempt->task;
  if (attempt->holds_core) {
    state_.states.set(state_.slot_of(attempt->core), CoreState::waking);
    context_.host.wake(attempt->core, now);
  }
  context_.attempts.release(attempt);
  task->attempt = nullptr;
  state_.account_occupancy(now);
  if (task->is_discarded) {
    state_.queue.release_active(*task);
    drop(task, now);
    context_.arbiter->arm(now);  // its timestamp may have been what the GVT waits for, or the tile is empty
  } else {
    state_.queue.reinsert(task);
  }
  reconsider(now);
}

}  // namespace rubato::chip
