// The task units as cores see them: the contract between a core's pipeline and the tiles' task hardware.
// Implemented by TaskUnits (task_units.hpp), which owns one TaskUnit a tile, the arbiter and the mapper.
//
// Life of a task: a core asks (create), the destination's task unit accepts (enqueue), a core is given the
// task (dispatch), its body ends (finish), its effects become permanent (commit). Internal tasks (spill,
// refill) run on cores too, but as sequences of memory accesses that the task unit makes itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "chip/speculation/aborter.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The next work of a core.
struct DispatchedTask {
  enum class Kind : std::uint8_t {
    guest,
    spill,
    refill,
    resumed,  ///< a guest task that was suspended goes on, or what is left of it (is_doomed)
  };
  Kind kind = Kind::guest;
  TaskDescriptor descriptor{};  ///< of a guest task
  bool speculative = false;
  bool promotes = false;       ///< before its first instruction, as if that were `promote`
  Attempt* attempt = nullptr;  ///< of a speculative task: where its core keeps sets, log and cycles
  std::uint64_t id = 0;        ///< unique in the run: for traces
  std::uint64_t run = 0;       ///< of what is resumed: the number with which it was suspended
  bool is_doomed = false;      ///< of what is resumed: its attempt was aborted, before or meanwhile (P40)
};

enum class CreateOutcome : std::uint8_t {
  accepted,
  stalled,    ///< no room: the core waits (class "stall") until woken, then issues the instruction again
  exception,  ///< a speculative task must stop (C18); the core leaves the task
};

/// Contract: calls come in strict time order (`now` never decreases); deterministic; no allocation in steady
/// state.
class TaskSystem {
 public:
  virtual ~TaskSystem() = default;

  /// A task created outside any region: enters the next region as part of a spilled batch (C4).
  virtual void create_before_region(const TaskDescriptor& task) = 0;

  /// Starts a region in which every core has a worker, and each tile `spare_workers` more. All cores are then
  /// asked to dispatch.
  virtual void begin_region(Cycle now, std::uint32_t spare_workers) = 0;

  /// The task running on `core` creates one. The create instruction's own cycles are the core's business.
  /// @returns the sentence of a program error (C8: earlier timestamp, timestamp from an untimestamped task)
  /// in `error` if the running task is non-speculative and the create is wrong; the caller reports it.
  virtual CreateOutcome create(CoreId core, const TaskDescriptor& task, Cycle now, std::string& error) = 0;

  /// A free core asks for work. @returns true: it is in `work`. False: there is none, and the core idles
  /// (class "idle") until TaskHost::wake.
  virtual bool dispatch(CoreId core, Cycle now, DispatchedTask& work) = 0;

  /// A step of the internal task dispatched to `core`: performs its next memory access or queue operation.
  /// @returns the cycle at which the next step may start, or kNever: the internal task has ended.
  virtual Cycle step_internal(CoreId core, Cycle now) = 0;

  /// The guest task on `core` executed `finish` and all its stores and checks are acknowledged. The core
  /// dispatches again afterwards. False: it must wait (commit queue full, class "stall") until woken.
  /// The attempt of a speculative task must outlive this call unsettled: it gets the cycles of `finish`.
  /// `waits`: the task did nothing but find that it must wait.
  virtual bool finish(CoreId core, Cycle now, bool waits) = 0;

  /// The guest task or doomed run on `core` waits in a system call: it has left the core, which asks for work
  /// (C18, P50). A task counts as running; its locale is an earlier task's, if the task is speculative, and
  /// else no other's. `what` ran, and has a number `run` that no other suspended run has.
  virtual void suspend(CoreId core, const DispatchedTask& what, Cycle now) = 0;
  /// For tests: dooms the attempt of task `id`, which is of `tile`, if it runs or waits in a capsule there.
  virtual bool doom_task(TileId tile, std::uint64_t id, Cycle now) = 0;
  /// A run suspended on `tile` may go on: it is the first that a core of the tile is given.
  virtual void resume(TileId tile, std::uint64_t run, Cycle now) = 0;

  /// The speculative task executed `promote`, or ran into something only a non-speculative task may do (C18).
  /// @returns true if it has been stopped: the core asks for work. False if the task is non-speculative
  /// (now): `promote` then has no effect, a fault is a program error.
  /// `goes_on`: inside a capsule, which the core then runs to its end as after TaskHost::abort_running (P42).
  virtual bool exception(CoreId core, Cycle now, bool goes_on = false) = 0;

  // Capsules of a speculative task.
  /// Its abort, for whatever cause, is to be followed by `handler`, a task of the tile (P12).
  virtual void on_abort(CoreId core, const Handler& handler) = 0;
  /// The capsule cannot be held up by what would stop or stall its task: that is aborted, for `cause` (P34).
  virtual void doom(CoreId core, AbortCause cause, Cycle now) = 0;
  /// A doomed run of `core` registered `handler`: it runs in any case (P37).
  virtual void run_handler(CoreId core, const Handler& handler, Cycle now) = 0;
  /// A doomed run has left its last capsule: the core asks for work.
  virtual void end_doomed(CoreId core, Cycle now) = 0;

  /// A line for each thing that tasks wait for, for the report of a run without progress (C3).
  virtual std::string describe_waiting() const = 0;
};

/// The chip, as task units see it. Implemented by Chip.
class TaskHost {
 public:
  virtual ~TaskHost() = default;
  /// `core` should call dispatch (or retry what stalled) at cycle `at`.
  virtual void wake(CoreId core, Cycle at) = 0;
  /// Every task is done and no task is anywhere on the chip: the region ends at `at`.
  virtual void end_region(Cycle at) = 0;
  /// The speculative task on `core` was aborted at `at`. When this returns, the core has charged its cycles
  /// to the attempt, beyond `at` if it had run ahead, and has forgotten the attempt; it rolls back until
  /// woken. Called while the task runs, stalls or is blocked, even from within a call or an access of that
  /// core. @returns true if it does not roll back, but runs on, doomed, until its capsule ends (P36).
  virtual bool abort_running(CoreId core, Cycle at) = 0;
  /// abort_running would return true.
  virtual bool is_in_capsule(CoreId core) const = 0;
  /// The speculative task on `core` goes on as a non-speculative one (C13): the attempt has its cycles so far
  /// and is forgotten by the core.
  virtual void become_nonspeculative(CoreId core) = 0;
  /// The suspended speculative task `id` does the same: no core knows of it.
  virtual void become_nonspeculative_suspended(std::uint64_t id) = 0;
  /// The attempt's fate is known: its undo log, and what else was kept for it, is free. It may be called
  /// again for an attempt that had stopped (C18).
  virtual void retire(Attempt& attempt, bool is_committed) = 0;
  /// The record of a handler has been read, or is no longer needed.
  virtual void free_record(LineAddr record) = 0;
  /// No task can ever proceed, though cores are at work: the run ends. Functions stand as addresses in both
  /// texts; an empty sentence: tasks and threads wait for each other.
  virtual void no_progress(const std::string& sentence, const std::string& details) = 0;
  /// Something that waits in a system call will go on by itself, some time.
  virtual bool awaits_time() const = 0;
};

}  // namespace rubato::chip
