// Counters of the engine, summed over all workers.
// SPDX-License-Identifier: MIT
#include "native/clock.hpp"
#include "native/engine.hpp"

namespace rubato::inline v0::native {

Counters Engine::counters() const {
  const auto lock = keep_workers();
  return counters_so_far();
}

Counters Engine::counters_so_far() const {
  const auto to_ns = [](std::uint64_t ticks) {
    return ticks == 0
               ? 0
               : static_cast<std::uint64_t>(static_cast<double>(ticks) * 1000 / ticks_per_microsecond());
  };
  Counters c = earlier_;
  if (workers_.empty()) return c;
  for (const auto& worker : workers_) {
    const Counts& n = worker->counts;
    c.tasks_created += worker->created.load(std::memory_order_relaxed) + n.submitted.get();
    c.tasks_run += n.finished.get() - worker->husks();
    c.tasks_run_alone += n.alone.get();
    c.tasks_run_long += n.long_tasks.get();
    c.timestamps += n.timestamps.get();
    c.timestamps_shared += n.shared_timestamps.get();
    c.tasks_packed += n.packed.get();
    c.reads_repeated += n.reads_repeated.get();
    c.chunks_published += n.published.get();
    c.chunks_stolen += n.chunks_stolen.get();
    c.pools_stolen += n.pools_stolen.get();
    c.parks += n.parks.get();
    c.wake_ups += n.wake_ups.get();
    c.lag_samples += n.lag_samples.get();
    c.lag_sample_hits += n.lag_sample_hits.get();
    c.lags += n.lags.get();
    c.lag_hits += n.lag_hits.get();
    c.lag_decisions += n.lag_decisions.get();
    c.lag_drops += n.lag_drops.get();
    c.lag_preempted += n.lag_preempted.get();
    c.lag_ns += to_ns(n.lag_ticks.get());
    c.turn_lag_samples += n.turn_samples.get();
    c.turn_lag_sample_hits += n.turn_sample_hits.get();
    c.turn_lags += n.turn_lags.get();
    c.turn_lag_hits += n.turn_lag_hits.get();
    c.turn_lag_decisions += n.turn_decisions.get();
    c.turn_lag_drops += n.turn_drops.get();
    c.turn_lag_preempted += n.turn_preempted.get();
    c.turn_lag_ns += to_ns(n.turn_lag_ticks.get());
    c.turns_run_next += n.turns_run_next.get();
  }
  c.turn_switch_ns = to_ns(workers_.front()->counts.turn_switch_ticks.get());
  c.lag_switch_ns = to_ns(workers_.front()->counts.lag_switch_ticks.get());
  c.prefetch_distance = workers_.front()->seen.prefetch_distance.load(std::memory_order_relaxed);
  c.unreclaimed_bytes = epochs->unreclaimed_bytes();
  return c;
}

}  // namespace rubato::inline v0::native
