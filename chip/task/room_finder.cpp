// The obstacles of room_finder.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/room_finder.hpp"

#include <algorithm>
#include <initializer_list>

namespace rubato::chip {

// A create of a non-speculative task keeps its core until it has an entry, and no abort takes it away. An
// attempt that waits in a call goes on when a core is free.
bool RoomFinder::has_core_for_suspended() const {
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot) {
    const CoreSlot& c = state_.slots[slot];
    if (state_.states[slot] != CoreState::stalled || c.granted || c.task->attempt != nullptr) return true;
  }
  return false;
}

// Considers attempts that could be spilled if they were idle, and that the GVT does not wait for: such a one
// ends soon. But a suspended attempt does not end without a core, even if it is the earliest.
Attempt* RoomFinder::latest_spillable() const {
  Attempt* latest = nullptr;
  const VirtualTime gvt = state_.gvt();
  const bool gvt_waits = state_.context.arbiter->gvt_waits_at(state_.tile);
  const auto consider = [&](Attempt* attempt, bool is_stuck = false) {
    const VirtualTime& time = attempt->virtual_time;
    if (!is_stuck && (gvt_waits ? time.timestamp <= gvt.timestamp : time <= gvt)) return;
    if (attempt->task->uncommitted_parent == nullptr &&
        (latest == nullptr || latest->virtual_time < attempt->virtual_time))
      latest = attempt;
  };
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot)
    if (const Task* task = state_.slots[slot].task; task != nullptr && task->attempt != nullptr)
      consider(task->attempt);
  if (suspensions_.any()) {
    const bool is_stuck = !has_core_for_suspended();
    for (const SuspendedRun& run : suspensions_.runs())
      if (Attempt* const attempt = run.attempt()) consider(attempt, is_stuck);
  }
  for (Attempt* attempt : state_.commit_queue.attempts())
    if (!state_.context.aborts->is_fate_pending(*attempt)) consider(attempt);
  return latest;
}

// Considers attempts that need an entry to go on, and wait for it: their cores do nothing for them.
Attempt* RoomFinder::latest_waiting() const {
  Attempt* latest = nullptr;
  for (std::uint32_t rest = state_.waiting_for_entry(); rest != 0; rest &= rest - 1) {
    const CoreSlot& c = state_.slots[static_cast<std::uint32_t>(std::countr_zero(rest))];
    if (!c.granted && c.task->attempt != nullptr &&
        (latest == nullptr || latest->virtual_time < c.task->attempt->virtual_time))
      latest = c.task->attempt;
  }
  return latest;
}

// A timestamped task may be waiting for one without a timestamp (a TaskGroup's `after`), and all that wait
// for an entry may wait for that timestamped task. Null also if other work comes first, except work that
// could only speculate, as the waiting attempts do.
const Task* RoomFinder::untimestamped_waiting(const Candidates& candidates) const {
  if (const Task* const handler = handlers_.ready() != nullptr ? handlers_.ready() : handlers_.unread();
      handler != nullptr && !state_.is_stopped)
    return handler;
  const Task* first = candidates.first.task;
  if (first != nullptr && first->descriptor.has_timestamp) {
    if (first->order <= state_.gvt().timestamp) return nullptr;
    first = nullptr;
  }
  const Task* const refill = spiller_.idle_untimed_refill();
  const bool is_refill_first = refill != nullptr && (first == nullptr || refill->order < first->order) &&
                               spiller_.being_refilled() == 0 && spiller_.may_refill(*refill);
  return is_refill_first ? refill : first;
}

// A task without a timestamp that may run but for the locale of the attempt on `slot`, a later one.
const Task* RoomFinder::untimestamped_waiter(std::uint32_t slot, const Candidates& candidates) const {
  const Timestamp order = holder(slot)->virtual_time.timestamp;
  for (const Lane lane : {Lane::untimestamped, Lane::untimestamped_nonspec}) {
    const Task* const waiter = state_.queue.waiter(slot, lane);
    if (waiter != nullptr && state_.speculative_timestamp(*waiter) < order && may_run(*waiter, candidates))
      return waiter;
  }
  return nullptr;
}

// ---- Patience ----

// Most attempts end soon. One that mispeculates may never end: it may wait for an effect of the very task
// that it keeps from running. Two kinds of work then need help: a task without a timestamp that waits for a
// locale or a core, and a spill for a task whose parent committed. No core will ask for that work before its
// present task has ended.
Obstacle RoomFinder::perhaps_endless(ScarceResource resource, const Candidates& candidates) const {
  if (resource == ScarceResource::locale) {
    for (std::uint32_t rest = state_.queue.waited_slots(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
      Attempt* const attempt = holder(slot)->attempt;
      if (attempt == nullptr) continue;
      if (const Task* const waiter = untimestamped_waiter(slot, candidates))
        return {attempt, AbortCause::locale, waiter};
    }
    return {};
  }
  if (state_.states.in(CoreState::internal) != 0 || has_core()) return {};
  const Task* const untimestamped = untimestamped_waiting(candidates);
  const bool needs_spill =
      state_.states.asking() == 0 && admission_.has_committed_waiting() && spiller_.can_spill();
  if (untimestamped == nullptr && !needs_spill) return {};
  Attempt* const latest = state_.latest_to_yield();
  if (latest == nullptr) return {};
  if (untimestamped != nullptr &&
      state_.speculative_timestamp(*untimestamped) < latest->virtual_time.timestamp)
    return {latest, AbortCause::preempted, untimestamped};
  if (needs_spill && state_.gvt() < latest->virtual_time) return {latest, AbortCause::task_queue};
  return {};
}

void RoomFinder::start_patience(ScarceResource resource, const Candidates& candidates, Cycle now) {
  Patience& p = patience(resource);
  if (p.is_scheduled) return;
  const Attempt* const attempt = perhaps_endless(resource, candidates).attempt;
  if (attempt == nullptr) return;
  p.is_scheduled = true;
  p.attempt = attempt->virtual_time;
  p.asks = asks_;
  state_.schedule(now + p.length, TaskEvent::patience_ends, static_cast<std::uint32_t>(resource));
}

// A core that has asked meanwhile got the work that needed a core, or work that came first.
Obstacle RoomFinder::end_patience(ScarceResource resource, const Candidates& candidates) {
  Patience& p = patience(resource);
  p.is_scheduled = false;
  const Obstacle obstacle = perhaps_endless(resource, candidates);
  const bool is_endless = obstacle.attempt != nullptr && obstacle.attempt->virtual_time == p.attempt &&
                          (resource == ScarceResource::locale || p.asks == asks_);
  p.length = is_endless ? std::max(p.length / 2, Patience::kLeast) : Patience::kMost;
  return is_endless ? obstacle : Obstacle{};
}

// ---- Obstacles ----

// A task that has waited in a system call takes the latest attempt's core: if it is not speculative, or the
// earlier of the two.
Obstacle RoomFinder::find(const Candidates& candidates) const {
  if (suspensions_.has_resumable() && state_.states.asking() == 0)
    if (const Task* const urgent = suspensions_.most_urgent(); urgent != nullptr)
      if (Attempt* const latest = state_.latest_to_yield();
          latest != nullptr && (urgent->attempt == nullptr || urgent->virtual_time < latest->virtual_time))
        return {latest, AbortCause::preempted, urgent};
  if (const Obstacle obstacle = at_locale(candidates); obstacle.attempt != nullptr) return obstacle;
  if (const Obstacle obstacle = at_core(candidates); obstacle.attempt != nullptr) return obstacle;
  return at_entry();
}

// C9: a later speculative holder of its locale is aborted for an earlier task; any speculative holder
// of the locale of a promoted task is aborted for that.
Obstacle RoomFinder::at_locale(const Candidates& candidates) const {
  const TaskQueue& queue = state_.queue;
  const Task* const promoted = state_.promoted;
  for (std::uint32_t rest = promoted != nullptr ? queue.busy_slots() : queue.waited_slots(); rest != 0;
       rest &= rest - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
    const Task* const task = holder(slot);
    if (task->attempt == nullptr) continue;
    if (promoted != nullptr && promoted->descriptor.has_locale &&
        promoted->descriptor.locale == queue.locale_of(slot))
      return {task->attempt, AbortCause::locale, promoted};
    for (const Lane lane : {Lane::timestamped, Lane::timestamped_nonspec}) {
      const Task* const waiter = queue.waiter(slot, lane);
      if (waiter != nullptr && waiter->order < task->virtual_time.timestamp && may_run(*waiter, candidates))
        return {task->attempt, AbortCause::locale, waiter};
    }
    if (slot >= kMaxCoresPerTile || !state_.is_waiting_for_entry(slot)) continue;
    if (const Task* const waiter = untimestamped_waiter(slot, candidates))
      return {task->attempt, AbortCause::locale, waiter};
  }
  return {};
}

// C9: the latest of all running attempts gives its core to an earlier task that precedes them all. A refill
// gets it too, since all tasks may be waiting for spilled ones. A task that the GVT waits for takes the core
// of a later attempt that waits for room. It does so even if attempts that it does not precede are running.
// The same holds for a task without a timestamp.
Obstacle RoomFinder::at_core(const Candidates& candidates) const {
  if (has_core()) return {};
  const Task* earliest = candidates.earliest;  // that could use a core
  if (const Task* const refill = spiller_.next_refill();
      refill != nullptr && spiller_.being_refilled() == 0 &&
      (earliest == nullptr || refill->order < earliest->order) && spiller_.may_refill(*refill))
    earliest = refill;
  const Task* const promoted = state_.promoted;
  const bool is_promoted_first = promoted != nullptr && candidates.first.task == promoted;
  const bool precedes_all = earliest != nullptr && state_.precedes_all_running(earliest->order);
  if (precedes_all || is_promoted_first)
    if (Attempt* const latest = state_.latest_to_yield(); latest != nullptr)
      return {latest, AbortCause::preempted, precedes_all ? earliest : promoted};
  Attempt* const waiting = latest_waiting();
  if (waiting == nullptr) return {};
  const Timestamp timestamp = waiting->virtual_time.timestamp;
  if (earliest != nullptr && earliest->order <= state_.gvt().timestamp && timestamp > earliest->order)
    return {waiting, AbortCause::preempted, earliest};
  if (const Task* const untimestamped = untimestamped_waiting(candidates);
      untimestamped != nullptr && timestamp > state_.speculative_timestamp(*untimestamped))
    return {waiting, AbortCause::preempted, untimestamped};
  return {};
}

// The attempt may wait for an effect of the earlier task. An earlier task starts each time, so the aborts
// end.
Obstacle RoomFinder::at_worker(const Candidates& candidates) const {
  if (has_core()) return {};
  Attempt* latest = nullptr;
  for (const SuspendedRun& run : suspensions_.runs())
    if (Attempt* const attempt = run.attempt();
        attempt != nullptr && (latest == nullptr || latest->virtual_time < attempt->virtual_time))
      latest = attempt;
  if (latest == nullptr) return {};
  const auto precedes = [&](const Task* task) {
    if (task == nullptr) return false;
    const Timestamp order =
        task->descriptor.has_timestamp ? task->order : state_.speculative_timestamp(*task);
    return task == state_.promoted || order < latest->virtual_time.timestamp;
  };
  for (const Task* const task :
       std::initializer_list<const Task*>{candidates.first.task, candidates.earliest, spiller_.next_refill()})
    if (precedes(task)) return {latest, AbortCause::preempted, task};
  return handlers_.any() && !state_.is_stopped ? Obstacle{latest, AbortCause::preempted} : Obstacle{};
}

// C13: the tasks that need room are those whose parent committed, and spilled ones that may run at once. If
// nothing can be spilled for them, the latest attempt is aborted, so that it can be spilled.
Obstacle RoomFinder::at_entry() const {
  if ((!admission_.has_waiting() && spiller_.untimed_refill() == nullptr) || spiller_.can_spill() ||
      spiller_.is_spilling() || rollbacks_.any())
    return {};
  // Its creator may be the earliest active task, whatever its own timestamp is.
  const bool is_for_any = admission_.has_committed_waiting();
  if (is_for_any || spiller_.lacks_entry_for_untimed())
    if (Attempt* const latest = latest_spillable(); latest != nullptr)
      return {latest, AbortCause::task_queue, is_for_any ? nullptr : spiller_.untimed_refill()};
  return {};
}

}  // namespace rubato::chip
