// The caches and memory of a chip as every protocol has them (C20): L1s, tiles, the ports of arrays, memory
// controllers; beside them the map of homes, versions and the checks of uses (C21). A protocol adds its
// homes, and what tiles say to each other.
//
//   l1s       core * 2, + 1 for data
//   ports     an array, or a bank of a slice, takes one access a cycle: an access finds the next free one
//   versions  on with coherence.check; then every use of an L1 is checked, hits by an observer
//   observer  of an L1's hits: without one, a hit costs no more than its own work
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "chip/cache/host_memory.hpp"
#include "chip/cache/l1_cache.hpp"
#include "chip/cache/left_reservations.hpp"
#include "chip/coherence/cache_stats.hpp"
#include "chip/coherence/home_map.hpp"
#include "chip/coherence/llc_banks.hpp"
#include "chip/coherence/program_uses.hpp"
#include "chip/coherence/served_accesses.hpp"
#include "chip/coherence/tile_caches.hpp"
#include "chip/coherence/versions.hpp"
#include "chip/coherence/warming.hpp"
#include "chip/config/config.hpp"
#include "chip/dram/memory_controller.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/sharers.hpp"

namespace rubato::chip {

class Hierarchy {
 public:
  /// `home_bytes`: host memory of the arrays that a home will take from `arena`.
  /// @throws UsageError for caches that do not fit together, in one sentence with their keys.
  Hierarchy(const Config& config, std::size_t home_bytes);
  Hierarchy(const Hierarchy&) = delete;
  Hierarchy& operator=(const Hierarchy&) = delete;

  TileId tile_of(CoreId core) const { return TileId{core.value / cores_per_tile}; }
  /// The number of one of a core's L1s in its tile, and among all.
  std::uint32_t l1_in_tile(CoreId core, AccessKind kind) const {
    return core.value % cores_per_tile * 2 + (kind == AccessKind::fetch ? 0 : 1);
  }
  static std::uint32_t l1_of(CoreId core, AccessKind kind) {
    return core.value * 2 + (kind == AccessKind::fetch ? 0 : 1);
  }
  LineAddr outer(CoreId core, LineAddr own) const { return l1s[core.value * 2].outer(own); }

  Latency l1_latency(AccessKind kind) const { return kind == AccessKind::fetch ? l1i_latency : l1d_latency; }
  Cycle book_l2(TileId tile, Cycle at) { return warming.book(l2_ports, tile.value, at); }
  /// The port of the line's bank.
  Cycle book_llc(TileId home, LineAddr line, Cycle at) {
    return warming.book(llc_ports, banks.of(home, line), at);
  }
  /// Tags of an L2 are read, in the first free cycle of its port.
  Cycle look_up_l2(TileId tile, Cycle at) {
    warming.count(tiles[tile.value].accesses.lookups);
    return book_l2(tile, at) + l2_latency;
  }
  /// The same of a home's slice, whose accesses are counted in `slice`.
  Cycle look_up_llc(TileId home, ArrayAccesses& slice, LineAddr line, Cycle at) {
    warming.count(slice.lookups);
    return book_llc(home, line, at) + llc_latency;
  }
  /// When the line is back at its controller's tile.
  Cycle read_memory(LineAddr line, Cycle at) {
    if (warming.is_on()) return at;
    uses.count(line, &ProgramUse::memory_reads);
    return controllers[homes.controller_of(line)].read(at);
  }
  void write_memory(LineAddr line, Cycle at) {
    if (warming.is_on()) return;
    uses.count(line, &ProgramUse::memory_writes);
    controllers[homes.controller_of(line)].write(at);
  }

  /// An L1's copy is used: it must be the newest, unless a store `replaces` all of its bytes. With versions
  /// only.
  void check_use(std::uint32_t l1, std::uint32_t slot, LineAddr line, bool write, bool replaces = false);

  /// Registers core.C.l1i|l1d.*, mem.M.* and, of several programs, program.P.*.
  void register_stats(StatRegistry& registry) const;
  /// Registers tile.T.l2.* and tile.T.llc.*: the protocol has the counters of the slice.
  void register_tile(StatRegistry& registry, std::uint32_t tile, const LlcCounters& llc,
                     const ArrayAccesses& llc_accesses) const;

  std::uint32_t cores_per_tile;
  Latency l1i_latency, l1d_latency, l2_latency, llc_latency;
  HomeMap homes;
  LlcBanks banks;
  SharerGroups groups;
  Warming warming;
  ProgramUses uses{warming};
  ServedAccesses served;
  Versions versions;
  HostArena arena;
  LeftReservations left_reservations;
  std::vector<L1Cache> l1s;
  std::vector<TileCaches> tiles;
  std::vector<MemoryController> controllers;
  Calendars l2_ports, llc_ports;
  /// Hears of a violation that coherence.check finds; by default the program ends with it.
  std::function<void(const std::string&)> report;

 private:
  class HitObserver final : public L1Observer {
   public:
    HitObserver(Hierarchy& hierarchy, std::uint32_t l1) : hierarchy_(hierarchy), l1_(l1) {}
    void on_hit(std::uint32_t slot, LineAddr line, bool write, LineState before) override {
      ++hits_in[static_cast<unsigned>(before)];
      if (hierarchy_.versions.is_on())
        hierarchy_.check_use(l1_, slot, hierarchy_.l1s[l1_].outer(line), write);
    }

    std::uint64_t hits_in[4] = {};  ///< by the state of the line

   private:
    Hierarchy& hierarchy_;
    std::uint32_t l1_;
  };

  bool counts_states_;                  // coherence.states
  std::vector<HitObserver> observers_;  // by L1; empty: neither checked nor counted
};

}  // namespace rubato::chip
