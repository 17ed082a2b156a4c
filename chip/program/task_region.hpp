// A task region from the side of threads (C7): which thread calls run(), which threads serve as its workers,
// when the region may begin, and what becomes of workers meanwhile. Cores and task units serve it; they are
// the chip's.
//
// A thread that calls run() enters: it may have to wait until enough workers are there, or until other
// threads have blocked. Then it is the owner until the region ends, and the worker of core 0.
//
// Invariant: at most one thread is the owner or enters.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/core/worker_pool.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/thread.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class TaskRegion {
 public:
  using Threads = std::vector<std::unique_ptr<Thread>>;

  /// The fate of a thread that enters.
  struct Entry {
    enum class Is : std::uint8_t {
      due,                      ///< begin() it
      waiting,                  ///< in detail: until workers come, threads block, or `retry_at`
      waiting_in_fast_forward,  ///< other threads get their turns, then it enters again
      refused,                  ///< `why`, one sentence
    } is;
    std::optional<Cycle> retry_at{};  ///< set once a region
    std::string why{};
  };

  /// `memory_system` keeps nothing of stacks that change cores. All outlive it.
  TaskRegion(const Config& config, AddressSpace& memory, MemorySystem& memory_system)
      : config_(config), memory_(memory), memory_system_(memory_system) {}

  // ---- Its beginning ----

  /// Threads that are to serve a region: one a core, and those to spare.
  std::uint32_t wanted_workers() const {
    return config_.chip.cores + config_.tiles() * config_.task.spare_workers;
  }
  /// `thread` has become a worker.
  void add_worker(Thread& thread) {
    thread.is_worker = true;
    worker_threads_.push_back(&thread);
  }
  /// `thread`, one of `threads`, calls run(), or has waited and tries again.
  Entry enter(Thread& thread, const Threads& threads, bool is_in_detail, Cycle now);
  /// In detail, the thread that waits to begin; null: none.
  Thread* entering() const { return entering_; }
  /// Detail is over, and with it the wait.
  void forget_entering() { entering_ = nullptr; }

  /// `owner` has entered. The flags give the state before: in detail, and in the region of interest.
  void begin(Thread& owner, bool is_within_detail, bool is_within_roi);
  /// The workers of cores, in the order of cores: the owner is the first.
  std::span<const Worker> workers() const { return std::span(all_).first(config_.chip.cores); }
  /// The number that each tile has beyond its cores'. The program may have started fewer than it was asked
  /// to.
  std::uint32_t spare_workers() const { return spare_; }
  /// The stacks of all workers, [low, high) each.
  std::vector<std::pair<Addr, Addr>> stacks() const;

  bool is_running() const { return owner_ != nullptr; }
  bool is_within_detail() const { return is_within_detail_; }
  bool is_within_roi() const { return is_within_roi_; }

  /// Threads have their registers again. @returns the owner, which is behind run().
  Thread& end();

  // ---- Workers that serve no core ----

  /// @returns the number of the run.
  std::uint64_t suspend(const SuspendedTask& task) {
    forget_stack(task.worker);
    return pool_.suspend(task);
  }
  SuspendedTask resume(std::uint64_t run) { return pool_.resume(run); }
  Worker take(TileId tile) { return pool_.take(tile); }
  void give_back(TileId tile, const Worker& worker) {
    forget_stack(worker);
    pool_.add(tile, worker);
  }
  /// The task that waits on this thread; null: none.
  const SuspendedTask* suspended_on(const Thread& thread) const { return pool_.find(thread); }
  /// The threads of doomed runs whose waits are to be interrupted: such a run may wait for what never comes,
  /// since its task went wrong. Once each, as a capsule may call again, for ever.
  template <class IsDoomed>
  std::vector<Thread*> interrupt_doomed(const IsDoomed& is_doomed) {
    std::vector<Thread*> interrupted;
    for (SuspendedTask& waiting : pool_.suspended())
      if (!waiting.call.is_interrupted && is_doomed(waiting.tile, waiting.task.run)) {
        waiting.call.is_interrupted = true;
        interrupted.push_back(waiting.worker.thread);
      }
    return interrupted;
  }

 private:
  bool waits_for_others(bool is_in_detail, Cycle now, Entry& entry);
  /// The part of a worker's stack below the region instruction's frame is its core's own (C7).
  Worker worker_of(Thread& thread) const;
  void mark_stacks(bool begins);
  void forget_stack(const Worker& worker) {
    if (worker.stack_low != worker.stack_high)
      memory_system_.forget(line_of(worker.stack_low), line_of(worker.stack_high - 1));
  }

  const Config& config_;
  AddressSpace& memory_;
  MemorySystem& memory_system_;
  Thread* owner_ = nullptr;
  Thread* entering_ = nullptr;
  std::optional<Cycle> enter_by_;        // how long it waits for others
  unsigned turns_to_enter_ = 0;          // the same in fast-forward
  bool is_within_detail_ = false;        // the running region: so was what came before it
  bool is_within_roi_ = false;           // the running region: the region of interest began before it
  std::vector<Thread*> worker_threads_;  // in order of arrival
  std::vector<Worker> all_;              // of the running region: its owner, then those
  std::uint32_t spare_ = 0;
  WorkerPool pool_;
};

}  // namespace rubato::chip
