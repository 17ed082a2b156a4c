// The native engine: options, workers and what they share. One a process (the_engine()).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "native/actor/reached.hpp"
#include "native/actor/waiting.hpp"
#include "native/failure.hpp"
#include "native/memory/epochs.hpp"
#include "native/memory/task_heap.hpp"
#include "native/order/groups.hpp"
#include "native/order/order.hpp"
#include "native/order/packed_tasks.hpp"
#include "native/run_turn.hpp"
#include "native/topology/topology.hpp"
#include "native/trace/trace_file.hpp"
#include "native/watch.hpp"
#include "native/worker/termination.hpp"
#include "native/worker/turns.hpp"
#include "native/worker/worker.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::runtime {

/// Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): spreads locales over pools.
constexpr std::uint64_t mix_locale(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Of a thread that is no worker, but creates tasks or actors.
struct OutsideThread : engine::ThreadState {
  OutsideThread(TaskHeap& task_heap, CellHeap& cell_heap, Reached& reached)
      : ThreadState(task_heap, 0), cells(cell_heap), place(reached.take()) {}
  ~OutsideThread() { Reached::give(place); }
  OutsideThread(const OutsideThread&) = delete;
  OutsideThread& operator=(const OutsideThread&) = delete;
  CellCache cells;
  Reached::Place& place;
  bool is_joining = false;       ///< an algorithm joins another thread's run: what it creates is
  Chain joining;                 ///< kept here, so that all of it comes into the inbox at once
  std::uint64_t joined_run = 0;  ///< the last run that an algorithm of this thread was part of
};
/// Its task, which never ran; destroyed.
void free_outside(engine::ThreadState& self, Task* task);

class Engine {
 public:
  using Events = EventCount<StdAtomics>;

  Engine();
  ~Engine() = delete;  // see the_engine()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- What programs call ----
  const native::Options& options() const { return options_; }
  void configure(const native::Options& options);
  unsigned workers() const { return count_; }
  /// One for each worker: who idles leaves a CPU idle.
  bool has_cpus() const;
  /// By how much a switch between two turns of actors is made dearer (RUBATO_ACTOR_SWITCH).
  std::uint64_t dear_ticks() const { return dear_ticks_; }
  native::Counters counters() const;
  /// For run(). @throws TaskError inside a task, and beside another thread's run(); behind an algorithm that
  /// another thread has called it waits.
  void take_turn();
  /// Of a thread that has taken the turn: gives it back, and writes the trace.
  class GivesBack {
   public:
    explicit GivesBack(Engine& engine) : engine_(engine) {}
    ~GivesBack();
    GivesBack(const GivesBack&) = delete;
    GivesBack& operator=(const GivesBack&) = delete;

   private:
    Engine& engine_;
  };
  /// While the caller has the turn: whatever a run needs. After it run() throws only what tasks have thrown.
  void prepare_run();
  void run();
  /// An algorithm's run, or its part of another thread's: until the group is complete. See algorithms.cpp.
  void run_group(TaskGroup& group, void (*start)(void*), void* work);
  /// What native::drop_pending() does.
  void drop_between_runs();
  /// Of a thread that is not a worker.
  void submit_outside(engine::ThreadState& self, Task* task);
  /// Whether the caller runs tasks, or destroys what never ran: it must not wait until the turn is free.
  bool is_run_by_caller() const;
  /// Whether the caller, which is not a worker, creates beside a run that nothing holds open for it.
  bool is_stranger() const;
  void retire(engine::ResourceHeader* header);
  /// The same, but also outside a run it is destroyed at the end of the next run at the earliest.
  void retire_later(engine::ResourceHeader* header);
  /// When it is, in order: twice the number of the current run, and 1 more while it goes on.
  std::uint64_t run_time() const { return 2 * current_run.load() + (is_running() ? 1 : 0); }
  bool is_running() const { return is_running_.load(std::memory_order_seq_cst); }
  void open_hold();
  void close_hold();
  /// When the process ends, by whatever thread. A run that goes on is left to itself: its tasks may run until
  /// the process has ended, and one of them may be who ends it.
  void end_of_program();
  /// In a child of fork(): what there is belongs to the parent, whose threads are not here.
  void become_copy() { is_copy_ = true; }
  bool is_copy() const { return is_copy_; }
  /// Errors: TaskError if this is such a child.
  void refuse_copy(const char* what) const;
  void prepare(engine::ThreadState& thread) const;

  // ---- What workers share ----
  TaskHeap heap;
  CellHeap cells;
  Reached reached;
  WaitingThreads waiting_threads;
  std::atomic<std::uint64_t> actors_outside{0};  // spawned by threads that are no workers
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

  Worker& worker(unsigned index) const { return *workers_[index]; }
  /// Where tasks with this handle's locale are serialized: the same pool always. Pools are given out in turn
  /// as locales come up, so that a few locales, each with much to do, neither share a pool nor begin at one
  /// worker.
  TaskPool& pool(std::uint64_t handle) {
    const std::uint64_t slot = mix_locale(handle & engine::handle::kLocaleMask) % kPoolSlots;
    const std::uint16_t given = given_pools_[slot].load(std::memory_order_relaxed);
    return pools_[given != kNotGiven ? given : give_pool(slot)];
  }
  TaskPool& pinned_pool(unsigned worker) const { return pools_[pool_count_ + worker]; }
  unsigned pool_count() const { return pool_count_; }
  TaskPool& shared_pool(unsigned index) const { return pools_[index]; }
  unsigned holds() const { return holds_.load(std::memory_order_seq_cst); }
  /// Whether the run goes on though there are no tasks. An algorithm returns also while a hold is open.
  bool is_held_open() const { return holds() != 0 && turn.taker() == RunTurn::Taker::run; }

  Sums sums() const;
  /// Runs are numbered from 1. When `over` is the number of the current one, worker 0's run() may return; a
  /// worker that found the end of one and is late to say so must not end the next.
  Atomic<std::uint64_t> current_run{0};
  Atomic<std::uint64_t> over{0};
  /// Ends the run with what `failure` holds.
  void stop() { events.raise(Events::kStop); }
  void report_blocked() noexcept;
  /// `first_word`: of the task, its function if it is one of a function pointer. `took`: ticks.
  void note_long_task(const engine::TaskCode& code, std::uint64_t first_word, std::uint64_t took);
  std::vector<native::LongTask> long_tasks();
  /// Whose task memory a worker uses.
  unsigned core_group(unsigned worker) const;
  /// The CPUs that this process may use, as they were when the engine started.
  static const Topology& machine();
  TraceFile* trace() const { return trace_.get(); }  ///< null: none
  bool has_work_for_anybody() const;

 private:
  static constexpr unsigned kPoolSlots = 1024;  // locales with the same hash modulo it share a pool
  static constexpr std::uint16_t kNotGiven = 0xffff;

  class PinnedCaller;
  void build(const native::Options& options);
  void make_workers();
  void start_threads(bool pins);
  void end_threads();
  void tear_down();
  void fill_choices();
  std::uint16_t give_pool(std::uint64_t slot);
  void clear_after_failure();
  void push_outside(Task* first, Task* last);
  void join_with_group(OutsideThread& self, TaskGroup& group, void (*start)(void*), void* work);
  void drop_pending();
  void pause_workers();

  bool is_copy_ = false;  // set before the child has a second thread
  native::Options options_;
  native::Counters earlier_;  // of workers that configure() has replaced
  std::vector<std::uint64_t> choices_;
  unsigned count_ = 1;  // of workers
  std::uint64_t dear_ticks_ = 0;
  bool is_caller_pinned_ = true;  // in the next run, if workers are
  unsigned pool_count_ = 0;
  std::array<Atomic<std::uint16_t>, kPoolSlots> given_pools_;  // their indices
  Atomic<unsigned> pools_given_{0};
  std::unique_ptr<TaskPool[]> pools_;
  std::unique_ptr<TraceFile> trace_;  // before those who write it
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  Atomic<bool> is_running_{false};
  std::atomic<std::thread::id> runner_{};
  Atomic<unsigned> holds_{0};
  struct LongTasks {
    std::uint64_t count = 0;
    std::uint64_t longest = 0;  // ticks
  };
  std::mutex long_tasks_mutex_;
  std::map<std::pair<const engine::TaskCode*, std::uint64_t>, LongTasks> long_tasks_;
  std::mutex retired_mutex_;
  engine::ResourceHeader* retired_ = nullptr;
};

/// All that threads outside have created; the mailboxes that have messages are marked, see
/// mark_mailboxes(). Between runs, or while no task runs.
Chain take_inbox(Engine& engine);

Engine& the_engine();
/// Which it has been.
Engine& started_engine();
/// Whether the engine was started by the process that this one was forked from.
bool is_forked_copy();

}  // namespace rubato::runtime
