// The statistics that a tile's L2 and LLC slice have under every protocol.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/coherence/llc_slice.hpp"
#include "chip/coherence/tile_caches.hpp"

namespace rubato::chip {

class StatRegistry;

struct CacheStats {
  const L2Counters& l2;
  const LlcCounters& llc;
  const ArrayAccesses& l2_accesses;
  const ArrayAccesses& llc_accesses;
};
/// Registers tile.T.l2.* and tile.T.llc.*; the counters must outlive the registry.
void register_cache_stats(StatRegistry& registry, std::uint32_t tile, const CacheStats& stats);
/// Registers tile.T.directory.rows_read and rows_written.
void register_directory_rows(StatRegistry& registry, std::uint32_t tile, const DirectoryRows& rows);

}  // namespace rubato::chip
