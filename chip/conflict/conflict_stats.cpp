// The names of conflict detection's statistics.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/conflict/conflict_detector.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

void ConflictDetector::register_stats(StatRegistry& registry) const {
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    const auto add = [&, c = &tiles_[t].counters](const char* name, const char* unit, const char* description,
                                                  std::uint64_t Counters::*counter) {
      registry.counter(fmt::format("tile.{}.conflict.{}", t, name), unit, description, &(c->*counter));
    };
    add("tile_checks", "checks", "L2 hits checked against the tile's own attempts", &Counters::tile_checks);
    add("global_checks", "checks", "accesses of the tile's cores checked at the line's home",
        &Counters::global_checks);
    add("tiles_asked", "checks", "other tiles asked by those global checks", &Counters::tiles_asked);
    add("timestamps", "timestamps", "virtual times that checks in this tile compared", &Counters::timestamps);
    add("conflicts", "attempts", "attempts that accesses of the tile's cores met in conflict",
        &Counters::conflicts);
    add("false_positives", "attempts", "attempts of the tile met only because of their Bloom filters",
        &Counters::false_positives);
    add("blocked", "accesses", "accesses that an attempt's fate or an earlier writer stopped",
        &Counters::blocked);
  }
  const StickyDirectory::Counters& sticky = sticky_.counters();
  registry.counter("chip.conflict.sticky_set", "bits", "sticky bits set because a tile lost a line",
                   &sticky.set);
  registry.counter("chip.conflict.sticky_cleared", "bits", "sticky bits cleared by checks", &sticky.cleared);
  registry.counter("chip.conflict.overflowed", "lines",
                   "lines with sticky bits that left the LLC: moved to the overflow tables",
                   &sticky.overflowed);
  registry.value("chip.conflict.overflow_peak", "lines", "most lines in the overflow tables at once",
                 [&] { return static_cast<double>(sticky.overflow_peak); });
}

}  // namespace rubato::chip
