// The task unit's attempts that make room: whose gives its core, its locale or its entry to an earlier task,
// or to what others may be waiting for. Espresso, Sec. V-A; C9, C13, C17.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "chip/task/task_unit.hpp"

namespace rubato::chip {

void TaskUnit::reconsider_later(Cycle at) {
  if (reconsider_at_ <= at) return;
  reconsider_at_ = at;
  schedule(at, TaskEvent::reconsider, 0);
}

void TaskUnit::give_way(const Obstacle& obstacle, Cycle now) {
  // Else the task that gives way would be the next again.
  if (obstacle.by != nullptr && obstacle.by == untimed_refill_) {
    dispatches_since_untimed_ = kDispatchesPerRefill;
    guest_turns_ = 0;
  }
  Attempt* attempt = obstacle.attempt;
  context_.aborts->abort({&attempt, 1}, {obstacle.cause, LineAddr{}, attempt->core, obstacle.by}, now);
}

void TaskUnit::reconsider(Cycle now) {
  if (reconsider_at_ <= now) reconsider_at_ = kNever;
  queue_.recall();
  while (Attempt* attempt = need_not_be_promoted()) {
    Task* task = attempt->task;
    end_exceptioned(attempt, now);
    queue_.reinsert(task);
    context_.arbiter->arm(now);  // its virtual time may have been what the GVT waits for
  }
  // The earliest active task, if it is here, needs no room for what it creates, or is promoted.
  commit_queue_.for_each_exceptioned([&](const Attempt* attempt) {
    Task* const task = attempt->task;
    if (is_earliest(*attempt) && !attempt->is_rolling_back && task->uncommitted_parent == nullptr &&
        !context_.promotion->is_requested(task))
      context_.promotion->request(tile_, task, now);
  });
  for (std::uint32_t slot = 0; slot < cores_ && stalled_attempts_ != 0; ++slot) {
    CoreSlot& c = slots_[slot];
    if (states_[slot] != CoreState::stalled || c.granted || c.task->attempt == nullptr ||
        !is_earliest(*c.task->attempt) || c.task->uncommitted_parent != nullptr)
      continue;
    if (!become_nonspeculative(slot, now) && c.task->descriptor.type == TaskType::spec) {
      const CoreId core = core_of(slot);
      context_.host.abort_running(core, now);
      exception(core, now, false);
      states_.set(slot, CoreState::waking);
      context_.host.wake(core, now);
    }
  }
  if (const Candidates candidates = this->candidates(); !is_unobstructed(candidates))
    if (const Obstacle obstacle = find_obstacle(candidates); obstacle.attempt != nullptr)
      give_way(obstacle, now);
  wake_finishing(now);
  serve_waiting(now);
  serve_commit_sends(now);
  serve_send_waiting(now);
  evaluate(now);
}

// Of those that could be spilled if they were idle, and that are not what the GVT waits for.
Attempt* TaskUnit::latest_spillable() const {
  Attempt* latest = nullptr;
  const VirtualTime gvt = this->gvt();
  const bool gvt_waits = context_.arbiter->gvt_waits_at(tile_);
  const auto consider = [&](Attempt* attempt) {
    const VirtualTime& time = attempt->virtual_time;
    if (gvt_waits ? time.timestamp <= gvt.timestamp : time <= gvt) return;
    if (attempt->task->uncommitted_parent == nullptr &&
        (latest == nullptr || latest->virtual_time < attempt->virtual_time))
      latest = attempt;
  };
  for (std::uint32_t slot = 0; slot < cores_; ++slot)
    if (const Task* task = slots_[slot].task; task != nullptr && task->attempt != nullptr)
      consider(task->attempt);
  for (Attempt* attempt : commit_queue_.attempts())
    if (!context_.aborts->is_fate_pending(*attempt)) consider(attempt);
  return latest;
}

Attempt* TaskUnit::latest_running() const {
  Attempt* latest = nullptr;
  for (std::uint32_t slot = 0; slot < cores_; ++slot) {
    const Task* task = slots_[slot].task;
    if (task != nullptr && task->attempt != nullptr &&
        (latest == nullptr || latest->virtual_time < task->attempt->virtual_time))
      latest = task->attempt;
  }
  return latest;
}

// Of those that could go on only with an entry they wait for: the core does nothing for them.
Attempt* TaskUnit::latest_waiting() const {
  Attempt* latest = nullptr;
  for (std::uint32_t rest = waiting_for_entry(); rest != 0; rest &= rest - 1) {
    const CoreSlot& c = slots_[static_cast<std::uint32_t>(std::countr_zero(rest))];
    if (!c.granted && c.task->attempt != nullptr &&
        (latest == nullptr || latest->virtual_time < c.task->attempt->virtual_time))
      latest = c.task->attempt;
  }
  return latest;
}

// A timestamped task may be waiting for one without (a TaskGroup's `after`), and all that wait for an entry
// for that. Null also if something else comes first: not what could only speculate, as those that wait do.
const Task* TaskUnit::untimestamped_waiting(const Candidates& candidates) const {
  const Task* first = candidates.first.task;
  if (first != nullptr && first->descriptor.has_timestamp) {
    if (first->order <= gvt().timestamp) return nullptr;
    first = nullptr;
  }
  const Task* refill = idle_untimed_refill();
  const bool is_refill_first = refill != nullptr && (first == nullptr || refill->order < first->order) &&
                               being_refilled() == 0 && may_refill(*refill);
  return is_refill_first ? refill : first;
}

// A task without a timestamp that may run but for the locale of the attempt on `slot`, a later one.
const Task* TaskUnit::untimestamped_waiter(std::uint32_t slot) const {
  for (const Lane lane : {Lane::untimestamped, Lane::untimestamped_nonspec}) {
    const Task* waiter = queue_.waiter(slot, lane);
    if (waiter != nullptr && speculative_timestamp(*waiter) < slots_[slot].task->virtual_time.timestamp &&
        context_.rule->may_run(*waiter, view()) != RunMode::none)
      return waiter;
  }
  return nullptr;
}

// Most attempts end soon. One that mispeculates may never: what it waits for may be behind what it keeps
// others from. A task without a timestamp needs a locale or a core, or a spill for a task whose parent
// committed needs a core, and none will ask for work before what it runs has ended.
TaskUnit::Obstacle TaskUnit::perhaps_endless(Need need, const Candidates& candidates) const {
  if (need == Need::locale) {
    for (std::uint32_t rest = queue_.waited_slots(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
      if (slot >= kMaxCoresPerTile) break;  // suspended tasks are not speculative
      Attempt* attempt = slots_[slot].task->attempt;
      if (attempt == nullptr) continue;
      if (const Task* waiter = untimestamped_waiter(slot)) return {attempt, AbortCause::locale, waiter};
    }
    return {};
  }
  if (states_.in(CoreState::internal) != 0 || has_core()) return {};
  const Task* untimestamped = untimestamped_waiting(candidates);
  const bool needs_spill = states_.asking() == 0 && has_committed_waiting() && can_spill();
  if (untimestamped == nullptr && !needs_spill) return {};
  Attempt* latest = latest_running();
  if (latest == nullptr) return {};
  if (untimestamped != nullptr && speculative_timestamp(*untimestamped) < latest->virtual_time.timestamp)
    return {latest, AbortCause::preempted, untimestamped};
  if (needs_spill && gvt() < latest->virtual_time) return {latest, AbortCause::task_queue};
  return {};
}

void TaskUnit::bear(Need need, const Candidates& candidates, Cycle now) {
  Patience& patience = patience_[static_cast<std::size_t>(need)];
  if (patience.is_scheduled) return;
  const Attempt* attempt = perhaps_endless(need, candidates).attempt;
  if (attempt == nullptr) return;
  patience.is_scheduled = true;
  patience.attempt = attempt->virtual_time;
  patience.asks = asks_;
  schedule(now + patience.length, TaskEvent::patience_ends, static_cast<std::uint32_t>(need));
}

// A core that has asked meanwhile was given what needed one, or something that came first.
void TaskUnit::end_patience(Need need, Cycle now) {
  Patience& patience = patience_[static_cast<std::size_t>(need)];
  patience.is_scheduled = false;
  const Obstacle obstacle = perhaps_endless(need, candidates());
  const bool is_endless = obstacle.attempt != nullptr && obstacle.attempt->virtual_time == patience.attempt &&
                          (need == Need::locale || patience.asks == asks_);
  patience.length = is_endless ? std::max(patience.length / 2, Patience::kLeast) : Patience::kMost;
  if (is_endless) give_way(obstacle, now);
  reconsider(now);
}

// C9: a later speculative holder of its locale, or the latest of all that run if it precedes them all, gives
// way to an earlier task; the latter also to a refill, since spilled tasks may be what everybody waits for.
// What the GVT waits for takes the core of a later attempt that waits for room even if others it does not
// precede are running; so does a task without a timestamp. A task that has waited in a system call takes the
// latest attempt's: it is not speculative.
// C13: where nothing can be spilled for a task whose parent committed, or for spilled ones that may run at
// once, the latest attempt becomes something that can.
TaskUnit::Obstacle TaskUnit::find_obstacle(const Candidates& candidates) const {
  const bool has_core = this->has_core();
  const Task* earliest = candidates.earliest;  // that could use a core
  if (!refills_.empty() && being_refilled() == 0 &&
      (earliest == nullptr || refills_.back()->order < earliest->order) && may_refill(*refills_.back()))
    earliest = refills_.back();
  if (!resumable_.empty() && states_.asking() == 0)
    if (Attempt* latest = latest_running(); latest != nullptr)
      return {latest, AbortCause::preempted, suspended_[resumable_.front()]};
  for (std::uint32_t rest = promoted_ != nullptr ? queue_.busy_slots() : queue_.waited_slots(); rest != 0;
       rest &= rest - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (slot >= kMaxCoresPerTile) break;  // suspended tasks are not speculative
    const Task* task = slots_[slot].task;
    if (task->attempt == nullptr) continue;
    if (promoted_ != nullptr && promoted_->descriptor.has_locale &&
        promoted_->descriptor.locale == queue_.locale_of(slot))
      return {task->attempt, AbortCause::locale, promoted_};
    for (const Lane lane : {Lane::timestamped, Lane::timestamped_nonspec}) {
      const Task* waiter = queue_.waiter(slot, lane);
      if (waiter != nullptr && waiter->order < task->virtual_time.timestamp &&
          context_.rule->may_run(*waiter, view()) != RunMode::none)
        return {task->attempt, AbortCause::locale, waiter};
    }
    if (!is_waiting_for_entry(slot)) continue;
    if (const Task* waiter = untimestamped_waiter(slot)) return {task->attempt, AbortCause::locale, waiter};
  }
  const bool is_promoted_first = promoted_ != nullptr && candidates.first.task == promoted_;
  const bool precedes_all = !has_core && earliest != nullptr && precedes_all_running(earliest->order);
  if (precedes_all || (!has_core && is_promoted_first))
    if (Attempt* latest = latest_running(); latest != nullptr)
      return {latest, AbortCause::preempted, precedes_all ? earliest : promoted_};
  if (!has_core && earliest != nullptr && earliest->order <= gvt().timestamp)
    if (Attempt* latest = latest_waiting();
        latest != nullptr && latest->virtual_time.timestamp > earliest->order)
      return {latest, AbortCause::preempted, earliest};
  if (const Task* untimestamped = untimestamped_waiting(candidates); !has_core && untimestamped != nullptr)
    if (Attempt* latest = latest_waiting();
        latest != nullptr && latest->virtual_time.timestamp > speculative_timestamp(*untimestamped))
      return {latest, AbortCause::preempted, untimestamped};

  if ((waiting_.empty() && untimed_refill_ == nullptr) || can_spill() || spill_.active ||
      !rolling_back_.empty())
    return {};
  // Its creator may be the earliest active task, whatever its own timestamp is.
  const bool is_for_any = has_committed_waiting();
  if (is_for_any || lacks_entry_for_untimed())
    if (Attempt* latest = latest_spillable(); latest != nullptr)
      return {latest, AbortCause::task_queue, is_for_any ? nullptr : untimed_refill_};
  return {};
}

// SPEC tasks whose untimestamped creators still run hide nobody: their creator may be waiting, in a system
// call, for what is behind them.
void TaskUnit::set_aside_children() {
  if (context_.detector == nullptr) return;
  if (const Task* first = queue_.earliest_aside(); first != nullptr && !first->waits_for_creator())
    queue_.recall();
  while (Task* task = queue_.earliest_free(Lane::untimestamped)) {
    if (task->descriptor.type != TaskType::spec || !task->waits_for_creator()) return;
    queue_.set_aside(task);
  }
}

// They become runnable without a word from their creators' tiles.
void TaskUnit::poll_blocked_creators(Cycle now) {
  if (context_.detector == nullptr) return;
  const auto may_end = [](const Task& task) {
    return task.waits_for_creator() && !task.creator->is_suspended;
  };
  const Task* first = queue_.earliest(Lane::untimestamped);
  if ((first != nullptr && may_end(*first)) ||
      (queue_.earliest_aside() != nullptr && queue_.any_idle(Lane::untimestamped, may_end)))
    reconsider_later(now + context_.config.arbiter.period);
}

}  // namespace rubato::chip
