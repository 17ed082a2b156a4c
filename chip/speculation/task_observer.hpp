// Observer of every task's life: the trace (C24), the replay checker (C19) and tests. Must not change the
// run. Null by default, which costs one pointer test an event.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/speculation/aborter.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  /// `core` created task `id` (its create instruction succeeded); `parent` is 0 for tasks created before a
  /// region.
  virtual void on_created(std::uint64_t /*id*/, std::uint64_t /*parent*/, const TaskDescriptor&, CoreId,
                          Cycle) {}
  /// Behind on_created: the task is an abort handler of an attempt of `core`.
  virtual void on_handler_queued(std::uint64_t /*id*/, CoreId, Cycle) {}
  /// A task unit accepted the task.
  virtual void on_enqueued(std::uint64_t /*id*/, TileId, Cycle) {}
  /// A core was given a guest task or an internal one.
  virtual void on_dispatched(CoreId, const DispatchedTask&, Cycle) {}
  /// The guest task left its core, waiting in a system call; or goes on, on the same core or another of its
  /// tile.
  virtual void on_suspended(std::uint64_t /*id*/, CoreId, Cycle) {}
  virtual void on_resumed(CoreId, const DispatchedTask&, Cycle) {}
  /// A doomed run (P36) left its core so, or goes on.
  virtual void on_doomed_suspended(CoreId, Cycle) {}
  virtual void on_doomed_resumed(CoreId, const DispatchedTask&, Cycle) {}
  /// The body ended; internal tasks end without it when they yield.
  virtual void on_finished(std::uint64_t /*id*/, CoreId, Cycle) {}
  /// The task's effects are permanent: for a non-speculative task in the cycle in which it finishes, for a
  /// speculative one in the cycle of the GVT round that decides it. The order of calls is a serial order
  /// (C19). `waits`: all it did was to find that it must wait for a TaskGroup; it is created again.
  virtual void on_committed(std::uint64_t /*id*/, CoreId, Cycle, bool /*waits*/) {}
  /// An attempt of the task, running on `core`, suspended or finished there, was aborted. The task runs
  /// again, unless it was discarded with its parent.
  virtual void on_aborted(std::uint64_t /*id*/, CoreId, const AbortReason&, bool /*discarded*/, Cycle) {}
  /// The outermost capsule call of the task on this core, or what was left of it after an abort.
  virtual void on_capsule(CoreId, Addr /*stub*/, Cycle /*from*/, Cycle /*to*/, bool /*doomed*/) {}
  /// An attempt was aborted in a capsule, which now has ended on `core`, too (P36).
  virtual void on_doomed_ended(CoreId, Cycle) {}
  /// The task is gone: its parent was aborted.
  virtual void on_discarded(std::uint64_t /*id*/, Cycle) {}
  /// The internal task on `core` ended.
  virtual void on_internal_finished(CoreId, DispatchedTask::Kind, Cycle) {}
  virtual void on_spilled(std::uint64_t /*id*/, TileId, Cycle) {}
  virtual void on_refilled(std::uint64_t /*id*/, TileId, Cycle) {}
  /// A GVT round sampled all tiles in this cycle and found `gvt`.
  virtual void on_gvt(VirtualTime, Cycle) {}
};

}  // namespace rubato::chip
