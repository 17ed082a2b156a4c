// A worker: its parts, the loop that runs tasks, and one task's run. R2, R4, R5, R9, R10; MxTasking,
// Sec. 2.3 and 4.3. Decisions are in the parts, their constants in policy.hpp.
//
// Sources of a worker's tasks, in the order in which an idle one looks: its own lists, the next timestamp,
// chunks and ready pools of its own, the inbox of other threads, then other workers' ready pools and
// published chunks.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "native/memory/cells.hpp"
#include "native/order/task_pool.hpp"
#include "native/pool/atomics.hpp"
#include "native/pool/inbox.hpp"
#include "native/pool/task_list.hpp"
#include "native/worker/alone_tasks.hpp"
#include "native/worker/counts.hpp"
#include "native/worker/cpu_binding.hpp"
#include "native/worker/duties.hpp"
#include "native/worker/event_count.hpp"
#include "native/worker/forking.hpp"
#include "native/worker/idling.hpp"
#include "native/worker/ordered_part.hpp"
#include "native/worker/pace.hpp"
#include "native/worker/prefetch_tuner.hpp"
#include "native/worker/private_tasks.hpp"
#include "native/worker/ring.hpp"
#include "native/worker/rotation.hpp"
#include "native/worker/seen_by_others.hpp"
#include "native/worker/seizure.hpp"
#include "native/worker/sharing.hpp"
#include "native/worker/task_timer.hpp"
#include "native/worker/worker_pools.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {

class Shared;
class TurnLag;

/// Whether Worker::finish_special() has something to do, or the task has a second line.
inline bool is_special(const Task* task) {
  constexpr std::uint64_t kSpecial =
      engine::handle::kTimestamped | engine::handle::kExtended | engine::handle::kSpec;
  return (task->handle & kSpecial) != 0;
}
inline void destroy(Task* task) {
  if (task->code->destroy != nullptr) [[unlikely]]
    task->code->destroy(task);
}

class alignas(128) Worker : public engine::ThreadState {
 public:
  using Events = EventCount<StdAtomics>;

  Worker(Shared& owner, unsigned number);
  ~Worker();

  // ---- The engine, and what programs call ----
  /// Runs tasks until the run is over (worker 0) or threads end (the others).
  void work();
  /// A task that this worker's running task created: checked, then handed on, or kept until the task ends.
  void created_task(Task* task);
  /// The running task is an optimistic reader: what it does may be dropped.
  bool is_validating() const { return is_validating_.load(std::memory_order_relaxed); }
  /// A reader has lost: its tasks and messages are dropped, and it runs again.
  bool is_dropping_attempt() const { return is_dropping_attempt_; }
  /// Tasks of other threads.
  Emptied empty_inbox();
  void enter_epochs();
  void leave_epochs();
  /// After a failure: this worker's private tasks are destroyed unrun, and those that their destructors
  /// create.
  void drop_everything();
  /// The same, when all workers are idle, for tasks that are not private: all workers', pools', and those of
  /// other threads. What their destructors create is left.
  void drop_shared();

  // ---- Its parts ----
  /// Hands on a task that was created here or arrived in the inbox.
  void route(Task* task);
  /// Into the list or pool where it waits for its turn. `must_wait`: behind all others, since it cannot run
  /// now.
  void requeue(Task* task, bool must_wait = false);
  /// A task that waits for nothing but its turn: to the worker that it asks for, if it may choose.
  void place(Task* task);
  /// The task waits for its group from here on.
  bool must_block(Task* task);
  /// Before each task.
  void refresh_if_due() {
    if (pace.is_refresh_due()) refresh_epoch();
  }
  void start(Slot slot);
  /// The exception being handled ends the run: of the system's memory for tasks, if it is of no task.
  void fail() noexcept;
  /// The task has ended, or will never run; its children are handed on.
  void finish(Task* task) {
    count_finished(task);
    if (is_special(task)) finish_special(task);
  }
  void free_block(Task* task) {
    if (task->is_extended()) {
      heap.free<sizeof(engine::ExtendedTask)>(task);
    } else {
      heap.free<sizeof(Task)>(task);
    }
  }
  /// The beginning of a function that another worker's task has forked; end_fork() is its end. @returns
  /// whether it is timed
  bool begin_fork(Task& root);
  /// @returns a list of the tasks that it has created and that wait until the task has ended
  Task* end_fork(bool is_timed);
  /// Tasks that are handed on when the running task has ended: a list of end_fork().
  void defer(Task* first);
  /// A member of the group has ended: tasks that wait for the last one go on.
  void leave(TaskGroup& group);
  /// Without a task: destructors of what it dropped or freed have.
  bool has_created_anything() const {
    return lists.has_untimed() || !alone.is_empty() || !deferred_.is_empty();
  }

  Shared& shared;
  const unsigned index;
  Counts counts;
  CellCache cells;
  Duties duties;
  Pace pace;
  TaskTimer timer;
  PrivateTasks lists{tasks, created};
  Rotation rotation;
  Ring ring;
  AloneTasks alone{*this};
  WorkerPools pools{*this};
  Sharing sharing{*this};
  OrderedPart ordered{*this};
  Idling idling{*this};
  Forking forking{*this};
  std::unique_ptr<TurnLag> turn_lag;  // null: turns do not lag
  /// Turns up to the next that turn_lag looks after when it is given up. Without one it is never reached.
  std::uint64_t until_turn_lag = ~std::uint64_t{0};
  CpuBinding cpu;
  SeenByOthers seen;
  Seizure<SeizureAtomics> seizure;

  // ---- handing_over.cpp: by the watch ----
  /// While the running task goes on: publishes tasks that wait behind it. `heap`: the caller's. @returns
  /// whether there were any.
  bool hand_over(engine::WorkerHeap& heap);
  /// How many of its tasks are copies of those that the watch has handed over, which run elsewhere.
  std::uint64_t husks() const { return husks_.get(); }

 private:
  // ---- worker.cpp: the loop ----
  void run_tasks();
  bool attend(std::uint64_t word);
  Task* refill();
  [[gnu::noinline]] void fill_ring_from_all();
  Waiting look_at_sources() const;
  bool take_from(unsigned source, unsigned rank, std::uint64_t limit);
  [[gnu::noinline]] void take_own(std::uint64_t count);
  bool find_work();
  [[gnu::noinline]] void do_duties();
  void refresh_epoch();
  void set_distance(unsigned distance);
  void start_here(Slot slot);
  [[gnu::noinline, gnu::cold]] void execute_timed(Slot slot);
  void end_timing();

  // ---- dropping.cpp: after a failure ----
  void drop(Task* task, bool is_kept = false);
  void drop_pool(TaskPool& pool);

  // ---- routing.cpp: created tasks, those of other threads, and those that ask for a place ----
  bool is_heir(const Task& task) const;
  [[gnu::noinline]] void place_where_asked(Task* task);
  [[gnu::noinline]] void end_delivery(Task* task);
  [[gnu::noinline]] void route_deferred();
  void admit(Task* task);

  // ---- execute.hpp, execution.cpp: one task ----
  enum class Attempt : std::uint8_t { done, lost, not_begun };
  void execute(Slot slot);
  bool run_or_put_back(Slot slot);
  void finish_rest(Slot slot);
  Task* take_committed(unsigned in_a_row);
  /// False: it did not run.
  bool run_synchronized(Task* task, bool may_move);
  bool run_reader(Task* task, bool may_move);
  bool run_writer(Task* task);
  bool run_guarded(Task* task, bool may_move);
  [[gnu::noinline, gnu::cold]] void note_failure(const Task& task) noexcept;
  static void run_husk(Task* task);
  static const engine::TaskCode kHuskCode;
  Task* copy_last(TaskList& list, engine::WorkerHeap& heap);
  Attempt read_once(Task* task, unsigned tries);
  void end_call();
  void end_reading();
  void drop_attempt(TaskList::Mark mark);
  void begin(Task* task);
  void call(Task* task);
  void count_finished(const Task* task) {
    counts.finished.add_ordered();
    end_birth(task);
  }
  void finish_special(Task* task);
  void drop_created(Task* task);
  /// The task holds no removed object back any more (R7); the tasks that it created are counted.
  void end_birth(const Task* task) {
    if ((task->handle & engine::handle::kResource) != 0)
      epoch->count_finished(engine::birth_slot_of(task->handle));
  }
  void leave_group(Task* task);
  void destroy_run(Task* task);

  TaskList deferred_;                       // created by the running task: handed on when it has ended
  std::atomic<bool> is_validating_{false};  // an optimistic reader runs: what it creates is kept back
  /// The task that runs, if one that waits for a group will be a member in its place; or whose fork runs
  /// here.
  Task* replaced_ = nullptr;
  bool is_destroying_ = false;        // the arguments of a task that has run: their destructors do not throw
  bool is_dropping_ = false;          // after a failure: groups release nothing
  bool is_dropping_attempt_ = false;  // of a reader that lost
  bool is_in_epochs_ = false;
  Count husks_;
  unsigned node_turns_ = 0;  // of the workers of a NUMA node
  const bool refreshes_;     // its epoch
  const bool adapts_;        // the prefetch distance
  PrefetchTuner tuner_;
};

}  // namespace rubato::inline v0::native
