// A tile's task unit: queues tasks, hands them to the tile's cores, sends created tasks to other tiles, and
// spills and refills. Espresso, Sec. V-A, V-B, Fig. 6(c); C9, C10, C13, C16. It keeps the order of events.
// Its parts (the private members at the end), each in a file of its own, do the work of each event. They
// share the tile's queues and cores in tile_state.hpp.
//
// Speculative tasks (task_unit_speculation.cpp) keep their task-queue entry until they commit; when their
// body ends their attempt takes a commit-queue entry. An earlier task takes the core, the locale or the
// commit-queue entry of the latest attempt that has it (C9, C17); such aborts happen as events of their own,
// never inside a core's action. Progress with full queues: a task unit can always spill while two guest tasks
// are idle. If all its cores are busy or stalled, it spills on a stalled one (the core's pipeline waits; its
// port to memory is free). Freed entries are promised to those that were refused, in order. The last entry is
// for tasks with the GVT's timestamp, and one is for refill tasks. So tasks that the GVT waits for can always
// be read back.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "chip/capsule/capsule_fault.hpp"
#include "chip/speculation/parallelism_profile.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/stats/registry.hpp"
#include "chip/task/abort_handlers.hpp"
#include "chip/task/admission.hpp"
#include "chip/task/commit_room.hpp"
#include "chip/task/dispatch_choice.hpp"
#include "chip/task/rollbacks.hpp"
#include "chip/task/room_finder.hpp"
#include "chip/task/spiller.hpp"
#include "chip/task/stopped_attempts.hpp"
#include "chip/task/suspensions.hpp"
#include "chip/task/task_context.hpp"
#include "chip/task/tile_state.hpp"
#include "chip/task/work_choice.hpp"

namespace rubato::chip {

class TaskUnit final : public EventHandler, public RoundParticipant, public PromotionParticipant {
 public:
  TaskUnit(TaskContext& context, std::vector<std::unique_ptr<TaskUnit>>& tiles, TileId tile, Addr spill_base,
           std::uint64_t spill_bytes);
  void register_stats(StatRegistry& registry) const;

  // Calls of cores; `core` is of this tile. See TaskSystem.
  CreateOutcome create(CoreId core, const TaskDescriptor& task, Cycle now);
  bool dispatch(CoreId core, Cycle now, DispatchedTask& work);
  Cycle step_internal(CoreId core, Cycle now);
  bool finish(CoreId core, Cycle now, bool waits);
  bool exception(CoreId core, Cycle now, bool goes_on);
  // Capsules: task_unit_capsule.cpp.
  void on_abort(CoreId core, const Handler& handler);
  void doom(CoreId core, AbortCause cause, Cycle now);
  /// Makes tasks of them, the last one first; `core` registered them.
  void run_handlers(std::span<const Handler> handlers, CoreId core, Cycle now);
  /// Runs a handler of a doomed run.
  void run_late_handler(const Handler& handler, CoreId core, Cycle now) {
    ++state_.counts.handlers_registered;
    run_handlers({&handler, 1}, core, now);
  }
  void end_doomed(CoreId core, Cycle now);
  void suspend(CoreId core, const DispatchedTask& what, Cycle now);
  /// Nothing can proceed: see TaskUnits.
  bool go_on_beside_suspended(Cycle now);
  void resume(std::uint64_t run, Cycle now);
  /// Null if none runs there.
  const Task* running(CoreId core) const { return state_.slots[state_.slot_of(core)].task; }
  /// If a timestamped non-speculative task runs on `core`: it aborts so many attempts. @returns their
  /// Task::speculates_from, or 0.
  Timestamp count_aborts(CoreId core, std::size_t victims);

  void begin_region(Cycle now, std::uint32_t spare_workers);
  /// Tasks that exist before the region, of one lane, in ascending order.
  void add_initial(const std::vector<Task*>& tasks) { spiller_.add(tasks); }

  TileReport report(Cycle now) override;
  void on_gvt(Cycle now) override;
  bool awaits_gvt() const override {
    return state_.commit_queue.size() != 0 || state_.has_stalled_attempt() || suspensions_.has_attempt();
  }
  bool awaits_timestamp() const override { return choice_.is_holding(); }
  bool runs_attempts() const override;
  void collect_decided(VirtualTime gvt, std::vector<Attempt*>& out) const override;
  void on_stop(Cycle now) override;
  void on_resume(Cycle now) override;
  void on_grant(Task* task, Cycle now) override;
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) override;

  // Steps of an abort in progress (abort_cascade.hpp); memory is restored already.
  /// Stops the attempt and starts to restore its stores in time; then its task is idle again or discarded.
  void abort(Attempt* attempt, const AbortReason& reason, Cycle now);
  /// A child without attempt goes with its aborted parent, which has forgotten it.
  void discard(Task* child, Cycle now);
  /// The parent of a task that this unit holds committed.
  void parent_committed(Task* child);
  /// Memory is restored and the children of the attempt, which stopped (C18), are gone.
  void except(Attempt* attempt, const AbortReason& reason, Cycle now);
  /// An access of a core of the tile waits for the fate of an attempt.
  void on_blocked(Cycle now) {
    if (admission_.has_waiting()) state_.reconsider_later(now);
  }

  /// Brings the histograms of occupancy up to `now`; a core that ran ahead may have brought them further.
  void account_until(Cycle now) {
    if (now > state_.occupancy_since) state_.account_occupancy(now);
    if (now > state_.commit_occupancy_since) state_.account_commits(now);
    if (now > state_.held_back_since) state_.account_held_back(now);
  }
  void describe_waiting(std::string& out) const;
  /// Adds what waits and runs here (task_unit_look.cpp).
  void look(ParallelismProfile::Instant& instant) const;
  const TileState& state() const { return state_; }
  const Suspensions& suspensions() const { return suspensions_; }
  void ignore_locales() { state_.queue.ignore_locales(); }

 private:
  /// For the core of `slot`, which is free.
  Choice choose(Cycle now, std::uint32_t slot);
  void start_guest(const Choice& choice, std::uint32_t slot, Cycle now);
  /// Gives work to an idle or stalled core if there is some. After every change that may allow something.
  void evaluate(Cycle now);
  /// A core will soon ask for work by itself, no core must be told to, and no task is known to have to make
  /// room: nearly always so when a task ends. A task that waits for a locale since a moment ago may not be
  /// hung there yet. That core looks closer, whether it then gets work or not.
  bool is_settled() const {
    return (state_.states.in(CoreState::idle) == 0 || state_.states.in(CoreState::waking) != 0) &&
           room_.has_core() && !admission_.has_waiting() && state_.promoted == nullptr &&
           state_.queue.waited_slots() == 0;
  }
  bool is_empty() const;

  // Enqueue protocol (Fig. 6).
  void accept(Task* task, Cycle now);
  void receive(TileId from, std::uint32_t slot, bool granted, Cycle now);
  void acknowledged(std::uint32_t slot, Cycle now);
  void step_borrowed(std::uint32_t slot, Cycle now);

  // Speculation (task_unit_speculation.cpp).
  /// `time`: the task's, which the host need not read where it has just been written.
  void start_attempt(Task* task, VirtualTime time, CoreId core);
  bool finish_attempt(std::uint32_t slot, Cycle now);
  void drop(Task* task, Cycle now);
  void step_rollback(Attempt* attempt, Cycle now);
  /// A running or suspended MAYSPEC task is the earliest, and may go on non-speculatively.
  bool need_not_speculate(const Attempt& attempt) const {
    const Task& task = *attempt.task;
    return task.descriptor.type == TaskType::mayspec && state_.is_earliest(attempt) && !state_.is_stopped &&
           task.uncommitted_parent == nullptr;
  }
  bool become_nonspeculative(std::uint32_t slot, Cycle now);
  void commit_in_place(Attempt* attempt, Cycle now);

  // Commits (task_unit_commit.cpp).
  void advance_earliest(Cycle now);
  void commit(Attempt* attempt, Cycle now);
  void count_commit(const Task& task);
  /// Its handlers will not run: it commits, or goes on non-speculatively.
  /// `otherwise`: the bug that has them run.
  void drop_handlers(Attempt& attempt, CapsuleFault otherwise, Cycle now);
  void commit_children(Attempt& attempt, Cycle now);
  void release_held(Task* task, Cycle now);
  /// The commit of a parent elsewhere may allow something here that no core of the tile will look for by
  /// itself.
  bool awaits_commits() const {
    return (state_.states.in(CoreState::idle) != 0 && state_.queue.guests() != 0) ||
           room_.has_unmet_requests() || state_.has_stalled_attempt() ||
           state_.commit_queue.has_exceptioned() || suspensions_.has_resumable() ||
           state_.queue.earliest_aside() != nullptr || state_.has_idle_untimed();
  }

  /// `task`, idle, may not run.
  TaskWait wait_of(const Task& task, const TileView& view) const;

  // Attempts that make room for others (task_unit_room.cpp).
  void reconsider(Cycle now);
  void end_stalls_of_earliest(Cycle now);
  void give_way(const Obstacle& obstacle, Cycle now);

  // Members that most events read stand first, see EventHandler::kFirstUsed.
  TaskContext& context_;
  TileState state_;
  Suspensions suspensions_{state_};
  Admission admission_{state_};
  AbortHandlers handlers_{state_};
  Spiller spiller_;
  Rollbacks rollbacks_{state_};
  CommitRoom commit_room_{state_};
  StoppedAttempts stopped_{state_};
  RoomFinder room_{state_, admission_, handlers_, spiller_, suspensions_, rollbacks_};
  WorkChoice choice_{state_, admission_, handlers_, spiller_, suspensions_, commit_room_, room_};
  std::vector<std::unique_ptr<TaskUnit>>& tiles_;

  /// A SPEC task that non-speculative ones abort again and again may never end otherwise: they may be waiting
  /// for it, and look at what it writes. Alone among them it will.
  static constexpr std::uint32_t kMaxLost = 64;
};

}  // namespace rubato::chip
