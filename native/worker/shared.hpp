// The state that the workers of the native engine share: the run, its order and memory, sleeping workers. The
// engine (native/engine.hpp) makes it and the workers, which see only this.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/unset_events.hpp"
#include "native/failure.hpp"
#include "native/memory/cells.hpp"
#include "native/memory/epochs.hpp"
#include "native/memory/reached.hpp"
#include "native/memory/task_heap.hpp"
#include "native/order/groups.hpp"
#include "native/order/order.hpp"
#include "native/order/packed_tasks.hpp"
#include "native/order/task_pool.hpp"
#include "native/pool/ready_set.hpp"
#include "native/run_turn.hpp"
#include "native/trace/trace_file.hpp"
#include "native/worker/event_count.hpp"
#include "native/worker/long_tasks.hpp"
#include "native/worker/own_threads.hpp"
#include "native/worker/shared_pools.hpp"
#include "native/worker/termination.hpp"
#include "native/worker/turns.hpp"
#include "native/worker/waiting_threads.hpp"
#include "native/worker/watch.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {

struct Topology;
class Worker;

class Shared {
 public:
  using Events = EventCount<StdAtomics>;

  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  // ---- How many, and by which options ----
  const Options& options() const { return options_; }
  unsigned workers() const { return count_.load(std::memory_order_relaxed); }
  /// Whether there is a CPU for each worker: then an idle worker leaves a CPU idle.
  bool has_cpus() const;
  /// By how much a switch between two turns of actors is made dearer (RUBATO_ACTOR_SWITCH).
  std::uint64_t dear_ticks() const { return dear_ticks_; }
  /// Turns that a task makes due just go to the end of its worker's list.
  bool lists_turns() const { return !options_.miniqueue && dear_ticks_ == 0; }
  Worker& worker(unsigned index) const { return *workers_[index]; }
  /// How many there are between runs: none if there was no memory to make them, and the next run makes them.
  unsigned workers_made() const { return static_cast<unsigned>(workers_.size()); }
  /// For threads that look at options and workers between runs: configure() of another thread waits while the
  /// lock lives.
  std::unique_lock<std::mutex> keep_workers() const {
    if (is_copy_) return {};  // a thread that stayed in the parent may have it
    return std::unique_lock(workers_mutex_);
  }
  /// Whether each worker is bound to a CPU of its own.
  bool pins_workers() const;
  /// A worker at this place, as TaskExtension::core has it; `number` chooses among those of a NUMA node.
  /// @returns workers() if any will do, or there is none
  unsigned worker_at(std::uint32_t place, unsigned number) const;
  /// Whether a worker is at a place that worker_at() has a worker for, or anywhere.
  bool is_at(unsigned worker, std::uint32_t place) const;
  /// The NUMA node that worker_at() has for a worker; nothing if workers have no CPUs of their own.
  std::optional<unsigned> node_of_worker(unsigned worker) const;
  /// The CPUs that this process may use, as they were when the engine started.
  static const Topology& machine();
  TraceFile* trace() const { return trace_.get(); }  ///< null: none
  void prepare(engine::ThreadState& thread) const;

  // ---- The run ----
  bool is_running() const { return is_running_.load(std::memory_order_seq_cst); }
  /// When it is: twice the number of the current run, and 1 more while it goes on. While a run begins it may
  /// be 1 more than the last one's end, never the end of the run that begins.
  std::uint64_t run_time() const { return 2 * current_run.load() + (is_running() ? 1 : 0); }
  unsigned holds() const { return holds_.load(std::memory_order_seq_cst); }
  /// Whether the run goes on though no task can run. An algorithm returns also while a hold is open, but not
  /// while an actor's own thread has a message, whose handler may wait for what only this run can bring.
  bool is_held_open() const {
    return unset_events.count() != 0 || own_threads.busy() != 0 ||
           (holds() != 0 && turn.taker() == RunTurn::Taker::run);
  }
  /// The run has failed, and tasks are being dropped.
  bool is_stopping() const { return (events.look_ordered() & Events::kStop) != 0; }
  /// From another thread: into the inbox, and wakes a worker.
  void push_outside(Task* first, Task* last);
  Sums sums() const;
  bool has_work_for_anybody() const;
  /// The same without what other threads have created.
  bool has_work_at_workers() const;
  /// Ends the run with what `failure` holds.
  void stop() { events.raise(Events::kStop); }
  /// The same, since the tasks that are left wait for groups that cannot complete. While no worker works.
  void report_blocked() noexcept;

  // ---- Of the calling thread ----
  /// Whether the caller runs tasks, or destroys what never ran: it must not wait until the turn is free.
  bool is_run_by_caller() const;
  /// Whether the caller handles a message on its actor's own thread.
  static bool is_own_thread();
  /// The same, and the run has ended, or the actor. It waits for the caller, which therefore must not wait
  /// for a run.
  bool is_left_behind() const { return is_own_thread() && (!is_running() || OwnThread::ends_here()); }
  /// Whether the caller, which is not a worker, creates beside a run that nothing holds open for it.
  bool is_stranger() const;
  /// Errors: TaskError if this is a child of fork(): what there is belongs to the parent, whose threads are
  /// not here.
  void refuse_copy(const char* what) const;

  // ---- Removed resources ----
  void retire(engine::ResourceHeader* header);
  /// The same, but also outside a run it is destroyed at the end of the next run at the earliest.
  void retire_later(engine::ResourceHeader* header);

  TaskHeap heap;
  CellHeap cells;
  Reached reached;
  WaitingThreads waiting_threads;
  engine::UnsetEvents unset_events;
  OwnThreads own_threads;
  /// Actors and their messages, by threads that are no workers and by workers that configure() has replaced.
  std::atomic<std::uint64_t> actors_spawned{0}, actors_stopped{0}, messages_handled{0};
  std::unique_ptr<Epochs> epochs;
  Events events;
  Order order;
  Groups groups;
  PackedMemory packed_memory;
  Failure failure;
  // Lagging: how many workers do, and when the last sleeper was woken, and how long that call took, in ticks.
  Atomic<unsigned> lagging{0};
  std::atomic<std::uint64_t> woken_at{0}, wake_ticks{0};
  RunTurn turn;
  Watch watch{*this};
  Atomic<std::uint64_t> copies{0};  ///< of tasks that the watch has handed over: created, too
  Turns turns_alone;                ///< of workers with tasks that run alone
  TaskPool inbox;                   ///< from other threads: not run from there, but handed on
  ReadySet<StdAtomics> inbox_ready{1};
  Atomic<bool> is_inbox_emptied{false};  ///< by a worker, see empty_in_order()
  Atomic<std::uint64_t> current_run{0};  ///< numbered from 1
  EndFound<StdAtomics> end_found;
  SharedPools pools;
  LongTasks long_tasks;

 protected:
  explicit Shared(bool uses_malloc);
  ~Shared();

  bool is_copy_ = false;  // set before the child has a second thread
  Options options_;
  std::vector<std::uint64_t> choices_;
  std::atomic<bool> has_pools_{false};  // for tasks that are created now: there are several workers
  std::atomic<unsigned> count_{1};      // of workers; algorithms ask from any thread
  std::uint64_t dear_ticks_ = 0;
  std::unique_ptr<TraceFile> trace_;  // before the workers, which write it
  std::vector<std::unique_ptr<Worker>> workers_;
  mutable std::mutex workers_mutex_;  // see keep_workers()
  Atomic<bool> is_running_{false};
  std::atomic<std::thread::id> runner_{};
  Atomic<unsigned> holds_{0};
  std::mutex retired_mutex_;
  engine::ResourceHeader* retired_ = nullptr;
};

/// The engine, as workers share it. The first call starts the engine.
Shared& the_shared();

/// The tasks in the inbox. Between runs, or while no task runs.
Chain drain_inbox(Shared& shared);
/// All that threads outside have created; the mailboxes that have messages are marked, see
/// mark_mailboxes(). Between runs, or while no task runs.
Chain take_inbox(Shared& shared);
/// For configure(), while no thread may create tasks: whether tasks of the program wait for the next run, or
/// turns of actors with messages of the program. Tasks that lists of living actors have left are dropped.
bool has_tasks_of_program(Shared& shared);
/// After a run, while nothing runs: reports asks without an answer, and stashed messages.
void say_what_actors_wait_for(Shared& shared);

}  // namespace rubato::inline v0::native
