// The chip around a core, as the core sees it: threads to run, system calls, tasks, and the place to report
// faults.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/alloc/heap_calls.hpp"
#include "chip/core/worker_pool.hpp"
#include "chip/memory/fault.hpp"
#include "chip/os/process.hpp"
#include "chip/os/thread.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class CapsuleVector;
class Core;

/// Contract: called in strict time order.
class CoreHost {
 public:
  virtual ~CoreHost() = default;

  virtual TaskSystem& tasks() = 0;

  virtual CapsuleVector& capsules(CoreId core) = 0;
  /// The outermost capsule call of the core's task has ended, waits, or goes on doomed.
  virtual void capsule_ended(CoreId core, const OpenCapsuleCall& call, Cycle now) = 0;

  /// A speculative task begins on some core: from the first one on, L1 hits need marks (C15).
  virtual void begin_speculation() = 0;

  /// An idle core outside a region looks for a thread; the host calls Core::run_thread if there is one.
  virtual void find_thread(Core& core, Cycle now) = 0;
  /// The core's thread used up its slice; the host may exchange it.
  virtual void slice_ended(Core& core, Cycle now) = 0;

  /// `thread` has left the core at `now`, since its system call waits or has ended it; the core's cycles are
  /// accounted.
  virtual void thread_left(Core& core, const Thread& thread, Cycle now) = 0;

  /// The same, but it can run at once, in other memory: it has executed another program.
  virtual void thread_moved(Core& core, Thread& thread, Cycle now) { thread_left(core, thread, now); }

  /// The core's thread is at an ecall, registers saved in it. The host performs the call.
  virtual SyscallOutcome syscall(Core& core, Thread& thread, Cycle now) = 0;

  // Workers of a region. One that a core gives up leaves nothing of its stack in caches.
  /// The core's task or doomed run waits in a system call: it has left the core, which has no worker now.
  /// @returns the run's number.
  virtual std::uint64_t suspend(const SuspendedTask& task) = 0;
  /// The run with which a core was told to go on.
  virtual SuspendedTask resume(std::uint64_t run) = 0;
  /// For a core without one that was given a task; there is one to spare.
  virtual Worker take_worker(const Core& core) = 0;
  virtual void give_back(const Core& core, const Worker& worker) = 0;

  /// The core is at the entry of heap function `function` (run.alloc=ideal), whose arguments its pipeline's
  /// registers hold; the host serves the call.
  virtual HeapCalls::Outcome heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) = 0;
  /// The fault of the core's last heap call that faulted.
  virtual const Fault& heap_fault(CoreId core) const = 0;

  /// A thread outside tasks executed `create`.
  virtual void create_outside_task(Core& core, const TaskDescriptor& task, Cycle now) = 0;
  /// A thread executed `region`: its registers are saved; the core no longer runs it when this returns.
  virtual void region_instruction(Core& core, Thread& thread, bool worker, Cycle now) = 0;

  /// The thread or non-speculative task on `core` faulted. True: a signal handler was installed and the
  /// thread's registers were changed to run it; false: the run ends.
  virtual bool fault(Core& core, Thread& thread, const Fault& fault, Cycle now) = 0;

  /// The function whose call began the region of interest (--roi) returned. The host ends detailed
  /// simulation.
  virtual void region_returned(Core& core, Cycle now) = 0;

  /// `fence.i`: decoded blocks of the core's program are stale.
  virtual void drop_decoded_blocks(CoreId core) = 0;
  virtual std::uint32_t core_count() const = 0;
  /// Threads that are to serve a region: one a core, and those to spare.
  virtual std::uint32_t worker_count() const = 0;
  virtual TileId tile_of(CoreId core) const = 0;
};

}  // namespace rubato::chip
