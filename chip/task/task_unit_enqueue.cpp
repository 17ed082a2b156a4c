// The task unit's creates and the enqueue protocol: a created task goes to its tile, which accepts it or lets
// it wait for an entry. Espresso, Fig. 6(c); C10, C13, C16.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

CreateOutcome TaskUnit::create(CoreId core, const TaskDescriptor& descriptor, Cycle now) {
  state_.touch();
  const std::uint32_t slot = state_.slot_of(core);
  CoreSlot& c = state_.slots[slot];
  const TaskType type = context_.runs_as(descriptor.type);
  // A NONSPEC child of a speculative parent cannot run before that commits: it waits here (Fig. 6(d)).
  const auto is_held = [&] { return type == TaskType::nonspec && c.task->attempt != nullptr; };
  if (state_.states[slot] == CoreState::stalled) {
    if (!c.granted) return CreateOutcome::stalled;
    state_.states.set(slot, CoreState::running);
    admission_.redeem(slot, now);
  } else {
    // Held children need no pointer to where they are (P48).
    if (const Attempt* attempt = c.task->attempt;
        attempt != nullptr && !is_held() &&
        attempt->children.size() - attempt->held_children >= context_.config.task.tracked_children &&
        !become_nonspeculative(slot, now))
      return CreateOutcome::exception;
    c.mapped = context_.mapper->map(descriptor, state_.tile);
    c.destination = is_held() ? state_.tile : c.mapped;
    if (!admission_.has_room_for(slot, descriptor, now)) {
      admission_.stall(slot, descriptor, now);
      evaluate(now);
      if (c.task->attempt != nullptr) {
        context_.arbiter->arm(now);  // the next round may find that it is the earliest
        if (state_.is_earliest(*c.task->attempt)) state_.reconsider_later(now);
      }
      return CreateOutcome::stalled;
    }
  }
  Task* task = context_.make_task(descriptor, c.task->id);
  task->tile = state_.tile;
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
    ++state_.counts.created;
  }
  if (context_.observer != nullptr) {
    context_.observer->on_created(task->id, task->parent, descriptor, core, now);
  }
  if (is_held()) {
    state_.account_occupancy(now);
    state_.queue.hold(task);
  } else if (c.destination == state_.tile) {
    // Also where it stalled as one to be held, and its creator became non-speculative.
    release_held(task, now);
  } else {
    admission_.send(task, c.destination, now);
  }
  return CreateOutcome::accepted;
}

void TaskUnit::accept(Task* task, Cycle now) {
  const TaskDescriptor& d = task->descriptor;
  RUBATO_CHECK(!d.has_timestamp || d.timestamp >= state_.gvt().timestamp, "a task arrives before the GVT");
  state_.account_occupancy(now);
  task->order = d.has_timestamp ? d.timestamp : std::max(task->order, state_.gvt().timestamp);
  task->tile = state_.tile;
  state_.queue.insert(task);
  if (context_.observer != nullptr) context_.observer->on_enqueued(task->id, state_.tile, now);
  evaluate(now);
}

void TaskUnit::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  state_.touch();
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
      return admission_.send_granted(slot, now);
    case TaskEvent::rollback_step:
      return step_rollback(context_.attempts.at(slot), now);
    case TaskEvent::reconsider:
      return reconsider(now);
    case TaskEvent::patience_ends: {
      const auto resource = static_cast<ScarceResource>(slot);
      if (const Obstacle obstacle = room_.end_patience(resource, choice_.candidates());
          obstacle.attempt != nullptr)
        give_way(obstacle, now);
      return reconsider(now);
    }
    case TaskEvent::borrowed_step:
      return step_borrowed(slot, now);
  }
}

void TaskUnit::receive(TileId from, std::uint32_t slot, bool granted, Cycle now) {
  TaskUnit& sender = *tiles_[from.value];
  Task* const task = sender.state_.send.entry(slot).task;
  if (!admission_.receive(task, from, slot, granted, now)) return evaluate(now);
  sender.admission_.expect_acknowledgement(slot, state_.send_word(from, now));
  if (task->is_discarded) {  // its parent was aborted while it was on its way
    drop(task, now);
    if (granted) admission_.serve_waiting(now);
    return;
  }
  ++state_.counts.remote;
  accept(task, now);
}

void TaskUnit::acknowledged(std::uint32_t slot, Cycle now) {
  const SendBuffer::Entry entry = state_.send.entry(slot);
  state_.send.remove(slot);
  if (entry.has_timestamp) context_.arbiter->left(entry.timestamp, now);
  if (is_empty()) context_.arbiter->arm(now);
  admission_.serve_senders(now);
}

}  // namespace rubato::chip
