// A tile's suspended tasks: they wait in system calls, without a core (C18). Non-speculative, they count as
// running: their virtual times hold the GVT back, their locales are taken, a promotion waits for them. When a
// call is done, its task goes on before anything else begins.
//
// A suspended task keeps the worker whose stack it is on. Invariant: cores with a worker, workers to spare
// and suspended tasks together are as many as the tile's cores and the workers that it began the region with.
// A core without a worker, where none is to spare, goes on with what has waited, and spills where others wait
// for room; it is given nothing else.
//
// Where nothing speculates a SPEC task is atomic because it runs alone: it starts when none is suspended, or
// nothing else can proceed, and suspended lets no other task run.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class Suspensions {
 public:
  explicit Suspensions(TileState& state) : state_(state) {}
  void begin_region(std::uint32_t spare_workers) {
    spare_workers_ = spare_workers;
    without_worker_ = 0;
  }

  bool any() const { return count_ != 0; }
  std::uint32_t count() const { return count_; }
  /// By place; null where there is none.
  const std::array<Task*, kMaxSuspended>& tasks() const { return suspended_; }
  std::uint32_t spare_workers() const { return spare_workers_; }

  /// Cores that have a worker for a guest task, or would get one. A bit a core.
  std::uint32_t may_run_guest() const { return spare_workers_ != 0 ? ~0U : ~without_worker_; }
  bool may_run_guest(std::uint32_t slot) const { return (may_run_guest() >> slot & 1) != 0; }
  /// A worker of those to spare for the core, unless it has one.
  void take_worker(std::uint32_t slot) {
    spare_workers_ -= without_worker_ >> slot & 1;
    without_worker_ &= ~(1U << slot);
  }

  /// The task on `slot`, not speculative, leaves its core.
  void suspend(std::uint32_t slot);
  /// Precondition: the task is suspended. It may go on.
  void resume(std::uint64_t id);
  bool has_resumable() const { return !resumable_.empty(); }
  /// The next to go on. Precondition: has_resumable().
  const Task* next() const { return suspended_[resumable_.front()]; }
  /// One that runs alone waits in a system call: no other may run, unless it is the next.
  bool is_closed() const { return atomic_ != nullptr && (resumable_.empty() || next() != atomic_); }
  /// The next goes on, on the core of `slot`.
  Task* start_next(std::uint32_t slot);

  // SPEC tasks where nothing speculates.
  /// What such a task, which runs alone, must take into account.
  bool keeps_spec_waiting() const { return any() && !may_spec_start_; }
  /// They start all the same, since nothing else can proceed: until none is suspended. False: they did
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

  TileState& state_;
  std::uint32_t without_worker_ = 0;  // cores whose tasks were suspended, and none has taken their place
  std::uint32_t count_ = 0, spare_workers_ = 0;
  std::uint32_t started_before_spec_ = 0;
  bool may_spec_start_ = false;
  const Task* atomic_ = nullptr;  // of the suspended ones: no other may run
  std::array<Task*, kMaxSuspended> suspended_{};
  std::deque<std::uint32_t> resumable_;  // places in suspended_
};

}  // namespace rubato::chip
