// SPDX-License-Identifier: MIT
#include "chip/coherence/served_accesses.hpp"

#include <fmt/format.h>

namespace rubato::chip {

void ServedAccesses::register_stats(StatRegistry& registry, std::uint32_t tile) const {
  const auto one = [&](const char* name, const char* description, ServedBy by) {
    registry.histogram(fmt::format("tile.{}.{}", tile, name), "cycles", description, &of(TileId{tile}, by));
  };
  one("l2.latency", "L1 misses that the tile's L2 served, by their latency", ServedBy::l2);
  one("l2.latency_other_l1", "L1 misses for which another L1 of the tile was asked, by their latency",
      ServedBy::other_l1);
  one("llc.latency", "requests that this slice served, by their latency", ServedBy::llc);
  one("llc.latency_other_tile", "requests for this home's lines that another tile served, by their latency",
      ServedBy::other_tile);
  one("llc.latency_memory", "requests for this home's lines that memory served, by their latency",
      ServedBy::memory);
}

}  // namespace rubato::chip
