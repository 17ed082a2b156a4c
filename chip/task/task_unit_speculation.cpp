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

// ---- Dispatch and finish ----

void TaskUnit::start_attempt(Task* task, VirtualTime time, CoreId core) {
  Attempt* attempt = context_.attempts.acquire();
  attempt->task = task;
  attempt->virtual_time = time;
  attempt->tile = tile_;
  attempt->core = core;
  attempt->state = Attempt::State::running;
  attempt->cycles.core = core;
  attempt->cycles.function = task->descriptor.name();
  task->attempt = attempt;
  context_.detector->begin(*attempt);
}

// The task on `slot` leaves its core and its locale.
void TaskUnit::leave_core(std::uint32_t slot, CoreState next) {
  take_core(slot);
  states_.set(slot, next);
  queue_.finish(slot);
  queue_.prefetch_dispatch();
}

bool TaskUnit::finish_attempt(std::uint32_t slot, Cycle now) {
  CoreSlot& c = slots_[slot];
  Task* task = c.task;
  Attempt* attempt = task->attempt;
  if (!make_room_in_commit_queue(*attempt, now)) {
    if (states_[slot] != CoreState::finishing) ++stats_.commit_stalls;
    states_.set(slot, CoreState::finishing);
    context_.arbiter->arm(now);
    evaluate(now);
    return false;
  }
  account_commits(now);
  attempt->state = Attempt::State::finished;
  context_.detector->stop_running(attempt->core);
  commit_queue_.add(attempt);
  leave_core(slot, CoreState::busy);
  task->state = TaskState::finished;
  ++stats_.finished;
  if (context_.observer != nullptr) context_.observer->on_finished(task->id, attempt->core, now);
  context_.arbiter->arm(now);
  evaluate(now);
  return true;
}

// Of those that may be aborted.
std::size_t TaskUnit::latest_index() const {
  const auto& times = commit_queue_.times();
  const auto max = std::max_element(times.begin(), times.end());
  if (max == times.end()) return times.size();
  const auto is_safe = [&](std::size_t i) {
    return context_.arbiter->is_deciding(tile_, times[i]) &&
           context_.aborts->is_fate_pending(*commit_queue_.attempts()[i]);
  };
  if (const auto first = static_cast<std::size_t>(max - times.begin()); !is_safe(first)) return first;
  std::size_t latest = times.size();
  for (std::size_t i = 0; i < times.size(); ++i)
    if ((latest == times.size() || times[latest] < times[i]) && !is_safe(i)) latest = i;
  return latest;
}

Attempt* TaskUnit::latest_in_commit_queue() const {
  const std::size_t latest = latest_index();
  return latest == commit_queue_.size() ? nullptr : commit_queue_.attempts()[latest];
}

// Spilled tasks say that work is plentiful; elsewhere the core has nothing better to do than to run ahead.
// Then a full commit queue has no place for what would be later than all in it, as another attempt of the
// latest timestamp would be; and where the GVT's timestamp has had more tasks than the commit queue holds,
// others of it follow, and what runs ahead only adds to what is spilled.
std::optional<Timestamp> TaskUnit::hold_from() const {
  if (area_.tasks() == 0) return std::nullopt;
  const std::uint32_t capacity = commit_queue_.capacity();
  if (capacity != 0 && started_.timestamp == gvt().timestamp && started_.tasks >= capacity) return 0;
  if (!commit_queue_.full()) return std::nullopt;
  const std::size_t latest = latest_index();
  return latest != commit_queue_.size() ? commit_queue_.times()[latest].timestamp : 0;
}

// C17: an attempt that precedes one in a full commit queue takes the place of the latest. Null: it precedes
// none.
Attempt* TaskUnit::displaced_by(const Attempt& attempt) const {
  Attempt* latest = latest_in_commit_queue();
  return latest != nullptr && attempt.virtual_time < latest->virtual_time ? latest : nullptr;
}

bool TaskUnit::has_place_for(const Attempt& attempt) const {
  return !commit_queue_.full() || displaced_by(attempt) != nullptr;
}

bool TaskUnit::make_room_in_commit_queue(const Attempt& attempt, Cycle now) {
  if (!commit_queue_.full()) return true;
  Attempt* latest = displaced_by(attempt);
  if (latest == nullptr) return false;
  context_.aborts->abort({&latest, 1}, {AbortCause::commit_queue, LineAddr{}, attempt.core, attempt.task},
                         now);
  return true;
}

void TaskUnit::wake_finishing(Cycle now) {
  std::uint32_t rest = states_.in(CoreState::finishing);
  if (rest == 0) return;
  // The latest attempt may have been safe from a finish only while its fate was pending.
  const Attempt* latest = commit_queue_.full() ? latest_in_commit_queue() : nullptr;
  if (commit_queue_.full() && latest == nullptr) return;
  for (; rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
    const CoreSlot& c = slots_[slot];
    if (!c.borrowed && (latest == nullptr || c.task->attempt->virtual_time < latest->virtual_time))
      context_.host.wake(core_of(slot), now);
  }
}

// ---- Exceptions and promotions (C18) ----

bool TaskUnit::exception(CoreId core, Cycle now, bool goes_on) {
  const std::uint32_t slot = slot_of(core);
  Attempt* attempt = slots_[slot].task->attempt;
  if (attempt == nullptr) return false;
  touch();
  ++stats_.excepted;
  const bool has_place = make_room_in_commit_queue(*attempt, now);
  if (states_[slot] == CoreState::stalled) forget_create(slot, now);
  context_.detector->stop_running(attempt->core);
  leave_core(slot, goes_on ? CoreState::doomed : CoreState::busy);
  if (goes_on) ++stats_.doomed_runs;
  attempt->state = Attempt::State::exceptioned;
  attempt->task->state = TaskState::exceptioned;
  if (has_place) {
    account_commits(now);
    commit_queue_.add(attempt);
    context_.aborts->except(*attempt, now);
  } else {  // without a place for its read set it can only run again
    context_.aborts->abort({&attempt, 1}, {AbortCause::exception, LineAddr{}, core, attempt->task}, now);
  }
  context_.arbiter->arm(now);
  reconsider_later(now);
  return true;
}

// Memory is restored and the children are gone; the attempt keeps its read set.
void TaskUnit::except(Attempt* attempt, const AbortReason& reason, Cycle now) {
  touch();
  context_.detector->drop_writes(*attempt);
  settle_aborted(*attempt, reason);
  context_.host.retire(*attempt, false);
  run_handlers(std::exchange(attempt->handlers, {}), attempt->core, now);
  start_rollback(attempt, now);
}

void TaskUnit::start_rollback(Attempt* attempt, Cycle now) {
  if (std::exchange(attempt->is_rolling_back, true)) return;
  schedule(now, TaskEvent::rollback_step, attempt->number);
}

void TaskUnit::on_stop(Cycle now) {
  touch();
  is_stopped_ = owes_quiet_ = true;
  report_quiet(now);
  evaluate(now);
}

void TaskUnit::on_resume(Cycle now) {
  touch();
  is_stopped_ = false;
  // One may have become the earliest meanwhile, or need not speculate any more.
  if (stalled_attempts_ != 0 || commit_queue_.has_exceptioned()) reconsider_later(now);
  evaluate(now);
  if (is_empty()) context_.arbiter->arm(now);
}

void TaskUnit::report_quiet(Cycle now) {
  if (!owes_quiet_ || suspended_count_ != 0) return;
  for (std::uint32_t slot = 0; slot < cores_; ++slot)
    if (slots_[slot].task != nullptr && slots_[slot].task->attempt == nullptr) return;
  owes_quiet_ = false;
  context_.promotion->quiet(tile_, now);
}

// Its task runs again, and not speculatively.
void TaskUnit::end_exceptioned(Attempt* attempt, Cycle now) {
  account_commits(now);
  account_occupancy(now);
  commit_queue_.remove(attempt);
  context_.detector->end(*attempt);
  attempt->task->attempt = nullptr;
  context_.attempts.release(attempt);
}

// Exceptioned, of a MAYSPEC task that by now runs as a NONSPEC one would (C11): it need not be alone, nor
// wait for others of its timestamp, which perhaps wait for it in system calls.
Attempt* TaskUnit::need_not_be_promoted() const {
  Attempt* found = nullptr;
  commit_queue_.for_each_exceptioned([&](Attempt* attempt) {
    const Task* task = attempt->task;
    if (task->descriptor.type == TaskType::mayspec && !attempt->is_rolling_back &&
        context_.rule->may_run(*task, view()) == RunMode::non_speculative &&
        !context_.promotion->is_requested(task))
      found = attempt;
  });
  return found;
}

void TaskUnit::on_grant(Task* task, Cycle now) {
  touch();
  RUBATO_CHECK(task->state == TaskState::exceptioned && task->uncommitted_parent == nullptr,
               "a task that is not the earliest is promoted");
  end_exceptioned(task->attempt, now);
  queue_.release_active(*task);
  task->state = TaskState::idle;
  task->is_promoted = true;
  promoted_ = task;
  serve_waiting(now);
  wake_finishing(now);
  evaluate(now);
}

// C13: a running MAYSPEC task that is the earliest need not speculate any more: it needs no room in the
// commit queue, and what its signatures cannot tell from a conflict no longer aborts it. A SPEC task is
// atomic with respect to non-speculative ones: it is promoted instead, if it must stop.
bool TaskUnit::become_nonspeculative(std::uint32_t slot, Cycle now) {
  Task* task = slots_[slot].task;
  Attempt* attempt = task->attempt;
  if (task->descriptor.type != TaskType::mayspec || !is_earliest(*attempt) || is_stopped_ ||
      task->uncommitted_parent != nullptr)
    return false;
  context_.detector->stop_running(attempt->core);
  context_.detector->commit(*attempt);
  context_.wake_waiting_for_fate(now);
  context_.host.become_nonspeculative(attempt->core);
  context_.account->settle(attempt->cycles, CycleClass::nonspeculative);
  if (states_[slot] == CoreState::stalled) --stalled_attempts_;
  task->attempt = nullptr;
  give_core(slot, task, false);
  drop_handlers(*attempt);
  account_occupancy(now);
  queue_.release_active(*task);
  commit_children(*attempt, now);
  context_.host.retire(*attempt, true);
  context_.attempts.release(attempt);
  context_.arbiter->arm(now);
  reconsider_later(now);
  return true;
}

// ---- Aborts ----

void TaskUnit::settle_aborted(Attempt& attempt, const AbortReason& reason) {
  const auto& parts = attempt.cycles.parts;
  context_.profile.add(reason.cause, attempt.cycles.function,
                       reason.by_task != nullptr ? reason.by_task->descriptor.name() : 0, reason.line,
                       std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}));
  context_.account->settle(attempt.cycles, CycleClass::aborted);
  attempt.cycles.parts = {};
}

// A non-speculative task that has aborted many attempts goes on doing so until it ends: they and the lines
// they share with it would slow down a task that all wait for. So those it aborts from now on wait until its
// timestamp is over.
Timestamp TaskUnit::count_aborts(CoreId core, std::size_t victims) {
  Task* const task = slots_[slot_of(core)].task;
  if (task == nullptr || task->attempt != nullptr || !task->descriptor.has_timestamp) return 0;
  task->aborts += static_cast<std::uint32_t>(victims);
  const std::uint32_t limit = context_.config.task.yield_aborts;
  return limit != 0 && task->aborts >= limit ? task->descriptor.timestamp + 1 : 0;
}

// Of aborts for want of room, or with the parent, how far ahead a task was is not the cause.
void TaskUnit::learn_from_abort(const Task& task, AbortCause cause) {
  const bool met_others =
      cause == AbortCause::conflict || cause == AbortCause::dependence || cause == AbortCause::forwarding;
  if (throttle_ == nullptr || !met_others || task.descriptor.type != TaskType::mayspec) return;
  throttle_->aborted(task.descriptor, task.order - std::min(task.order, gvt().timestamp));
}

void TaskUnit::abort(Attempt* attempt, const AbortReason& reason, Cycle now) {
  touch();
  Task* task = attempt->task;
  if (attempt->state == Attempt::State::running) {
    const std::uint32_t slot = slot_of(attempt->core);
    const bool goes_on = context_.host.abort_running(attempt->core, now);
    if (goes_on) ++stats_.doomed_runs;
    if (states_[slot] == CoreState::stalled) forget_create(slot, now);
    context_.detector->stop_running(attempt->core);
    leave_core(slot, goes_on ? CoreState::doomed : CoreState::rolling_back);
    attempt->holds_core = !goes_on;
    std::erase(context_.waiting_for_fate, attempt->core);  // a wake-up would end the rollback
  } else if (attempt->is_queued) {
    account_commits(now);
    commit_queue_.remove(attempt);
  }
  if (attempt->state == Attempt::State::exceptioned) context_.promotion->withdraw(task);
  context_.detector->end(*attempt);
  settle_aborted(*attempt, reason);
  ++stats_.aborted;
  learn_from_abort(*task, reason.cause);
  if (context_.observer != nullptr)
    context_.observer->on_aborted(task->id, attempt->core, reason.cause, task->is_discarded, now);
  context_.host.retire(*attempt, false);
  task->speculates_from = std::max(task->speculates_from, reason.speculates_from);
  if (task->descriptor.type == TaskType::spec && reason.cause == AbortCause::conflict &&
      reason.by_task != nullptr && reason.by_task->attempt == nullptr)
    ++task->lost;
  task->state = TaskState::rolling_back;
  task->index = static_cast<std::uint32_t>(rolling_back_.size());
  rolling_back_.push_back(task);
  run_handlers(std::exchange(attempt->handlers, {}), attempt->core, now);
  start_rollback(attempt, now);
  context_.arbiter->arm(now);
  reconsider_later(now);
}

void TaskUnit::discard(Task* child, Cycle now) {
  touch();
  if (child->state == TaskState::idle || child->state == TaskState::held) {
    account_occupancy(now);
    child->state == TaskState::idle ? queue_.discard(child) : queue_.unhold(child);
    drop(child, now);
    return reconsider_later(now);
  }
  // In flight, or with an attempt: dropped when it arrives or when its stores are restored.
  child->is_discarded = true;
  if (child->state != TaskState::in_flight) queue_.parent_committed(*child);
  child->uncommitted_parent = nullptr;
}

void TaskUnit::drop(Task* task, Cycle now) {
  if (task->descriptor.is_again) {
    context_.waits.discarded_again(task->descriptor);
  } else {
    ++stats_.discarded;
  }
  if (context_.observer != nullptr) context_.observer->on_discarded(task->id, now);
  context_.pool.release(task);
}

// The stores are restored last first. An exceptioned task goes on waiting when that is done.
void TaskUnit::step_rollback(Attempt* attempt, Cycle now) {
  touch();
  if (attempt->undo.empty()) return end_rollback(attempt, now);
  const LineAddr line = line_of(attempt->undo.back().address);
  const AccessResult result = context_.memory.access(attempt->core, line, AccessKind::rollback, now);
  if (result.done) attempt->undo.pop_back();
  const Cycle next = result.done ? later(now + 1, result.cycle) : now + kRetry;
  schedule(next, TaskEvent::rollback_step, attempt->number);
}

void TaskUnit::end_rollback(Attempt* attempt, Cycle now) {
  attempt->is_rolling_back = false;
  if (!attempt->is_victim) return reconsider_later(now);  // exceptioned
  Task* task = attempt->task;
  rolling_back_[task->index] = rolling_back_.back();
  rolling_back_[task->index]->index = task->index;
  rolling_back_.pop_back();
  if (attempt->holds_core) {
    states_.set(slot_of(attempt->core), CoreState::waking);
    context_.host.wake(attempt->core, now);
  }
  context_.attempts.release(attempt);
  task->attempt = nullptr;
  account_occupancy(now);
  if (task->is_discarded) {
    queue_.release_active(*task);
    drop(task, now);
    context_.arbiter->arm(now);  // its timestamp may have been what the GVT waits for, or the tile is empty
  } else {
    queue_.reinsert(task);
  }
  reconsider(now);
}

}  // namespace rubato::chip
