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
    register_cache_stats(registry, t,
                         {.l2 = tiles_[t].counters,
                          .llc = slices_[t].counters,
                          .l2_accesses = tiles_[t].accesses,
                          .llc_accesses = slices_[t].accesses});
  for (std::uint32_t t = 0; t < tiles(); ++t) register_directory_rows(registry, t, slices_[t].directory);
  for (std::uint32_t m = 0; m < controllers_.size(); ++m)
    controllers_[m].register_stats(registry, fmt::format("mem.{}", m));
}

}  // namespace rubato::chip
