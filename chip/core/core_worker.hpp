// The thread that a core runs, or the worker whose stack, gp and tp the tasks on it use (C7). It sets the
// registers with which a task begins; the core decides when.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#include "base/prefetch.hpp"
#include "chip/core/pipeline.hpp"
#include "chip/core/worker_pool.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/os/thread.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CoreWorker {
 public:
  /// `pipeline`: the core's; it outlives this.
  explicit CoreWorker(Pipeline& pipeline) : pipeline_(pipeline) {}

  /// The thread, or the worker's; null if there is none.
  Thread* thread() const { return worker_.thread; }
  bool is_there() const { return worker_.thread != nullptr; }

  /// `thread` runs outside a region.
  void seat(Thread& thread, Cycle at) {
    worker_.thread = &thread;
    thread.sit(at);
  }
  /// The thread leaves the core. @returns it.
  Thread* leave(Cycle at) {
    if (worker_.thread != nullptr) worker_.thread->stand(at);
    return std::exchange(worker_.thread, nullptr);
  }

  /// The core's tasks run on `worker`'s stack, and on no other.
  void take(const Worker& worker, Cycle at);
  /// There is none afterwards.
  Worker give_up(Cycle at);

  /// Sets the registers with which `task` begins, which are all 0.
  void begin_task(const DispatchedTask& task, HartState& hart) const;
  /// A task begins soon. Used once a task, the registers leave the host's nearer caches in between.
  void prefetch() const { rubato::prefetch<offsetof(HartState, f)>(&worker_.regs); }

 private:
  Pipeline& pipeline_;
  Worker worker_;
};

}  // namespace rubato::chip
