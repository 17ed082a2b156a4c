// The native engine: makes what workers share and the workers, and runs them for the program. One a process
// (the_engine()).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "native/worker/outside_thread.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {

class Engine : public Shared {
 public:
  Engine();
  ~Engine() = delete;  // see the_engine()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void configure(const Options& options);
  // Beside configure() of another thread, too.
  Options options_now() const;
  Counters counters() const;

  // ---- A run ----
  /// For run(). @throws TaskError inside a task, and beside another thread's run(); behind an algorithm that
  /// another thread has called it waits.
  void take_turn();
  /// Scope of a thread that has taken the turn: its end gives the turn back, and writes the trace.
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

  // ---- Threads outside ----
  /// Implements native::drop_pending().
  void drop_between_runs();
  /// For a thread that is not a worker.
  void submit_outside(engine::ThreadState& self, Task* task);
  /// An OutsideEvent is set, or given up.
  void note_event_end();
  void open_hold();
  void close_hold();

  // ---- The process ----
  /// When the process ends, by whatever thread. A run that goes on is left to itself: its tasks may run until
  /// the process has ended, and one of them may be what ends it.
  void end_of_program();
  /// In a child of fork(): what there is belongs to the parent, whose threads are not here.
  void become_copy() { is_copy_ = true; }
  bool is_copy() const { return is_copy_; }

 private:
  class PinnedCaller;
  class EndedThreads;
  void build(const Options& options, EndedThreads& ended);
  void make_workers();
  void start_threads(bool pins);
  void end_threads(EndedThreads& ended);
  void tear_down(EndedThreads& ended);
  Counters counters_so_far() const;
  void fill_choices(const Options& engine_options, unsigned count);
  void drop_tasks();
  void drop_for_own_threads();
  void clear_after_failure();
  void hand_over(OutsideThread& self, Task* last, void (*start)(void*), void* work);
  using Clock = std::chrono::steady_clock;
  void let_run_end(Clock::duration patience);
  void join_with_group(OutsideThread& self, TaskGroup& group, void (*start)(void*), void* work);
  void drop_pending();
  /// Waits for lists of actors. @throws TaskError with `refusal()` in a task or while a run goes on
  void take_turn_between_runs(RunTurn::Taker taker, std::string (*refusal)());
  void pause_workers();
  bool is_blocked() const;

  Counters earlier_;              // of workers that configure() has replaced
  bool is_caller_pinned_ = true;  // in the next run, if workers are
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> left_{0};  // those of threads_ that have left the engine
};

Engine& the_engine();
/// The engine. Precondition: it has been started.
Engine& started_engine();
/// Whether the engine was started by the process that this one was forked from.
bool is_forked_copy();

}  // namespace rubato::inline v0::native
