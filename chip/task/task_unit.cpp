// The task unit: dispatch and rounds. The enqueue protocol is in task_unit_enqueue.cpp, what speculates in
// task_unit_speculation.cpp and task_unit_commit.cpp, and what makes room for others in task_unit_room.cpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_unit.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

namespace {

/// It would, were no other suspended.
bool would_run_alone(const DispatchRule& rule, const Task& task, TileView view) {
  return std::exchange(view.has_suspended, false) && rule.may_run(task, view) != RunMode::none;
}

}  // namespace

TaskUnit::TaskUnit(TaskContext& context, std::vector<std::unique_ptr<TaskUnit>>& tiles, TileId tile,
                   Addr spill_base, std::uint64_t spill_bytes)
    : context_(context),
      state_(context, *this, tile),
      throttle_(context.speculation != nullptr ? make_speculation_throttle(context.config) : nullptr),
      spiller_(state_, admission_, spill_base, spill_bytes),
      tiles_(tiles) {
  context.units.push_back(this);
}

// ---- Dispatch ----

Candidates TaskUnit::candidates() {
  Candidates result;
  const TileView& view = result.view = this->view();
  is_holding_ = is_spec_waiting_ = false;
  const auto look_at = [&](Lane lane) {
    Task* task = state_.queue.earliest_free(lane);
    if (task == nullptr) return;
    RunMode mode = context_.rule->may_run(*task, view);
    while (mode == RunMode::none && lane == Lane::timestamped && view.throttles(*task)) {
      state_.queue.throttle(task);
      if (task = state_.queue.earliest_free(lane); task == nullptr) return;
      mode = context_.rule->may_run(*task, view);
    }
    if (mode == RunMode::none) {
      is_holding_ = is_holding_ || task->descriptor.type == TaskType::mayspec;
      is_spec_waiting_ = is_spec_waiting_ || would_run_alone(*context_.rule, *task, view);
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

Choice TaskUnit::choose(Cycle now, std::uint32_t slot) {
  // Mostly there is a task that may run and nothing else to choose from.
  if (context_.speculation != nullptr && room_.is_plain() && spiller_.is_below_threshold() &&
      suspensions_.may_run_guest(slot))
    if (Task* const first = state_.queue.earliest_free(Lane::timestamped); first != nullptr)
      if (const RunMode mode = context_.rule->may_run(*first, view()); mode != RunMode::none) {
        is_holding_ = is_spec_waiting_ = false;
        return {Choice::guest, first, mode};
      }
  // Without an arbiter the tile itself knows the earliest task, to the cycle.
  if (context_.arbiter == nullptr) state_.own_gvt = report(now).at(now);
  return choose(candidates().first, suspensions_.may_run_guest(slot));
}

Choice TaskUnit::choose(const Choice& guest, bool guest_may_run) const {
  if (suspensions_.is_closed()) return {};
  if (suspensions_.has_resumable()) return {Choice::resumed};
  // Without a worker it makes room where that is asked for; what it read back, it could only spill again.
  if (!guest_may_run)
    return {spiller_.can_spill() && admission_.has_waiting() ? Choice::spill : Choice::none};
  if (spiller_.can_spill() && (admission_.has_waiting_for_room() ||
                               (guest.task == nullptr && !is_spec_waiting_) || spiller_.is_turn()))
    return {Choice::spill};
  if (handlers_.any()) return choose_beside_handlers(guest);
  return choose_beside_refills(guest);
}

// Attempts take what handlers give back: none starts where a handler waits. A promotion needs none of them,
// for they commit after its task.
Choice TaskUnit::choose_beside_handlers(const Choice& guest) const {
  if (state_.is_stopped) return guest.mode == RunMode::speculative ? Choice{} : choose_beside_refills(guest);
  if (Task* const ready = handlers_.ready(); ready != nullptr) return {Choice::guest, ready};
  if (Task* const unread = handlers_.unread(); unread != nullptr) return {Choice::handler, unread};
  return choose_beside_refills(guest);
}

Choice TaskUnit::choose_beside_refills(const Choice& guest) const {
  Task* const next = spiller_.next_refill();
  Task* const untimed = spiller_.idle_untimed_refill();
  const auto may_read = [&](const Task* refill) {
    return refill != nullptr && spiller_.may_start_refill(*refill);
  };
  // Spilled tasks without a timestamp, or with that of the task here, come after it, but not never: it may
  // be waiting for them (a TaskGroup's `after`), creating itself, or being read back, again and again.
  if (spiller_.is_untimed_due() && may_read(untimed)) return {Choice::refill, untimed};
  if (guest.task != nullptr) {
    // Whose turn it is gets an entry before another guest has its locale, or creates what takes the last one.
    if (spiller_.is_untimed_due() && spiller_.lacks_entry_for_untimed()) {
      if (spiller_.can_spill()) return {Choice::spill};
      if (context_.speculation != nullptr && room_.latest_spillable() != nullptr) return {};  // it gives way
    }
    // They are not overtaken by later ones that could only speculate.
    if (next != nullptr &&
        (next->order < guest.task->order || (spiller_.is_timed_due() && next->before(*guest.task))) &&
        may_read(next))
      return {Choice::refill, next};
    return guest;
  }
  // What may run at once comes before what perhaps may not, unless the GVT waits for that.
  if (next != nullptr && state_.is_earliest(true, next->descriptor.timestamp) && may_read(next))
    return {Choice::refill, next};
  if (may_read(untimed)) return {Choice::refill, untimed};
  return may_read(next) ? Choice{Choice::refill, next} : Choice{};
}

void TaskUnit::start_guest(const Choice& choice, std::uint32_t slot, Cycle now) {
  Task* task = choice.task;
  state_.account_occupancy(now);
  spiller_.count_start(task != state_.promoted);
  suspensions_.count_start(is_spec_waiting_);
  VirtualTime time = task->virtual_time;
  if (task == state_.promoted) {  // keeps its virtual time: it is the earliest active task
    state_.promoted = nullptr;
    state_.queue.occupy(*task, slot);
  } else {
    if (task == handlers_.ready()) {
      handlers_.start(now);
    } else {
      state_.queue.dispatch(task, slot, choice.mode == RunMode::speculative);
    }
    const TaskDescriptor& d = task->descriptor;
    const Timestamp timestamp = d.has_timestamp                       ? d.timestamp
                                : choice.mode == RunMode::speculative ? state_.speculative_timestamp(*task)
                                                                      : state_.gvt().timestamp;
    time = {timestamp, tie_breaker(now, state_.core_of(slot))};
    task->virtual_time = time;
  }
  task->state = TaskState::running;
  state_.give_core(slot, task, choice.mode == RunMode::speculative);
  state_.states.set(slot, CoreState::running);
  task->aborts = 0;
  ++state_.counts.dispatched;
  if (choice.mode == RunMode::speculative) {
    start_attempt(task, time, state_.core_of(slot));
  } else if (task->descriptor.has_timestamp) {
    commit_room_.count_start(task->descriptor.timestamp);
  }
}

bool TaskUnit::dispatch(CoreId core, Cycle now, DispatchedTask& work) {
  state_.touch();
  const std::uint32_t slot = state_.slot_of(core);
  CoreSlot& c = state_.slots[slot];
  RUBATO_CHECK(c.task == nullptr && state_.states[slot] != CoreState::internal, "a busy core asks for work");
  room_.count_ask();
  const Choice choice = choose(now, slot);
  if (choice.kind == Choice::none) {
    state_.states.set(slot, CoreState::idle);
    evaluate(now);
    return false;
  }
  switch (choice.kind) {
    case Choice::none:
      break;
    case Choice::resumed: {
      const Task* const task = suspensions_.start_next(slot);
      // While it was suspended nothing looked whether it had ended, see BlockedChildren::poll().
      if (context_.speculation != nullptr && !task->descriptor.has_timestamp)
        for (const auto& tile : tiles_) tile->state_.reconsider_later(now);
      work = {.kind = DispatchedTask::Kind::resumed, .descriptor = task->descriptor, .id = task->id};
      break;
    }
    case Choice::guest: {
      suspensions_.take_worker(slot);
      start_guest(choice, slot, now);
      const Task* const task = choice.task;
      work.kind = DispatchedTask::Kind::guest;
      work.descriptor = task->descriptor;
      work.attempt = task->attempt;
      work.speculative = task->attempt != nullptr;
      work.promotes =
          work.speculative && task->lost >= kMaxLost && commit_room_.has_place_for(*task->attempt);
      work.id = task->id;
      break;
    }
    case Choice::spill:
      spiller_.start_spill();
      work = {.kind = DispatchedTask::Kind::spill};
      break;
    case Choice::refill:
      spiller_.start_refill(choice.task, slot);
      work = {.kind = DispatchedTask::Kind::refill, .id = choice.task->id};
      break;
    case Choice::handler:
      handlers_.start_read(slot);
      work = {.kind = DispatchedTask::Kind::refill, .id = choice.task->id};
      break;
  }
  if (work.kind == DispatchedTask::Kind::spill || work.kind == DispatchedTask::Kind::refill) {
    state_.states.set(slot, CoreState::internal);
    c.internal_kind = work.kind;
  }
  if (context_.observer != nullptr) {
    const bool goes_on = choice.kind == Choice::resumed;
    const auto tell = goes_on ? &TaskObserver::on_resumed : &TaskObserver::on_dispatched;
    (context_.observer->*tell)(core, work, now);
  }
  admission_.serve_waiting(now);
  evaluate(now);
  return true;
}

bool TaskUnit::finish(CoreId core, Cycle now, bool waits) {
  state_.touch();
  const std::uint32_t slot = state_.slot_of(core);
  CoreSlot& c = state_.slots[slot];
  RUBATO_CHECK(state_.states[slot] == CoreState::running || state_.states[slot] == CoreState::finishing,
               "a task that does not run finishes");
  Task* task = c.task;
  task->waits = waits;
  if (task->attempt != nullptr) return finish_attempt(slot, now);
  state_.leave_core(slot, CoreState::busy);
  ++state_.counts.finished;
  if (!waits) ++state_.counts.nonspeculative;
  task->state = TaskState::finished;
  if (context_.observer != nullptr) {
    context_.observer->on_finished(task->id, core, now);
    context_.observer->on_committed(task->id, core, now, waits);
  }
  count_commit(*task);
  if (context_.arbiter != nullptr) {
    if (task->descriptor.has_timestamp) context_.arbiter->left(task->descriptor.timestamp, now);
    if (is_empty() || task->is_promoted) context_.arbiter->arm(now);
  }
  if (task->is_promoted) context_.promotion->done(state_.tile, now);
  context_.pool.release(task);
  stopped_.report_quiet(suspensions_.any(), now);
  evaluate(now);
  return true;
}

Cycle TaskUnit::step_internal(CoreId core, Cycle now) {
  state_.touch();
  const std::uint32_t slot = state_.slot_of(core);
  CoreSlot& c = state_.slots[slot];
  RUBATO_CHECK(state_.states[slot] == CoreState::internal,
               "a core without an internal task asks for its next step");
  bool is_read = false;
  const Cycle next = handlers_.is_reading(slot) ? handlers_.step_read(core, now)
                     : c.internal_kind == DispatchedTask::Kind::spill
                         ? spiller_.step_spill(core, now)
                         : spiller_.step_refill(core, now, is_read);
  if (is_read) evaluate(now);
  if (next != kNever) return next;
  state_.states.set(slot, CoreState::busy);
  if (context_.observer != nullptr) context_.observer->on_internal_finished(core, c.internal_kind, now);
  if (context_.arbiter != nullptr && is_empty()) context_.arbiter->arm(now);
  evaluate(now);
  return kNever;
}

// At most one core is told to ask for work at a time: once it has asked, the next one is told if there is
// more.
void TaskUnit::evaluate(Cycle now) {
  const bool speculates = context_.speculation != nullptr;
  state_.note_held_back(now);
  if (speculates && is_settled()) {
    is_holding_ = true;  // perhaps
    return;
  }
  if (speculates && room_.is_plain() &&
      (state_.states.in(CoreState::idle) == 0 || state_.states.in(CoreState::waking) != 0) &&
      !room_.may_have_obstacle(state_.queue.earliest_free(Lane::timestamped) != nullptr)) {
    is_holding_ = true;  // perhaps
    is_spec_waiting_ = false;
    return;
  }
  const Candidates candidates = speculates ? this->candidates() : Candidates{};
  if (speculates) {
    if (!room_.is_unobstructed(candidates) && room_.find(candidates).attempt != nullptr)
      state_.reconsider_later(now);
    if (admission_.has_waiting() || spiller_.untimed_refill() != nullptr || handlers_.any() ||
        state_.has_idle_untimed()) {
      room_.start_patience(candidates, now);
    }
    if (state_.queue.earliest_aside() != nullptr) blocked_.poll(now);
  }
  if (state_.states.in(CoreState::waking) != 0) return;
  if (const std::uint32_t idle = state_.states.in(CoreState::idle); idle != 0) {
    const std::uint32_t able = idle & suspensions_.may_run_guest();
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(able != 0 ? able : idle));
    const Choice choice = speculates ? choose(candidates.first, able != 0) : choose(now, slot);
    if (choice.kind == Choice::none) return blocked_.poll(now);
    state_.states.set(slot, CoreState::waking);
    context_.host.wake(state_.core_of(slot), now);
  } else if ((admission_.has_waiting_for_room() || spiller_.lacks_entry_for_untimed()) &&
             spiller_.can_spill()) {
    spiller_.spill_on_stalled_core(now);
  }
}

void TaskUnit::step_borrowed(std::uint32_t slot, Cycle now) {
  const CoreId core = state_.core_of(slot);
  if (const Cycle next = spiller_.step_spill(core, now); next != kNever)
    return state_.schedule(next, TaskEvent::borrowed_step, slot);
  CoreSlot& c = state_.slots[slot];
  c.borrowed = false;
  if (c.granted) context_.host.wake(core, now);
  commit_room_.wake_finishing(now);
  evaluate(now);
}

// ---- Suspended tasks ----

void TaskUnit::suspend(CoreId core, Cycle now) {
  state_.touch();
  const std::uint32_t slot = state_.slot_of(core);
  const Task* const task = state_.slots[slot].task;
  suspensions_.suspend(slot);
  if (context_.observer != nullptr) context_.observer->on_suspended(task->id, core, now);
  evaluate(now);
}

void TaskUnit::resume(std::uint64_t id, Cycle now) {
  suspensions_.resume(id);
  evaluate(now);
}

// They may be waiting for it, or for what it hides or has kept from starting.
bool TaskUnit::go_on_beside_suspended(Cycle now) {
  if (!is_spec_waiting_ || !suspensions_.let_spec_start()) return false;
  evaluate(now);
  return true;
}

// ---- Rounds ----

void TaskUnit::begin_region(Cycle now, std::uint32_t spare_workers) {
  state_.touch();
  state_.begin_region(now);
  suspensions_.begin_region(spare_workers);
  spiller_.begin_region();
  commit_room_.begin_region();
  is_holding_ = false;
}

bool TaskUnit::is_empty() const {
  const bool forgets_handlers = context_.capsule_fault == CapsuleFault::region_ends_before_handlers;
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot) {
    if (state_.slots[slot].task != nullptr || state_.states[slot] == CoreState::internal ||
        (state_.states[slot] == CoreState::doomed && !forgets_handlers))
      return false;
  }
  return state_.queue.entries() + state_.send.used() + state_.commit_queue.size() + suspensions_.count() ==
             0 &&
         state_.promoted == nullptr && !rollbacks_.any() && !state_.is_stopped &&
         !spiller_.has_outside_queue() && (forgets_handlers || !handlers_.any());
}

void TaskUnit::on_gvt(Cycle now) {
  state_.touch();
  if (context_.speculation != nullptr) advance_earliest(now);
  admission_.serve_waiting(now);
  admission_.serve_senders(now);
  evaluate(now);
}

}  // namespace rubato::chip
