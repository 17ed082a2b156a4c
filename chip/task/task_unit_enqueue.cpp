// The task unit's creates and the enqueue protocol: a created task goes to its tile, which accepts it or lets
// it wait for an entry. Espresso, Fig. 6(c); C10, C13, C16.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

namespace {

std::uint64_t payload(TileId tile, std::uint32_t slot) { return std::uint64_t{tile.value} << 32 | slot; }

}  // namespace

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
    // Held children need no pointer to where they are (P48).
    if (const Attempt* attempt = c.task->attempt;
        attempt != nullptr && !is_held() &&
        attempt->children.size() - attempt->held_children >= context_.config.task.tracked_children &&
        !become_nonspeculative(slot, now))
      return CreateOutcome::exception;
    c.mapped = context_.mapper->map(descriptor, tile_);
    c.destination = is_held() ? tile_ : c.mapped;
    const auto has_room = [&] {
      return c.destination == tile_
                 ? queue_.has_room(is_earliest(descriptor.has_timestamp, descriptor.timestamp),
                                   c.task->attempt != nullptr)
                 : send_.has_room(send_reserve(*c.task), now);
    };
    if (!has_room()) {
      if (c.destination == tile_) {
        ++stats_.queue_stalls;
        wait_for_entry({true, slot, tile_, descriptor.has_timestamp, descriptor.timestamp}, now);
      } else {
        ++stats_.send_stalls;
        await_send_buffer(now);
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
    attempt->held_children += is_held() ? 1 : 0;
  } else if (!c.task->descriptor.has_timestamp && type != TaskType::nonspec) {
    task->creator = c.task;
  }
  if (descriptor.is_again) {
    context_.waits.created_again(descriptor);
  } else {
    ++stats_.created;
  }
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
  context_.timeline.schedule(send_word(to, now), tiles_[to.value].get(), static_cast<std::uint32_t>(event),
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
  tiles_[from.value]->expect_acknowledgement(slot, send_word(from, now));
  if (task->is_discarded) {  // its parent was aborted while it was on its way
    drop(task, now);
    if (granted) serve_waiting(now);
    return;
  }
  ++stats_.remote;
  accept(task, now);
}

// Mostly nobody waits for the entry and the arbiter looks at the tile's report soon after: no event then.
void TaskUnit::expect_acknowledgement(std::uint32_t slot, Cycle at) {
  touch();
  const Cycle sample = context_.arbiter->next_sample();
  if (send_waiting_.empty() && commit_sends_.empty() && sample != kNever && sample >= at) {
    send_.remove_at(slot, at);
  } else {
    schedule(at, TaskEvent::accepted_arrives, slot);
  }
}

void TaskUnit::await_send_buffer(Cycle now) {
  send_.settle(now);
  send_.take_leaving(
      [this](Cycle at, std::uint32_t slot) { schedule(at, TaskEvent::accepted_arrives, slot); });
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
    if (!send_.has_room(send_reserve(*slots_[*it].task), now)) {
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

}  // namespace rubato::chip
