// Counters of a worker.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/pool/atomics.hpp"

namespace rubato::inline v0::native {

/// Counted by one worker, read by any thread.
class Count {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(std::uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  /// A reader by get_ordered() sees all that was done before, other workers' counts included: a task that is
  /// counted as finished is also seen to have been created (see Sums).
  void add_ordered() { value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  std::uint64_t get_ordered() const { return value_.load(std::memory_order_acquire); }

 private:
  Atomic<std::uint64_t> value_{0};
};

struct Counts {
  Count finished, submitted, alone, long_tasks, timestamps, shared_timestamps, packed, reads_repeated,
      published, chunks_stolen, pools_stolen, parks, wake_ups;
  Count messages, actors, actors_stopped;
  Count lag_samples, lag_sample_hits, lags, lag_hits, lag_ticks, lag_decisions, lag_drops, lag_preempted,
      lag_switch_ticks;
  // Counters of turns.
  Count turn_samples, turn_sample_hits, turn_lags, turn_lag_hits, turn_lag_ticks, turn_decisions, turn_drops,
      turn_preempted, turn_switch_ticks, turns_run_next;
};

}  // namespace rubato::inline v0::native
