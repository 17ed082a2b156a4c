// Latencies of accesses that left their L1, by the part of the chip that served them: another part of the
// tile, the LLC slice of the line's home, another tile, or memory.
//
//   sample    an access that the tile served; or a request of a tile, from the access that made it until the
//             line or the right to write it was there. Accesses that wait for the same request are no samples
//   latency   since the access was made the last time: an access that a conflict check blocked begins anew
//   not in    hardware prefetches, which no core waits for, and warming
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "chip/coherence/warming.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

class ServedAccesses {
 public:
  ServedAccesses(const Warming& warming, std::uint32_t tiles) : warming_(warming), tiles_(tiles) {}

  /// `tile`: of the core, if its caches served the access; else the home of the line.
  void count(TileId tile, ServedBy by, Latency cycles) {
    if (!warming_.is_on()) tiles_[tile.value][index_of(by)].add(cycles);
  }
  static bool is_in_tile(ServedBy by) { return by <= ServedBy::other_l1; }
  const Histogram& of(TileId tile, ServedBy by) const { return tiles_[tile.value][index_of(by)]; }

  /// Registers tile.T.l2.latency, tile.T.llc.latency and so on.
  void register_stats(StatRegistry& registry, std::uint32_t tile) const;

 private:
  static constexpr unsigned kServers = 5;  // all but the L1
  static unsigned index_of(ServedBy by) { return static_cast<unsigned>(by) - 1; }

  const Warming& warming_;
  std::vector<std::array<Histogram, kServers>> tiles_;
};

}  // namespace rubato::chip
