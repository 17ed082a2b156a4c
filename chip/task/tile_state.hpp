// The hardware state of a tile's task unit: the slots of its cores, its queues and the GVT as it knows it.
// The parts of the task unit share this state. Each part has a protocol over it and state of its own; no part
// calls another.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "chip/stats/registry.hpp"
#include "chip/task/commit_queue.hpp"
#include "chip/task/core_states.hpp"
#include "chip/task/send_buffer.hpp"
#include "chip/task/task_context.hpp"
#include "chip/task/task_queue.hpp"

namespace rubato::chip {

/// The activity of a core for its task unit, and its operands.
struct CoreSlot {
  Task* task = nullptr;
  TileId mapped{};                   ///< where the task being created belongs
  TileId destination{};              ///< where it goes now: the same, or here if it is held
  bool granted = false;              ///< the stalled create may go on
  bool granted_uncommitted = false;  ///< with a task-queue entry for a child of an uncommitted parent
  bool borrowed = false;             ///< a spill runs on this stalled core
  DispatchedTask::Kind internal_kind = DispatchedTask::Kind::guest;
};

/// Statistics of a task unit; their meaning is in task_unit_report.cpp.
struct TileCounts {
  std::uint64_t created = 0, dispatched = 0, finished = 0, committed = 0, nonspeculative = 0, aborted = 0,
                discarded = 0, excepted = 0, commit_stalls = 0, local = 0, remote = 0, refused = 0,
                spilled = 0, refilled = 0, handlers_registered = 0, handlers_dropped = 0, handlers_queued = 0,
                handlers_most_waiting = 0, handlers_waited = 0, doomed_runs = 0, spills = 0, borrowed = 0,
                refills = 0, queue_stalls = 0, send_stalls = 0, suspended = 0, suspended_attempts = 0,
                suspended_cycles = 0, suspended_doomed = 0, waited = 0, held_back = 0;
};

struct TileState {
  /// A blocked access of the unit is issued again after this; no protocol blocks accesses to untracked memory
  /// for long.
  static constexpr Latency kRetry = 8;

  /// @param handler takes the tile's events. Everything outlives the state.
  TileState(TaskContext& chip, EventHandler& handler, TileId id);
  void begin_region(Cycle now);

  std::uint32_t slot_of(CoreId core) const { return core.value - first_core; }
  CoreId core_of(std::uint32_t slot) const { return CoreId{first_core + slot}; }
  bool speculates() const { return context.speculation != nullptr; }

  /// As last broadcast to this tile; without an arbiter what the tile itself knows.
  VirtualTime gvt() const { return context.arbiter != nullptr ? context.arbiter->gvt_at(tile) : own_gvt; }
  bool is_earliest(bool has_timestamp, Timestamp t) const { return has_timestamp && t <= gvt().timestamp; }
  bool is_earliest(const Attempt& attempt) const { return attempt.virtual_time == gvt(); }
  /// The timestamp of a task without one, if it is dispatched now.
  Timestamp speculative_timestamp(const Task& task) const {
    return std::max(task.order, context.arbiter->sampled().timestamp);
  }

  /// At the start of everything that may change the report.
  void touch() {
    if (context.arbiter != nullptr) context.arbiter->touch(tile);
  }
  /// The event reaches this task unit with `slot` of its own.
  void schedule(Cycle at, TaskEvent event, std::uint32_t slot) {
    context.timeline.schedule(at, &unit, static_cast<std::uint32_t>(event),
                              std::uint64_t{tile.value} << 32 | slot);
  }
  /// The event reaches the task unit of tile `to`; `slot` is one of tile `of`.
  void schedule_at(TileId to, Cycle at, TaskEvent event, TileId of, std::uint32_t slot) {
    context.timeline.schedule(at, context.units[to.value], static_cast<std::uint32_t>(event),
                              std::uint64_t{of.value} << 32 | slot);
  }
  /// TaskUnit::reconsider() is called in an event of its own.
  void reconsider_later(Cycle at) {
    if (reconsider_at <= at) return;
    reconsider_at = at;
    schedule(at, TaskEvent::reconsider, 0);
  }
  /// Sends `to` a message without a task. @returns when it arrives.
  Cycle send_word(TileId to, Cycle now) {
    return context.network.send(tile, to, {message::kAcknowledgement, TrafficClass::task}, now);
  }

  /// `task`, not null, has the core; `is_speculative`: it has an attempt, or is about to get one.
  void give_core(std::uint32_t slot, Task* task, bool is_speculative) {
    slots[slot].task = task;
    yields_before[slot] = is_speculative || task->descriptor.has_timestamp ? task->virtual_time.timestamp
                                                                           : kMaxVirtualTime.timestamp;
  }
  void take_core(std::uint32_t slot) {
    slots[slot].task = nullptr;
    yields_before[slot] = kMaxVirtualTime.timestamp;
  }
  /// The task on `slot` leaves its core and its locale.
  void leave_core(std::uint32_t slot, CoreState next) {
    take_core(slot);
    states.set(slot, next);
    queue.finish(slot);
    queue.prefetch_dispatch();
  }
  bool precedes_all_running(Timestamp order) const {
    Timestamp first = yields_before[0];
    for (std::uint32_t slot = 1; slot < kMaxCoresPerTile; ++slot)
      first = std::min(first, yields_before[slot]);
    return order < first;
  }
  /// Cores whose tasks wait for an entry of some queue.
  std::uint32_t waiting_for_entry() const {
    return states.in(CoreState::stalled) | states.in(CoreState::finishing);
  }
  /// Its attempt could go on only with an entry it waits for: the core does nothing for it.
  bool is_waiting_for_entry(std::uint32_t slot) const {
    return (waiting_for_entry() >> slot & 1) != 0 && !slots[slot].granted;
  }
  /// A speculative task stalls on a create.
  bool has_stalled_attempt() const {
    for (std::uint32_t rest = states.in(CoreState::stalled); rest != 0; rest &= rest - 1)
      if (slots[static_cast<std::uint32_t>(std::countr_zero(rest))].task->attempt != nullptr) return true;
    return false;
  }
  /// The attempt that yields its core to an earlier task: the latest one outside a capsule, for in a capsule
  /// the core would go on with it (P41). If all are in capsules, the latest of all, and no other before that
  /// core is free. Null: none.
  Attempt* latest_to_yield() const;
  bool has_idle_untimed() const {
    return queue.idle(Lane::untimestamped) + queue.idle(Lane::untimestamped_nonspec) != 0;
  }

  /// Before every change of the number of task-queue entries.
  void account_occupancy(Cycle now) {
    occupancy.add(queue.entries(), now - occupancy_since);
    occupancy_since = now;
  }
  /// Before every change of the number of commit-queue entries.
  void account_commits(Cycle now) {
    commit_occupancy.add(commit_queue.size(), now - commit_occupancy_since);
    commit_occupancy_since = now;
  }

  /// Brings the time that cores had no work beside throttled tasks up to `now`.
  void account_held_back(Cycle now) {
    counts.held_back += std::uint64_t{held_back_cores} * (now - held_back_since);
    held_back_since = now;
  }
  /// After every change of what cores do. Nearly always none is held back.
  void note_held_back(Cycle now) {
    if ((held_back_cores | queue.throttled()) == 0) return;
    account_held_back(now);
    held_back_cores =
        std::min(queue.throttled(), static_cast<std::uint32_t>(std::popcount(states.in(CoreState::idle))));
  }

  // Members that most events read stand first, see EventHandler::kFirstUsed; the same holds in the queue.
  TaskContext& context;
  EventHandler& unit;
  TileId tile;
  std::uint32_t first_core, cores;
  CoreStates states;
  bool is_stopped = false;       ///< a promotion is being served
  bool is_refill_turn = true;    ///< to take the last entry of the task queue
  Task* promoted = nullptr;      ///< granted, not yet dispatched
  Cycle reconsider_at = kNever;  ///< scheduled
  Cycle occupancy_since{};
  Cycle commit_occupancy_since{};
  Cycle held_back_since{};
  std::uint32_t held_back_cores = 0;  ///< without work, while as many throttled tasks or more wait
  /// By slot: what precedes this timestamp precedes the task there. The last one where there is none, or it
  /// is neither timestamped nor speculative and everything may precede it.
  std::array<Timestamp, kMaxCoresPerTile> yields_before{};
  std::array<CoreSlot, kMaxCoresPerTile> slots{};
  SendBuffer send;
  CommitQueue commit_queue;
  TaskQueue queue;
  VirtualTime own_gvt{};  ///< of a chip without an arbiter
  TileCounts counts;
  Histogram occupancy, commit_occupancy;
};

}  // namespace rubato::chip
