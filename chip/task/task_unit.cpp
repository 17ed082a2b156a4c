// The task unit: dispatch and rounds. The enqueue protocol is in task_unit_enqueue.cpp, speculation in
// task_unit_speculation.cpp and task_unit_commit.cpp, and room for others in task_unit_room.cpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_unit.hpp"

#include <bit>

#include "base/check.hpp"

namespace rubato::chip {

TaskUnit::TaskUnit(TaskContext& context, std::vector<std::unique_ptr<TaskUnit>>& tiles, TileId tile,
                   Addr spill_base, std::uint64_t spill_bytes)
    : context_(context),
      state_(context, *this, tile),
      spiller_(state_, admission_, spill_base, spill_bytes),
      tiles_(tiles) {
  context.units.push_back(this);
}

// ---- Dispatch ----

void TaskUnit::start_guest(const Choice& choice, std::uint32_t slot, Cycle now) {
  Task* task = choice.task;
  state_.account_occupancy(now);
  spiller_.count_start(task != state_.promoted);
  suspensions_.count_start(choice_.is_spec_waiting());
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

Choice TaskUnit::choose(Cycle now, std::uint32_t slot) {
  // Without an arbiter the tile itself knows the earliest task, to the cycle.
  if (context_.arbiter == nullptr) state_.own_gvt = report(now).at(now);
  return choice_.choose(slot);
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
      const SuspendedRun run = suspensions_.start_next(slot, now);
      // While it was suspended nothing looked whether it had ended, see BlockedChildren::poll().
      if (context_.speculation != nullptr && run.task != nullptr && !run.task->descriptor.has_timestamp)
        for (const auto& tile : tiles_) tile->state_.reconsider_later(now);
      work = run.what;
      work.kind = DispatchedTask::Kind::resumed;
      work.attempt = run.attempt();
      work.is_doomed = run.is_doomed();
      work.promotes = false;
      work.speculative = work.attempt != nullptr;
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
    const auto tell = !goes_on         ? &TaskObserver::on_dispatched
                      : work.is_doomed ? &TaskObserver::on_doomed_resumed
                                       : &TaskObserver::on_resumed;
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
  stopped_.report_quiet(suspensions_.has_nonspeculative(), now);
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

// Wakes one core at a time to ask for work: once it has asked, the next one is woken if there is more.
void TaskUnit::evaluate(Cycle now) {
  const bool speculates = context_.speculation != nullptr;
  state_.note_held_back(now);
  if (speculates && is_settled()) {
    // The core that asks soon finds room for spilled tasks without a timestamp.
    RUBATO_DCHECK(spiller_.untimed_refill() != nullptr || room_.find({}).attempt == nullptr,
                  "an obstacle is overlooked");
    choice_.skip();
    return;
  }
  if (speculates && room_.is_plain() &&
      (state_.states.in(CoreState::idle) == 0 || state_.states.in(CoreState::waking) != 0) &&
      !room_.may_have_obstacle(state_.queue.earliest_free(Lane::timestamped) != nullptr)) {
    RUBATO_DCHECK(room_.find(choice_.plain_candidates()).attempt == nullptr, "an obstacle is overlooked");
    choice_.skip_plain();
    return;
  }
  const Candidates candidates = speculates ? choice_.candidates() : Candidates{};
  if (speculates) {
    if (!room_.is_unobstructed(candidates) && room_.find(candidates).attempt != nullptr)
      state_.reconsider_later(now);
    if (admission_.has_waiting() || spiller_.untimed_refill() != nullptr || handlers_.any() ||
        state_.has_idle_untimed()) {
      room_.start_patience(candidates, now);
    }
    if (state_.queue.earliest_aside() != nullptr) choice_.poll_blocked(now);
  }
  if (state_.states.in(CoreState::waking) != 0) return;
  if (const std::uint32_t idle = state_.states.in(CoreState::idle); idle != 0) {
    const std::uint32_t able = idle & suspensions_.may_run_guest();
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(able != 0 ? able : idle));
    const Choice choice = speculates ? choice_.choose(candidates.first, able != 0) : choose(now, slot);
    if (choice.kind == Choice::none) return choice_.poll_blocked(now);
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

// ---- Suspended runs ----

void TaskUnit::suspend(CoreId core, const DispatchedTask& what, Cycle now) {
  state_.touch();
  const std::uint32_t slot = state_.slot_of(core);
  const Task* const task = state_.slots[slot].task;
  suspensions_.suspend(slot, what, now);
  if (task != nullptr && task->attempt != nullptr) context_.arbiter->arm(now);  // it may be the earliest
  if (context_.observer != nullptr && task != nullptr) context_.observer->on_suspended(task->id, core, now);
  if (context_.observer != nullptr && task == nullptr) context_.observer->on_doomed_suspended(core, now);
  evaluate(now);
}

void TaskUnit::resume(std::uint64_t run, Cycle now) {
  suspensions_.resume(run);
  evaluate(now);
}

// Suspended tasks may be waiting for an attempt to go, for tasks that it hides, or for tasks that it has kept
// from starting.
bool TaskUnit::go_on_beside_suspended(Cycle now) {
  if (context_.speculation != nullptr) {
    if (!suspensions_.has_attempt()) return false;
    state_.touch();
    const Obstacle obstacle = room_.at_worker(choice_.candidates());
    if (obstacle.attempt == nullptr) return false;
    give_way(obstacle, now);
    return true;
  }
  if (context_.arbiter != nullptr || !choice_.is_spec_waiting() || !suspensions_.let_spec_start())
    return false;
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
  choice_.begin_region();
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
