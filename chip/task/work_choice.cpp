// The choice of work_choice.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/work_choice.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

namespace {

/// Whether the rule would let `task` run if no task of its tile were suspended.
bool would_run_alone(const DispatchRule& rule, const Task& task, TileView view) {
  return std::exchange(view.has_suspended, false) && rule.may_run(task, view) != RunMode::none;
}

}  // namespace

WorkChoice::WorkChoice(TileState& state, const Admission& admission, const AbortHandlers& handlers,
                       const Spiller& spiller, const Suspensions& suspensions, const CommitRoom& commit_room,
                       const RoomFinder& room)
    : state_(state),
      admission_(admission),
      handlers_(handlers),
      spiller_(spiller),
      suspensions_(suspensions),
      commit_room_(commit_room),
      room_(room),
      throttle_(state.speculates() ? make_speculation_throttle(state.context.config) : nullptr) {}

Candidates WorkChoice::candidates() {
  Candidates result;
  const TileView& view = result.view = this->view();
  is_holding_ = is_spec_waiting_ = false;
  const auto look_at = [&](Lane lane) {
    Task* task = state_.queue.earliest_free(lane);
    if (task == nullptr) return;
    RunMode mode = state_.context.rule->may_run(*task, view);
    while (mode == RunMode::none && lane == Lane::timestamped && view.throttles(*task)) {
      state_.queue.throttle(task);
      if (task = state_.queue.earliest_free(lane); task == nullptr) return;
      mode = state_.context.rule->may_run(*task, view);
    }
    if (mode == RunMode::none) {
      is_holding_ = is_holding_ || task->descriptor.type == TaskType::mayspec;
      is_spec_waiting_ = is_spec_waiting_ || would_run_alone(*state_.context.rule, *task, view);
      return;
    }
    if (task->descriptor.has_timestamp &&
        (result.earliest == nullptr || task->order < result.earliest->order))
      result.earliest = task;
    if (result.first.task == nullptr || task->before(*result.first.task))
      result.first = {Choice::guest, task, mode};
  };
  if (state_.queue.idle(Lane::timestamped) == state_.queue.guests()) {  // as in most programs
    look_at(Lane::timestamped);
    if (state_.queue.idle(Lane::timestamped_nonspec) != 0) look_at(Lane::timestamped_nonspec);
  } else {
    blocked_.set_aside();
    for (const Lane lane : kAllLanes) look_at(lane);
  }
  if (state_.promoted != nullptr && state_.queue.is_locale_free(*state_.promoted))
    result.first = {Choice::guest, state_.promoted, RunMode::non_speculative};
  // Others that come and sleep, one after the other, do not keep it waiting for ever.
  if (is_spec_waiting_ && suspensions_.is_spec_overdue()) result.first = {};
  return result;
}

Candidates WorkChoice::plain_candidates() const {
  Candidates result;
  result.view = view();
  Task* const task = state_.queue.earliest_free(Lane::timestamped);
  if (task == nullptr) return result;
  const RunMode mode = state_.context.rule->may_run(*task, result.view);
  if (mode == RunMode::none) return result;
  result.earliest = task;
  result.first = {Choice::guest, task, mode};
  return result;
}

Choice WorkChoice::choose(std::uint32_t slot) {
  // Mostly there is a task that may run and nothing else to choose from.
  if (state_.context.speculation != nullptr && room_.is_plain() && spiller_.is_below_threshold() &&
      suspensions_.may_run_guest(slot))
    if (Task* const first = state_.queue.earliest_free(Lane::timestamped); first != nullptr)
      if (const RunMode mode = state_.context.rule->may_run(*first, view()); mode != RunMode::none) {
        const Choice quick{Choice::guest, first, mode};
        RUBATO_DCHECK(choose(candidates().first, true) == quick, "a core gets another task than it should");
        is_holding_ = is_spec_waiting_ = false;
        return quick;
      }
  return choose(candidates().first, suspensions_.may_run_guest(slot));
}

Choice WorkChoice::choose(const Choice& guest, bool guest_may_run) const {
  if (suspensions_.is_closed()) return {};
  if (suspensions_.has_resumable()) return {Choice::resumed};
  // Without a worker the core makes room if that is asked for. A task that it read back it could only spill
  // again.
  if (!guest_may_run)
    return {spiller_.can_spill() && admission_.has_waiting() ? Choice::spill : Choice::none};
  if (spiller_.can_spill() && (admission_.has_waiting_for_room() ||
                               (guest.task == nullptr && !is_spec_waiting_) || spiller_.is_turn()))
    return {Choice::spill};
  if (handlers_.any()) return choose_beside_handlers(guest);
  return choose_beside_refills(guest);
}

// Attempts take the records that handlers give back, so none starts while a handler waits. A promotion needs
// none of them, for they commit after its task.
Choice WorkChoice::choose_beside_handlers(const Choice& guest) const {
  if (state_.is_stopped) return guest.mode == RunMode::speculative ? Choice{} : choose_beside_refills(guest);
  if (Task* const ready = handlers_.ready(); ready != nullptr) return {Choice::guest, ready};
  if (Task* const unread = handlers_.unread(); unread != nullptr) return {Choice::handler, unread};
  return choose_beside_refills(guest);
}

Choice WorkChoice::choose_beside_refills(const Choice& guest) const {
  Task* const next = spiller_.next_refill();
  Task* const untimed = spiller_.idle_untimed_refill();
  const auto may_read = [&](const Task* refill) {
    return refill != nullptr && spiller_.may_start_refill(*refill);
  };
  // Spilled tasks without a timestamp, or with that of the task here, come after it, but not never: it may
  // be waiting for them (a TaskGroup's `after`), creating itself, or being read back, again and again.
  if (spiller_.is_untimed_due() && may_read(untimed)) return {Choice::refill, untimed};
  if (guest.task != nullptr) {
    // A refill without a timestamp whose turn it is gets an entry first. Otherwise another guest might take
    // the locale of its tasks, or create a task that takes the last entry.
    if (spiller_.is_untimed_due() && spiller_.lacks_entry_for_untimed()) {
      if (spiller_.can_spill()) return {Choice::spill};
      if (state_.context.speculation != nullptr && room_.latest_spillable() != nullptr)
        return {};  // the latest attempt is aborted to free an entry
    }
    // Spilled tasks are not overtaken by later ones that could only speculate.
    if (next != nullptr &&
        (next->order < guest.task->order || (spiller_.is_timed_due() && next->before(*guest.task))) &&
        may_read(next))
      return {Choice::refill, next};
    return guest;
  }
  // Tasks that may run at once come before those that perhaps may not, unless the GVT waits for the latter.
  if (next != nullptr && state_.is_earliest(true, next->descriptor.timestamp) && may_read(next))
    return {Choice::refill, next};
  if (may_read(untimed)) return {Choice::refill, untimed};
  return may_read(next) ? Choice{Choice::refill, next} : Choice{};
}

void WorkChoice::committed(const Task& task) {
  if (throttle_ == nullptr) return;
  if (reach() == SpeculationReach::limited) throttle_->committed(task.descriptor);
  if (task.descriptor.has_timestamp) state_.context.trials->committed(task.virtual_time);
}

void WorkChoice::aborted(const Task& task) {
  if (throttle_ == nullptr) return;
  if (reach() == SpeculationReach::limited)
    throttle_->aborted(task.descriptor, task.order - std::min(task.order, state_.gvt().timestamp));
  if (task.descriptor.has_timestamp) state_.context.trials->aborted();
}

}  // namespace rubato::chip
