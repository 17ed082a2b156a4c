// The task unit: dispatch and rounds. The enqueue protocol is in task_unit_enqueue.cpp, spills and refills in
// task_unit_spill.cpp, what speculates in task_unit_speculation.cpp, and what makes room for others in
// task_unit_room.cpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_unit.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

namespace {

std::uint32_t queue_capacity(const Config& config) {
  return config.task.unlimited_queues ? 0 : config.task.task_queue * config.chip.cores_per_tile;
}

}  // namespace

Task* TaskContext::make_task(const TaskDescriptor& descriptor, std::uint64_t parent) {
  // Ties are first in, first out but for a few places, which the seed decides (C29). Unique: two that agree
  // above the low byte were created within eight of each other.
  constexpr std::uint64_t kPlaces = 8;
  Task* task = pool.acquire();
  task->descriptor = descriptor;
  task->id = next_id++;
  task->parent = parent;
  task->tie = (task->id + rng.below(kPlaces)) << 8 | (task->id & 0xff);
  task->descriptor.type = runs_as(descriptor.type);
  return task;
}

void TaskContext::wake_waiting_for_fate(Cycle now) {
  for (const CoreId core : waiting_for_fate) host.wake(core, now);
  waiting_for_fate.clear();
}

TaskUnit::TaskUnit(TaskContext& context, std::vector<std::unique_ptr<TaskUnit>>& tiles, TileId tile,
                   Addr spill_base, std::uint64_t spill_bytes)
    : context_(context),
      tiles_(tiles),
      tile_(tile),
      first_core_(tile.value * context.config.chip.cores_per_tile),
      cores_(context.config.chip.cores_per_tile),
      states_(cores_),
      send_(context.config.task.unlimited_queues ? 0 : context.config.task.send_buffer),
      commit_queue_(context.config.task.unlimited_queues
                        ? 0
                        : context.config.task.commit_queue * context.config.chip.cores_per_tile),
      queue_(queue_capacity(context.config), context.config.task.uncommitted_share),
      throttle_(context.detector != nullptr ? make_speculation_throttle(context.config) : nullptr),
      area_(spill_base, spill_bytes, context.config.task.spill_batch) {
  // At least one guest task besides the entries kept for refills and for the earliest task; at most all but
  // the latter.
  const double share = context.config.task.spill_threshold * queue_.capacity();
  const auto entries = static_cast<std::uint32_t>(std::ceil(share));
  spill_threshold_ = queue_.unlimited() ? ~std::uint32_t{0} : std::clamp(entries, 3u, queue_.capacity() - 1);
  max_refills_ = queue_.unlimited() ? ~std::uint32_t{0} : TaskQueue::max_refills(queue_.capacity());
}

// ---- Dispatch ----

TaskUnit::Candidates TaskUnit::candidates() {
  Candidates result;
  const TileView view = this->view();
  is_holding_ = is_spec_waiting_ = false;
  const auto look_at = [&](Lane lane) {
    Task* task = queue_.earliest_free(lane);
    if (task == nullptr) return;
    RunMode mode = context_.rule->may_run(*task, view);
    while (mode == RunMode::none && lane == Lane::timestamped && view.throttles(*task)) {
      queue_.throttle(task);
      if (task = queue_.earliest_free(lane); task == nullptr) return;
      mode = context_.rule->may_run(*task, view);
    }
    if (mode == RunMode::none) {
      is_holding_ = is_holding_ || task->descriptor.type == TaskType::mayspec;
      is_spec_waiting_ = is_spec_waiting_ || waits_for_suspended(*task, view);
      return;
    }
    if (task->descriptor.has_timestamp &&
        (result.earliest == nullptr || task->order < result.earliest->order))
      result.earliest = task;
    if (result.first.task == nullptr || task->before(*result.first.task))
      result.first = {Choice::guest, task, mode};
  };
  if (queue_.idle(Lane::timestamped) == queue_.guests()) {  // as in most programs
    look_at(Lane::timestamped);
    if (queue_.idle(Lane::timestamped_nonspec) != 0) look_at(Lane::timestamped_nonspec);
  } else {
    set_aside_children();
    for (const Lane lane : kAllLanes) look_at(lane);
  }
  if (promoted_ != nullptr && queue_.is_locale_free(*promoted_))
    result.first = {Choice::guest, promoted_, RunMode::non_speculative};
  // Others that come and sleep, one after the other, do not keep it waiting for ever.
  if (is_spec_waiting_ && started_before_spec_ >= kMaxBeforeSpec) result.first = {};
  return result;
}

bool TaskUnit::waits_for_suspended(const Task& task, TileView view) const {
  if (!std::exchange(view.has_suspended, false)) return false;
  return context_.rule->may_run(task, view) != RunMode::none;
}

TaskUnit::Choice TaskUnit::choose(Cycle now, std::uint32_t slot) {
  // Mostly there is a task that may run and nothing else to choose from.
  if (context_.detector != nullptr && is_plain() && queue_.used() < spill_threshold_ && may_run_guest(slot))
    if (Task* const first = queue_.earliest_free(Lane::timestamped); first != nullptr)
      if (const RunMode mode = context_.rule->may_run(*first, view()); mode != RunMode::none) {
        is_holding_ = is_spec_waiting_ = false;
        return {Choice::guest, first, mode};
      }
  // Without an arbiter the tile itself knows the earliest task, to the cycle.
  if (context_.arbiter == nullptr) own_gvt_ = report(now).at(now);
  return choose(candidates().first, may_run_guest(slot));
}

TaskUnit::Choice TaskUnit::choose(const Choice& guest, bool guest_may_run) const {
  if (atomic_ != nullptr && (resumable_.empty() || suspended_[resumable_.front()] != atomic_)) return {};
  if (!resumable_.empty()) return {Choice::resumed};
  // Without a worker it makes room where that is asked for; what it read back, it could only spill again.
  if (!guest_may_run) return {can_spill() && !waiting_.empty() ? Choice::spill : Choice::none};
  if (can_spill() &&
      (has_waiting_for_room() || (guest.task == nullptr && !is_spec_waiting_) || guest_turns_ == 0))
    return {Choice::spill};
  Task* const next = refills_.empty() ? nullptr : refills_.back();
  Task* const untimed = idle_untimed_refill();
  const auto may_read = [&](const Task* refill) { return refill != nullptr && may_start_refill(*refill); };
  // Spilled tasks without a timestamp, or with that of the task here, come after it, but not never: it may
  // be waiting for them (a TaskGroup's `after`), creating itself, or being read back, again and again.
  if (dispatches_since_untimed_ >= kDispatchesPerRefill && may_read(untimed))
    return {Choice::refill, untimed};
  if (guest.task != nullptr) {
    // Whose turn it is gets an entry before another guest has its locale, or creates what takes the last one.
    if (dispatches_since_untimed_ >= kDispatchesPerRefill && lacks_entry_for_untimed()) {
      if (can_spill()) return {Choice::spill};
      if (context_.detector != nullptr && latest_spillable() != nullptr) return {};  // it gives way
    }
    // They are not overtaken by later ones that could only speculate.
    if (next != nullptr &&
        (next->order < guest.task->order ||
         (dispatches_since_timed_ >= kDispatchesPerTimedRefill && next->before(*guest.task))) &&
        may_read(next))
      return {Choice::refill, next};
    return guest;
  }
  // What may run at once comes before what perhaps may not, unless the GVT waits for that.
  if (next != nullptr && is_earliest(true, next->descriptor.timestamp) && may_read(next))
    return {Choice::refill, next};
  if (may_read(untimed)) return {Choice::refill, untimed};
  return may_read(next) ? Choice{Choice::refill, next} : Choice{};
}

void TaskUnit::start_guest(const Choice& choice, std::uint32_t slot, Cycle now) {
  Task* task = choice.task;
  account_occupancy(now);
  if (task != promoted_ && guest_turns_ != 0) --guest_turns_;  // that one came before those whose turn it is
  ++dispatches_since_timed_;
  ++dispatches_since_untimed_;
  if (is_spec_waiting_ || started_before_spec_ != 0) ++started_before_spec_;  // it may have been spilled
  VirtualTime time = task->virtual_time;
  if (task == promoted_) {  // keeps its virtual time: it is the earliest active task
    promoted_ = nullptr;
    queue_.occupy(*task, slot);
  } else {
    queue_.dispatch(task, slot, choice.mode == RunMode::speculative);
    const TaskDescriptor& d = task->descriptor;
    const Timestamp timestamp = d.has_timestamp                       ? d.timestamp
                                : choice.mode == RunMode::speculative ? speculative_timestamp(*task)
                                                                      : gvt().timestamp;
    time = {timestamp, tie_breaker(now, core_of(slot))};
    task->virtual_time = time;
  }
  task->state = TaskState::running;
  give_core(slot, task, choice.mode == RunMode::speculative);
  states_.set(slot, CoreState::running);
  task->aborts = 0;
  ++stats_.dispatched;
  if (choice.mode == RunMode::speculative) {
    start_attempt(task, time, core_of(slot));
  } else if (task->descriptor.has_timestamp) {
    if (started_.timestamp != task->descriptor.timestamp) started_ = {task->descriptor.timestamp};
    ++started_.tasks;
  }
}

bool TaskUnit::dispatch(CoreId core, Cycle now, DispatchedTask& work) {
  touch();
  const std::uint32_t slot = slot_of(core);
  CoreSlot& c = slots_[slot];
  RUBATO_CHECK(c.task == nullptr && states_[slot] != CoreState::internal, "a busy core asks for work");
  ++asks_;
  const Choice choice = choose(now, slot);
  if (choice.kind == Choice::none) {
    states_.set(slot, CoreState::idle);
    evaluate(now);
    return false;
  }
  switch (choice.kind) {
    case Choice::none:
      break;
    case Choice::resumed: {
      const Task* task = start_resumed(slot, now);
      work = {.kind = DispatchedTask::Kind::resumed, .descriptor = task->descriptor, .id = task->id};
      break;
    }
    case Choice::guest: {
      take_worker(slot);
      start_guest(choice, slot, now);
      const Task* const task = choice.task;
      work.kind = DispatchedTask::Kind::guest;
      work.descriptor = task->descriptor;
      work.attempt = task->attempt;
      work.speculative = task->attempt != nullptr;
      work.promotes = work.speculative && task->lost >= kMaxLost && has_place_for(*task->attempt);
      work.id = task->id;
      break;
    }
    case Choice::spill:
      start_spill();
      work = {.kind = DispatchedTask::Kind::spill};
      break;
    case Choice::refill:
      start_refill(choice.task, slot);
      work = {.kind = DispatchedTask::Kind::refill, .id = choice.task->id};
      break;
  }
  if (choice.kind == Choice::spill || choice.kind == Choice::refill) {
    states_.set(slot, CoreState::internal);
    c.internal_kind = work.kind;
  }
  if (context_.observer != nullptr) {
    const bool goes_on = choice.kind == Choice::resumed;
    const auto tell = goes_on ? &TaskObserver::on_resumed : &TaskObserver::on_dispatched;
    (context_.observer->*tell)(core, work, now);
  }
  serve_waiting(now);
  evaluate(now);
  return true;
}

bool TaskUnit::finish(CoreId core, Cycle now, bool waits) {
  touch();
  const std::uint32_t slot = slot_of(core);
  CoreSlot& c = slots_[slot];
  RUBATO_CHECK(states_[slot] == CoreState::running || states_[slot] == CoreState::finishing,
               "a task that does not run finishes");
  Task* task = c.task;
  task->waits = waits;
  if (task->attempt != nullptr) return finish_attempt(slot, now);
  leave_core(slot, CoreState::busy);
  ++stats_.finished;
  if (!waits) ++stats_.nonspeculative;
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
  if (task->is_promoted) context_.promotion->done(tile_, now);
  context_.pool.release(task);
  report_quiet(now);
  evaluate(now);
  return true;
}

Cycle TaskUnit::step_internal(CoreId core, Cycle now) {
  touch();
  const std::uint32_t slot = slot_of(core);
  CoreSlot& c = slots_[slot];
  RUBATO_CHECK(states_[slot] == CoreState::internal,
               "a core without an internal task asks for its next step");
  const Cycle next =
      c.internal_kind == DispatchedTask::Kind::spill ? step_spill(core, now) : step_refill(core, now);
  if (next != kNever) return next;
  states_.set(slot, CoreState::busy);
  if (context_.observer != nullptr) context_.observer->on_internal_finished(core, c.internal_kind, now);
  if (context_.arbiter != nullptr && is_empty()) context_.arbiter->arm(now);
  evaluate(now);
  return kNever;
}

// At most one core is told to ask for work at a time: once it has asked, the next one is told if there is
// more.
void TaskUnit::evaluate(Cycle now) {
  const bool speculates = context_.detector != nullptr;
  if (speculates && is_settled()) {
    is_holding_ = true;  // perhaps
    return;
  }
  if (speculates && is_plain() && (states_.in(CoreState::idle) == 0 || states_.in(CoreState::waking) != 0) &&
      !may_have_obstacle(queue_.earliest_free(Lane::timestamped) != nullptr)) {
    is_holding_ = true;  // perhaps
    is_spec_waiting_ = false;
    return;
  }
  const Candidates candidates = speculates ? this->candidates() : Candidates{};
  if (speculates) {
    if (!is_unobstructed(candidates) && find_obstacle(candidates).attempt != nullptr) reconsider_later(now);
    if (!waiting_.empty() || untimed_refill_ != nullptr || has_idle_untimed()) {
      bear(Need::core, candidates, now);
      bear(Need::locale, candidates, now);
    }
    if (queue_.earliest_aside() != nullptr) poll_blocked_creators(now);
  }
  if (states_.in(CoreState::waking) != 0) return;
  if (const std::uint32_t idle = states_.in(CoreState::idle); idle != 0) {
    const std::uint32_t able = idle & may_run_guest();
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(able != 0 ? able : idle));
    const Choice choice = speculates ? choose(candidates.first, able != 0) : choose(now, slot);
    if (choice.kind == Choice::none) return poll_blocked_creators(now);
    states_.set(slot, CoreState::waking);
    context_.host.wake(core_of(slot), now);
  } else if ((has_waiting_for_room() || lacks_entry_for_untimed()) && can_spill()) {
    borrow_stalled_core(now);
  }
}

// ---- Rounds ----

void TaskUnit::begin_region(Cycle now, std::uint32_t spare_workers) {
  touch();
  spare_workers_ = spare_workers;
  own_gvt_ = {};
  started_ = {};
  is_holding_ = false;
  guest_turns_ = 0;
  occupancy_since_ = now;
  commit_occupancy_since_ = now;
  for (CoreSlot& c : slots_) c = CoreSlot{};
  yields_before_.fill(kMaxVirtualTime.timestamp);
  states_.reset();
  without_worker_ = 0;
}

bool TaskUnit::is_empty() const {
  for (std::uint32_t slot = 0; slot < cores_; ++slot) {
    if (slots_[slot].task != nullptr || states_[slot] == CoreState::internal ||
        states_[slot] == CoreState::doomed)
      return false;
  }
  return queue_.entries() + send_.used() + commit_queue_.size() + suspended_count_ == 0 &&
         promoted_ == nullptr && rolling_back_.empty() && !is_stopped_ && area_.overflow_empty() &&
         untimed_refill_ == nullptr;
}

void TaskUnit::on_gvt(Cycle now) {
  touch();
  if (context_.detector != nullptr) advance_earliest(now);
  serve_waiting(now);
  serve_commit_sends(now);
  serve_send_waiting(now);
  evaluate(now);
}

}  // namespace rubato::chip
