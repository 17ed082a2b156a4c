// Construction of a memory controller: bandwidth as cycles a line.
// SPDX-License-Identifier: MIT
#include "chip/dram/memory_controller.hpp"

#include <cmath>

#include "base/check.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

MemoryController::MemoryController(Params params)
    : latency_(params.latency),
      perturb_(params.perturb),
      rng_(params.seed),
      occupancy_(static_cast<std::uint64_t>(
          std::llround(static_cast<double>(kLineBytes) / params.bytes_per_cycle * kFraction))) {
  RUBATO_CHECK(params.bytes_per_cycle >= 0.02 && occupancy_ / kFraction + 1 <= kWindow);
}

void MemoryController::register_stats(StatRegistry& registry, const std::string& prefix) const {
  registry.counter(prefix + ".reads", "lines", "lines read from memory", &reads_);
  registry.counter(prefix + ".writes", "lines", "lines written to memory", &writes_);
  registry.counter(prefix + ".queue_cycles", "cycles", "cycles that requests waited for the controller",
                   &queue_cycles_);
}

}  // namespace rubato::chip
