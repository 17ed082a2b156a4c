// The workers of a task region that serve no core (C7, C18): the spare ones, by tile, and those of tasks that
// wait in system calls. Such a task keeps its worker, stack and thread pointer, because no other task may use
// the state that its own code and the C library have there: locks that know their owner, thread-local
// variables.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "chip/capsule/open_call.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/os/thread.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct Worker {
  Thread* thread = nullptr;
  HartState regs;                      ///< at the region instruction
  Addr stack_low = 0, stack_high = 0;  ///< of tasks; empty if the program gave no usable one
};

/// A task, or what a doomed one left, in a system call that blocks. Its registers are its thread's.
struct SuspendedTask {
  DispatchedTask task;
  Worker worker;
  TileId tile{};
  OpenCapsuleCall call{};  ///< that waits
};

class WorkerPool {
 public:
  void begin_region(std::uint32_t tiles) { spare_.assign(tiles, {}); }
  void add(TileId tile, const Worker& worker) { spare_[tile.value].push_back(worker); }
  /// There is one.
  Worker take(TileId tile) {
    auto& spare = spare_[tile.value];
    RUBATO_CHECK(!spare.empty(), "a tile has no worker to spare");
    const Worker worker = spare.back();
    spare.pop_back();
    return worker;
  }

  /// @returns its number.
  std::uint64_t suspend(const SuspendedTask& task) {
    suspended_.push_back(task);
    return suspended_.back().task.run = ++last_run_;
  }
  /// The task that waits on this thread; null: none.
  const SuspendedTask* find(const Thread& thread) const {
    const auto found = std::find_if(suspended_.begin(), suspended_.end(),
                                    [&](const SuspendedTask& s) { return s.worker.thread == &thread; });
    return found == suspended_.end() ? nullptr : &*found;
  }
  /// In the order in which they began to wait.
  std::vector<SuspendedTask>& suspended() { return suspended_; }
  /// There is one of this number.
  SuspendedTask resume(std::uint64_t run) {
    const auto found = std::find_if(suspended_.begin(), suspended_.end(),
                                    [&](const SuspendedTask& s) { return s.task.run == run; });
    RUBATO_CHECK(found != suspended_.end(), "a task goes on that was not suspended");
    const SuspendedTask task = *found;
    suspended_.erase(found);
    return task;
  }

 private:
  std::vector<std::vector<Worker>> spare_;  // by tile; used last first
  std::vector<SuspendedTask> suspended_;
  std::uint64_t last_run_ = 0;
};

}  // namespace rubato::chip
