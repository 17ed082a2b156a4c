// The task pools of an engine: those that locales share, and one a worker for tasks that are bound to it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "native/order/task_pool.hpp"
#include "native/pool/atomics.hpp"
#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::native {

/// Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): spreads locales over pools.
constexpr std::uint64_t mix_locale(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class SharedPools {
 public:
  /// New ones, for so many workers. No worker has a pool of before. `nodes`: the NUMA node of each worker;
  /// empty: workers are on none.
  void make(unsigned workers, const std::vector<unsigned>& nodes);
  /// From now on resources that lie on a NUMA node have pools of it, if workers are on several: pools whose
  /// first home is there. So pools are not asked for several nodes in turn. Call it before there is such a
  /// resource; others keep their pools.
  void divide();

  /// The pool where tasks with this handle's locale are serialized: the same one always. Locales get pools in
  /// turn as they come up. So a few locales, each with much to do, neither share a pool nor begin at one
  /// worker.
  TaskPool& of(std::uint64_t handle) {
    const std::uint64_t slot = mix_locale(handle & engine::handle::kLocaleMask) % kSlots;
    const std::uint16_t given = given_[slot].load(std::memory_order_relaxed);
    return pools_[given < kNotGiven ? given : choose(handle, slot)];
  }
  /// Before a task that asks for a worker or a NUMA node goes to the pool.
  void note_place(TaskPool& pool);
  /// Whether such a task has gone to a pool.
  bool have_places() const { return have_places_.load(std::memory_order_relaxed); }
  TaskPool& pinned(unsigned worker) const { return pools_[count_ + worker]; }
  unsigned count() const { return count_; }
  TaskPool& operator[](unsigned index) const { return pools_[index]; }

 private:
  static constexpr unsigned kSlots = 1024;  // locales with the same hash modulo it share a pool
  static constexpr std::uint16_t kNotGiven = 0x7fff;
  static constexpr std::uint16_t kDivided = 0x8000;  // beside the index: see divide()

  unsigned choose(std::uint64_t handle, std::uint64_t slot);
  unsigned give(std::uint64_t slot);

  unsigned count_ = 0;
  std::vector<std::vector<unsigned>> of_node_;  // its workers; none: all are on one node, or on none
  unsigned workers_ = 0;
  std::mutex mutex_;
  bool are_divided_ = false;
  std::array<Atomic<std::uint16_t>, kSlots> given_;  // their indices
  Atomic<unsigned> given_count_{0};
  Atomic<bool> have_places_{false};
  std::unique_ptr<TaskPool[]> pools_;
};

}  // namespace rubato::inline v0::native
