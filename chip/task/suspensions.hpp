// A tile's suspended runs: tasks, and doomed runs of capsules, that wait in system calls without a core.
// When a call is done, its run goes on before anything else begins. Espresso, Sec. IV-C; C18, P40, P50, P51.
//
//   non-speculative   counts as running: its virtual time holds the GVT back, no other task gets its locale,
//                     a promotion waits for it
//   attempt           waits in a capsule's call, with its signatures and its virtual time. It counts as
//                     running, too, but it can be aborted, gives its locale to an earlier task, and no
//                     promotion waits for it
//   doomed            what is left of an attempt that was aborted before or while it waited: no task, no
//                     locale, no virtual time. It holds its worker and the end of the region
//
// A run has a number of its own: its task may run anew, and wait again, while it still waits.
//
// A suspended run keeps the worker whose stack it is on. Invariant: cores with a worker, workers to spare and
// suspended runs together are as many as the tile's cores and the workers that it began the region with. If
// no worker is to spare, a core without one resumes suspended runs, and spills if others wait for room; it
// gets no other work.
//
// Without speculation a SPEC task is atomic because it runs alone: it starts when none is suspended, or
// nothing else can proceed, and suspended lets no other task run.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "chip/task/tile_state.hpp"

namespace rubato::chip {

/// A place of a tile's suspended runs.
struct SuspendedRun {
  Task* task = nullptr;   ///< null: none, or a doomed run
  DispatchedTask what{};  ///< what ran, and the run's number; number 0: the place is free
  Cycle since{};
  bool was_attempt = false;  ///< or a doomed run, when it began to wait

  bool is_doomed() const { return what.run != 0 && task == nullptr; }
  /// The attempt that waits; null: none.
  Attempt* attempt() const { return task != nullptr ? task->attempt : nullptr; }
};

class Suspensions {
 public:
  explicit Suspensions(TileState& state) : state_(state) {}
  void begin_region(std::uint32_t spare_workers) {
    spare_workers_ = spare_workers;
    without_worker_ = 0;
  }

  bool any() const { return count_ != 0; }
  std::uint32_t count() const { return count_; }
  /// By place.
  const std::array<SuspendedRun, kMaxSuspended>& runs() const { return runs_; }
  /// The task that holds the locale of this holder, a suspended one: see kMaxHolders.
  Task* holder(std::uint32_t holder) const { return runs_[holder - kMaxCoresPerTile].task; }
  bool has_nonspeculative() const;
  bool has_attempt() const;
  /// Precondition: the run is suspended.
  bool is_doomed(std::uint64_t run) const { return runs_[place_of(run)].is_doomed(); }
  std::uint32_t spare_workers() const { return spare_workers_; }

  /// Cores that have a worker for a guest task, or would get one. A bit a core.
  std::uint32_t may_run_guest() const { return spare_workers_ != 0 ? ~0U : ~without_worker_; }
  bool may_run_guest(std::uint32_t slot) const { return (may_run_guest() >> slot & 1) != 0; }
  /// A worker of those to spare for the core, unless it has one.
  void take_worker(std::uint32_t slot) {
    spare_workers_ -= without_worker_ >> slot & 1;
    without_worker_ &= ~(1U << slot);
  }

  /// The task or doomed run on `slot`, which `what` describes, leaves its core.
  void suspend(std::uint32_t slot, const DispatchedTask& what, Cycle now);
  /// Precondition: the run is suspended. It may go on.
  void resume(std::uint64_t run);
  bool has_resumable() const { return !resumable_.empty(); }
  /// The task that must go on, if there is one among those that may, or else the earliest attempt. Null:
  /// doomed runs at most.
  const Task* most_urgent() const;
  /// A task that runs alone waits in a system call: no other task may run, unless that task is the next to go
  /// on.
  bool is_closed() const {
    return atomic_ != nullptr && (resumable_.empty() || runs_[resumable_.front()].task != atomic_);
  }
  /// The next goes on, on the core of `slot`. @returns it as it was.
  SuspendedRun start_next(std::uint32_t slot, Cycle now);
  /// The attempt, which is suspended, is aborted: its locale is free, and its run is doomed (P40).
  void doom(const Attempt& attempt);

  // SPEC tasks without speculation in the run.
  /// Whether a SPEC task, which runs alone, must wait for suspended ones.
  bool keeps_spec_waiting() const { return any() && !may_spec_start_; }
  /// SPEC tasks start all the same, since nothing else can proceed: until none is suspended. False: they did
  /// before.
  bool let_spec_start();
  /// A guest task starts; `waits`: a SPEC task waits until none is suspended.
  void count_start(bool waits) {
    if (waits || started_before_spec_ != 0) ++started_before_spec_;  // it may have been spilled
  }
  /// As many as may have started before it.
  bool is_spec_overdue() const { return started_before_spec_ >= kMaxBeforeSpec; }

 private:
  static constexpr std::uint32_t kMaxBeforeSpec = 256;

  void go_on(Attempt& attempt, CoreId core);
  std::uint32_t place_of(std::uint64_t run) const {
    std::uint32_t place = 0;
    while (runs_[place].what.run != run) ++place;
    return place;
  }

  TileState& state_;
  std::uint32_t without_worker_ = 0;  // cores whose tasks were suspended, and none has taken their place
  std::uint32_t count_ = 0, spare_workers_ = 0;
  std::uint32_t started_before_spec_ = 0;
  bool may_spec_start_ = false;
  const Task* atomic_ = nullptr;  // of the suspended ones: no other may run
  std::array<SuspendedRun, kMaxSuspended> runs_{};
  std::deque<std::uint32_t> resumable_;  // places in runs_
};

}  // namespace rubato::chip
