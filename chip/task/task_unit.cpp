// The task unit: dispatch, the enqueue protocol and rounds. Spills and refills are in task_unit_spill.cpp,
// what speculates in task_unit_speculation.cpp, and what makes room for others in task_unit_room.cpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_unit.hpp"

#include <bit>
#include <cmath>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

namespace {

std::uint64_t payload(TileId tile, std::uint32_t slot) { return std::uint64_t{tile.value} << 32 | slot; }

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
    const RunMode mode = context_.rule->may_run(*task, view);
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
  // Without an arbiter the tile itself knows the earliest task, to the cycle.
  if (context_.arbiter == nullptr) own_gvt_ = report().at(now);
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
  if (task == promoted_) {  // keeps its virtual time: it is the earliest active task
    promoted_ = nullptr;
    queue_.occupy(*task, slot);
  } else {
    queue_.dispatch(task, slot, choice.mode == RunMode::speculative);
    const TaskDescriptor& d = task->descriptor;
    const Timestamp timestamp = d.has_timestamp                       ? d.timestamp
                                : choice.mode == RunMode::speculative ? speculative_timestamp(*task)
                                                                      : gvt().timestamp;
    task->virtual_time = {timestamp, tie_breaker(now, core_of(slot))};
  }
  task->state = TaskState::running;
  give_core(slot, task, choice.mode == RunMode::speculative);
  states_.set(slot, CoreState::running);
  task->aborts = 0;
  ++stats_.dispatched;
  if (choice.mode == RunMode::speculative) {
    start_attempt(task, core_of(slot));
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

bool TaskUnit::finish(CoreId core, Cycle now) {
  touch();
  const std::uint32_t slot = slot_of(core);
  CoreSlot& c = slots_[slot];
  RUBATO_CHECK(states_[slot] == CoreState::running || states_[slot] == CoreState::finishing,
               "a task that does not run finishes");
  Task* task = c.task;
  if (task->attempt != nullptr) return finish_attempt(slot, now);
  leave_core(slot, CoreState::busy);
  ++stats_.finished;
  ++stats_.committed;
  ++stats_.nonspeculative;
  task->state = TaskState::finished;
  if (context_.observer != nullptr) {
    context_.observer->on_finished(task->id, core, now);
    context_.observer->on_committed(task->id, core, now);
  }
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

// ---- Creating and enqueueing (Fig. 6(c)) ----

// Entries of the send buffer that stay free for others: children of speculative tasks may stay in it until
// those commit, for which others may have to create.
std::uint32_t TaskUnit::send_reserve(const Task& creator) const { return creator.attempt != nullptr ? 2 : 0; }

CreateOutcome TaskUnit::create(CoreId core, const TaskDescriptor& descriptor, Cycle now) {
  touch();
  const std::uint32_t slot = slot_of(core);
  CoreSlot& c = slots_[slot];
  const TaskType type = context_.runs_as(descriptor.type);
  // A NONSPEC child of a speculative parent cannot run before that commits: it waits here (Fig. 6(d)).
  const auto is_held = [&] { return type == TaskType::nonspec && c.task->attempt != nullptr; };
  if (states_[slot] == CoreState::stalled) {
    if (!c.granted) return CreateOutcome::stalled;
    c.granted = false;
    states_.set(slot, CoreState::running);
    stalled_attempts_ -= c.task->attempt != nullptr ? 1 : 0;
    c.destination == tile_ ? (account_occupancy(now), queue_.redeem(c.granted_uncommitted)) : send_.redeem();
  } else {
    if (const Attempt* attempt = c.task->attempt;
        attempt != nullptr && attempt->children.size() >= context_.config.task.tracked_children &&
        !become_nonspeculative(slot, now))
      return CreateOutcome::exception;
    c.mapped = context_.mapper->map(descriptor, tile_);
    c.destination = is_held() ? tile_ : c.mapped;
    const auto has_room = [&] {
      return c.destination == tile_
                 ? queue_.has_room(is_earliest(descriptor.has_timestamp, descriptor.timestamp),
                                   c.task->attempt != nullptr)
                 : send_.has_room(send_reserve(*c.task));
    };
    if (!has_room()) {
      if (c.destination == tile_) {
        ++stats_.queue_stalls;
        wait_for_entry({true, slot, tile_, descriptor.has_timestamp, descriptor.timestamp}, now);
      } else {
        ++stats_.send_stalls;
        send_waiting_.push_back(slot);
      }
      states_.set(slot, CoreState::stalled);
      stalled_attempts_ += c.task->attempt != nullptr ? 1 : 0;
      evaluate(now);
      if (c.task->attempt != nullptr) {
        context_.arbiter->arm(now);  // the next round may find that it is the earliest
        if (is_earliest(*c.task->attempt)) reconsider_later(now);
      }
      return CreateOutcome::stalled;
    }
  }
  Task* task = context_.make_task(descriptor, c.task->id);
  task->tile = tile_;
  task->destination = c.mapped;
  if (Attempt* attempt = c.task->attempt; attempt != nullptr) {
    task->uncommitted_parent = c.task;
    task->order = attempt->virtual_time.timestamp;
    attempt->children.push_back(task);
  } else if (!c.task->descriptor.has_timestamp && type != TaskType::nonspec) {
    task->creator = c.task;
  }
  ++stats_.created;
  if (context_.observer != nullptr) {
    context_.observer->on_created(task->id, task->parent, descriptor, core, now);
  }
  if (is_held()) {
    account_occupancy(now);
    queue_.hold(task);
  } else if (c.destination == tile_) {
    release_held(task,
                 now);  // also where it stalled as one to be held, and its creator became non-speculative
  } else {
    send_create(send_.add(task, c.destination), TaskEvent::create_arrives, now);
  }
  return CreateOutcome::accepted;
}

void TaskUnit::accept(Task* task, Cycle now) {
  const TaskDescriptor& d = task->descriptor;
  RUBATO_CHECK(!d.has_timestamp || d.timestamp >= gvt().timestamp, "a task arrives before the GVT");
  account_occupancy(now);
  task->order = d.has_timestamp ? d.timestamp : std::max(task->order, gvt().timestamp);
  task->tile = tile_;
  queue_.insert(task);
  if (context_.observer != nullptr) context_.observer->on_enqueued(task->id, tile_, now);
  evaluate(now);
}

void TaskUnit::schedule(Cycle at, TaskEvent event, std::uint32_t slot) {
  context_.timeline.schedule(at, this, static_cast<std::uint32_t>(event), payload(tile_, slot));
}

void TaskUnit::send_create(std::uint32_t slot, TaskEvent event, Cycle now) {
  const SendBuffer::Entry& entry = send_.entry(slot);
  const std::uint32_t bytes = message::kCreate + message::kArgument * entry.task->descriptor.argument_count;
  const Cycle arrival = context_.network.send(tile_, entry.to, {bytes, TrafficClass::task}, now);
  context_.timeline.schedule(arrival, tiles_[entry.to.value].get(), static_cast<std::uint32_t>(event),
                             payload(tile_, slot));
}

void TaskUnit::answer(TileId to, std::uint32_t slot, TaskEvent event, Cycle now) {
  const Message message{message::kAcknowledgement, TrafficClass::task};
  const Cycle arrival = context_.network.send(tile_, to, message, now);
  context_.timeline.schedule(arrival, tiles_[to.value].get(), static_cast<std::uint32_t>(event),
                             payload(to, slot));
}

void TaskUnit::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  touch();
  const auto event = static_cast<TaskEvent>(kind);
  const auto slot = static_cast<std::uint32_t>(payload);
  const TileId from{static_cast<std::uint32_t>(payload >> 32)};
  switch (event) {
    case TaskEvent::create_arrives:
      return receive(from, slot, false, now);
    case TaskEvent::granted_arrives:
      return receive(from, slot, true, now);
    case TaskEvent::accepted_arrives:
      return acknowledged(slot, now);
    case TaskEvent::refused_arrives:
      return;  // the entry stays and waits for the grant
    case TaskEvent::grant_arrives:
      return send_create(slot, TaskEvent::granted_arrives, now);
    case TaskEvent::rollback_step:
      return step_rollback(context_.attempts.at(slot), now);
    case TaskEvent::reconsider:
      return reconsider(now);
    case TaskEvent::patience_ends:
      return end_patience(static_cast<Need>(slot), now);
    case TaskEvent::borrowed_step: {
      const CoreId core = core_of(slot);
      if (const Cycle next = step_spill(core, now); next != kNever) {
        schedule(next, event, slot);
        return;
      }
      CoreSlot& c = slots_[slot];
      c.borrowed = false;
      if (c.granted) context_.host.wake(core, now);
      wake_finishing(now);
      return evaluate(now);
    }
  }
}

void TaskUnit::receive(TileId from, std::uint32_t slot, bool granted, Cycle now) {
  Task* task = tiles_[from.value]->send_.entry(slot).task;
  const TaskDescriptor& d = task->descriptor;
  if (granted) {
    account_occupancy(now);
    queue_.redeem(task->granted_uncommitted);
  } else if (!task->is_discarded && !queue_.has_room(is_earliest(d.has_timestamp, d.timestamp),
                                                     task->uncommitted_parent != nullptr)) {
    ++stats_.refused;
    wait_for_entry({false, slot, from, d.has_timestamp, d.timestamp}, now);
    answer(from, slot, TaskEvent::refused_arrives, now);
    return evaluate(now);
  }
  answer(from, slot, TaskEvent::accepted_arrives, now);
  if (task->is_discarded) {  // its parent was aborted while it was on its way
    drop(task, now);
    if (granted) serve_waiting(now);
    return;
  }
  ++stats_.remote;
  accept(task, now);
}

void TaskUnit::acknowledged(std::uint32_t slot, Cycle now) {
  const SendBuffer::Entry entry = send_.entry(slot);
  send_.remove(slot);
  if (entry.has_timestamp) context_.arbiter->left(entry.timestamp, now);
  if (is_empty()) context_.arbiter->arm(now);
  serve_commit_sends(now);
  serve_send_waiting(now);
}

void TaskUnit::go_on(std::uint32_t slot, Cycle now) {
  slots_[slot].granted = true;
  if (!slots_[slot].borrowed) context_.host.wake(core_of(slot), now);
}

void TaskUnit::serve_send_waiting(Cycle now) {
  for (auto it = send_waiting_.begin(); it != send_waiting_.end();) {
    if (!send_.has_room(send_reserve(*slots_[*it].task))) {
      ++it;
      continue;
    }
    send_.promise();
    go_on(*it, now);
    it = send_waiting_.erase(it);
  }
}

bool TaskUnit::is_of_uncommitted(const Waiting& w) const {
  return w.local ? slots_[w.slot].task->attempt != nullptr
                 : tiles_[w.from.value]->send_.entry(w.slot).task->uncommitted_parent != nullptr;
}

bool TaskUnit::refused(const Task& task) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& w) {
    return !w.local && tiles_[w.from.value]->send_.entry(w.slot).task == &task;
  });
}

bool TaskUnit::has_room_for(const Waiting& w) const {
  const bool uncommitted = is_of_uncommitted(w);
  if (queue_.has_room(is_earliest(w.has_timestamp, w.timestamp), uncommitted)) return true;
  // The earliest that stopped here has its entry; what still runs must be able to end before it is promoted.
  return !uncommitted && queue_.has_room(true, false) && awaits_promotion();
}

void TaskUnit::wait_for_entry(const Waiting& w, Cycle now) {
  waiting_.push_back(w);
  // A promotion was requested before: perhaps nothing else happens here until it is served.
  if (has_room_for(w)) reconsider_later(now);
}

bool TaskUnit::awaits_promotion() const {
  bool awaits = false;
  commit_queue_.for_each_exceptioned(
      [&](const Attempt* attempt) { awaits = awaits || context_.promotion->is_requested(attempt->task); });
  return awaits;
}

// Promises free entries to those that were refused, in order; the last entry to the first that is earliest.
void TaskUnit::serve_waiting(Cycle now) {
  while (!waiting_.empty()) {
    const auto next =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return has_room_for(w); });
    if (next == waiting_.end()) return;
    const Waiting w = *next;
    waiting_.erase(next);
    account_occupancy(now);
    const bool uncommitted = is_of_uncommitted(w);
    queue_.promise(uncommitted);
    is_refill_turn_ = is_refill_turn_ || !uncommitted;
    if (w.local) {
      slots_[w.slot].granted_uncommitted = uncommitted;
      go_on(w.slot, now);
    } else {
      tiles_[w.from.value]->send_.entry(w.slot).task->granted_uncommitted = uncommitted;
      answer(w.from, w.slot, TaskEvent::grant_arrives, now);
    }
  }
}

// The task on `slot`, aborted, no longer wants what its create waited for.
void TaskUnit::forget_create(std::uint32_t slot, Cycle now) {
  CoreSlot& c = slots_[slot];
  stalled_attempts_ -= c.task->attempt != nullptr ? 1 : 0;
  const bool is_local = c.destination == tile_;
  if (std::exchange(c.granted, false)) {
    is_local ? (account_occupancy(now), queue_.redeem(c.granted_uncommitted)) : send_.redeem();
  } else if (is_local) {
    std::erase_if(waiting_, [slot](const Waiting& w) { return w.local && w.slot == slot; });
  } else {
    std::erase(send_waiting_, slot);
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
    if (slots_[slot].task != nullptr || states_[slot] == CoreState::internal) return false;
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
