// The names of the memory hierarchy's statistics.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/coherence/cache_stats.hpp"
#include "chip/coherence/mesi.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

void Mesi::register_stats(StatRegistry& registry) const {
  for (std::uint32_t i = 0; i < l1s_.size(); ++i)
    l1s_[i].register_stats(registry, fmt::format("core.{}.{}", i / 2, i % 2 == 0 ? "l1i" : "l1d"));
  for (std::uint32_t t = 0; t < tiles(); ++t)
    register_cache_stats(registry, t, tiles_[t].counters, slices_[t].counters);
  for (std::uint32_t m = 0; m < controllers_.size(); ++m)
    controllers_[m].register_stats(registry, fmt::format("mem.{}", m));
}

}  // namespace rubato::chip
