// The admission of admission.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/admission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rubato::chip {

// ---- Creates ----

bool Admission::has_room_for(std::uint32_t slot, const TaskDescriptor& task, Cycle now) {
  const CoreSlot& c = state_.slots[slot];
  return c.destination == state_.tile
             ? state_.queue.has_room(state_.is_earliest(task.has_timestamp, task.timestamp),
                                     c.task->attempt != nullptr)
             : state_.send.has_room(send_reserve(*c.task), now);
}

void Admission::stall(std::uint32_t slot, const TaskDescriptor& task, Cycle now) {
  if (state_.slots[slot].destination == state_.tile) {
    ++state_.counts.queue_stalls;
    wait_for_entry({nullptr, slot, state_.tile, task.has_timestamp, task.timestamp}, now);
  } else {
    ++state_.counts.send_stalls;
    await_send_buffer(now);
    send_waiting_.push_back(slot);
  }
  state_.states.set(slot, CoreState::stalled);
}

void Admission::redeem(std::uint32_t slot, Cycle now) {
  CoreSlot& c = state_.slots[slot];
  c.granted = false;
  if (c.destination == state_.tile) {
    state_.account_occupancy(now);
    state_.queue.redeem(c.granted_uncommitted);
  } else {
    state_.send.redeem();
  }
}

void Admission::forget_create(std::uint32_t slot, Cycle now) {
  const CoreSlot& c = state_.slots[slot];
  if (c.granted) {
    redeem(slot, now);
  } else if (c.destination == state_.tile) {
    std::erase_if(waiting_, [slot](const Waiting& w) { return w.task == nullptr && w.slot == slot; });
  } else {
    std::erase(send_waiting_, slot);
  }
}

void Admission::go_on(std::uint32_t slot, Cycle now) {
  state_.slots[slot].granted = true;
  if (!state_.slots[slot].borrowed) state_.context.host.wake(state_.core_of(slot), now);
}

// ---- Messages ----

void Admission::send_create(std::uint32_t slot, TaskEvent event, Cycle now) {
  const SendBuffer::Entry& entry = state_.send.entry(slot);
  const std::uint32_t bytes = message::kCreate + message::kArgument * entry.task->descriptor.argument_count;
  const Cycle arrival = state_.context.network.send(state_.tile, entry.to, {bytes, TrafficClass::task}, now);
  state_.schedule_at(entry.to, arrival, event, state_.tile, slot);
}

void Admission::answer(TileId to, std::uint32_t slot, TaskEvent event, Cycle now) {
  state_.schedule_at(to, state_.send_word(to, now), event, to, slot);
}

bool Admission::receive(Task* task, TileId from, std::uint32_t slot, bool granted, Cycle now) {
  const TaskDescriptor& d = task->descriptor;
  if (granted) {
    state_.account_occupancy(now);
    state_.queue.redeem(task->granted_uncommitted);
    return true;
  }
  if (task->is_discarded || state_.queue.has_room(state_.is_earliest(d.has_timestamp, d.timestamp),
                                                  task->uncommitted_parent != nullptr))
    return true;
  ++state_.counts.refused;
  wait_for_entry({task, slot, from, d.has_timestamp, d.timestamp}, now);
  answer(from, slot, TaskEvent::refused_arrives, now);
  return false;
}

// Mostly nothing waits for the entry and the arbiter looks at the tile's report soon after: no event then.
void Admission::expect_acknowledgement(std::uint32_t slot, Cycle at) {
  state_.touch();
  const Cycle sample = state_.context.arbiter->next_sample();
  if (send_waiting_.empty() && held_.empty() && sample != kNever && sample >= at) {
    state_.send.remove_at(slot, at);
  } else {
    state_.schedule(at, TaskEvent::accepted_arrives, slot);
  }
}

void Admission::await_send_buffer(Cycle now) {
  state_.send.settle(now);
  state_.send.take_leaving(
      [this](Cycle at, std::uint32_t slot) { state_.schedule(at, TaskEvent::accepted_arrives, slot); });
}

// ---- Waiting tasks ----

bool Admission::has_refused(const Task& task) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.task == &task; });
}

bool Admission::has_room_for(const Waiting& w) const {
  const bool uncommitted = is_of_uncommitted(w);
  if (state_.queue.has_room(state_.is_earliest(w.has_timestamp, w.timestamp), uncommitted)) return true;
  // The earliest task that stopped here has its entry; running tasks must be able to end before it is
  // promoted.
  return !uncommitted && state_.queue.has_room(true, false) && awaits_promotion();
}

bool Admission::awaits_promotion() const {
  bool awaits = false;
  state_.commit_queue.for_each_exceptioned([&](const Attempt* attempt) {
    awaits = awaits || state_.context.promotion->is_requested(attempt->task);
  });
  return awaits;
}

void Admission::wait_for_entry(const Waiting& w, Cycle now) {
  waiting_.push_back(w);
  // A promotion was requested before: perhaps nothing else happens here until it is served.
  if (has_room_for(w)) state_.reconsider_later(now);
}

void Admission::serve_waiting(Cycle now) {
  while (!waiting_.empty()) {
    const auto next =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return has_room_for(w); });
    if (next == waiting_.end()) return;
    const Waiting w = *next;
    waiting_.erase(next);
    state_.account_occupancy(now);
    const bool uncommitted = is_of_uncommitted(w);
    state_.queue.promise(uncommitted);
    state_.is_refill_turn = state_.is_refill_turn || !uncommitted;
    if (w.task == nullptr) {
      state_.slots[w.slot].granted_uncommitted = uncommitted;
      go_on(w.slot, now);
    } else {
      w.task->granted_uncommitted = uncommitted;
      answer(w.from, w.slot, TaskEvent::grant_arrives, now);
    }
  }
}

void Admission::serve_stalled_senders(Cycle now) {
  for (auto it = send_waiting_.begin(); it != send_waiting_.end();) {
    if (!state_.send.has_room(send_reserve(*state_.slots[*it].task), now)) {
      ++it;
      continue;
    }
    state_.send.promise();
    go_on(*it, now);
    it = send_waiting_.erase(it);
  }
}

void Admission::send_held(Task* task, Cycle now) {
  state_.queue.hold(task);
  await_send_buffer(now);
  held_.push_back(task);
  serve_held(now);
}

// The last entry of the send buffer is also for the earliest: its destination keeps a place for it, so it
// leaves soon. It is also for tasks without a timestamp. They are never the earliest, but the earliest may
// wait for them, and their destination makes room.
void Admission::serve_held(Cycle now) {
  while (!held_.empty()) {
    const auto next = std::find_if(held_.begin(), held_.end(), [&](const Task* t) {
      const TaskDescriptor& d = t->descriptor;
      return state_.send.has_room(!d.has_timestamp || state_.is_earliest(true, d.timestamp) ? 0 : 2, now);
    });
    if (next == held_.end()) return;
    Task* const task = *next;
    held_.erase(next);
    state_.account_occupancy(now);
    state_.queue.unhold(task);
    task->state = TaskState::in_flight;
    send(task, task->destination, now);
    serve_waiting(now);
  }
}

void Admission::describe_waiting(std::string& out) const {
  for (const Waiting& w : waiting_)
    out += fmt::format("tile {}: {} waits for an entry, timestamp {}, its parent {}\n", state_.tile.value,
                       w.task == nullptr ? fmt::format("core {}", state_.core_of(w.slot).value)
                                         : fmt::format("a task of tile {}", w.from.value),
                       w.timestamp, is_of_uncommitted(w) ? "uncommitted" : "committed");
}

}  // namespace rubato::chip
