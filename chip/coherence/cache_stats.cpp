// SPDX-License-Identifier: MIT
#include "chip/coherence/cache_stats.hpp"

#include <fmt/format.h>

#include "chip/stats/registry.hpp"

namespace rubato::chip {

void register_cache_stats(StatRegistry& registry, std::uint32_t tile, const CacheStats& stats) {
  const auto l2 = [&, c = &stats.l2](const char* name, const char* unit, const char* description,
                                     std::uint64_t L2Counters::*counter) {
    registry.counter(fmt::format("tile.{}.l2.{}", tile, name), unit, description, &(c->*counter));
  };
  l2("hits", "accesses", "L1 misses that the tile's L2 served", &L2Counters::hits);
  const auto hits = [&](LineState state) {
    registry.counter(fmt::format("tile.{}.l2.hits_{}", tile, name_of(state)), "accesses",
                     fmt::format("hits of the L2 while the tile had the line {}", name_of(state)),
                     &stats.l2.hits_in[static_cast<unsigned>(state)]);
  };
  hits(LineState::shared), hits(LineState::exclusive), hits(LineState::modified);
  l2("misses", "accesses", "L1 misses whose line the L2 did not hold", &L2Counters::misses);
  l2("upgrades", "accesses", "writes whose line the L2 held without the right to write",
     &L2Counters::upgrades);
  l2("other_l1", "accesses", "hits for which another L1 of the tile, the line's owner, was asked",
     &L2Counters::other_l1);
  l2("evictions", "lines", "lines that left the L2 to make room", &L2Counters::evictions);
  l2("write_backs", "lines", "modified lines sent to their home", &L2Counters::write_backs);
  l2("invalidations", "lines", "lines taken by a write elsewhere or by a recall", &L2Counters::invalidations);
  l2("forwards", "lines", "lines sent to another tile's request", &L2Counters::forwards);
  const auto llc = [&, c = &stats.llc](const char* name, const char* unit, const char* description,
                                       std::uint64_t LlcCounters::*counter) {
    registry.counter(fmt::format("tile.{}.llc.{}", tile, name), unit, description, &(c->*counter));
  };
  llc("hits", "accesses", "requests whose line the slice held", &LlcCounters::hits);
  llc("misses", "accesses", "requests whose line came from memory", &LlcCounters::misses);
  llc("evictions", "lines", "lines that left the slice to make room", &LlcCounters::evictions);
  llc("recalls", "messages", "copies taken from tiles because their line was evicted", &LlcCounters::recalls);
  llc("write_backs", "lines", "modified lines written to memory", &LlcCounters::write_backs);
  llc("invalidations", "messages", "invalidations sent because of writes", &LlcCounters::invalidations);
  llc("forwards", "messages", "requests sent on to the tile that owns the line", &LlcCounters::forwards);
  llc("busy_cycles", "cycles", "cycles that requests waited for their line's previous transaction",
      &LlcCounters::busy_cycles);
  const auto arrays = [&](const char* cache, const ArrayAccesses& a) {
    const auto one = [&](const char* name, const char* unit, const char* description,
                         const std::uint64_t* counter) {
      registry.counter(fmt::format("tile.{}.{}.{}", tile, cache, name), unit, description, counter);
    };
    one("lookups", "accesses", "sets of tags read, for whatever reason", &a.lookups);
    one("reads", "lines", "lines read from the data array", &a.reads);
    one("writes", "lines", "lines written to the data array", &a.writes);
  };
  arrays("l2", stats.l2_accesses);
  arrays("llc", stats.llc_accesses);
}

void register_directory_rows(StatRegistry& registry, std::uint32_t tile, const DirectoryRows& rows) {
  registry.counter(fmt::format("tile.{}.directory.rows_read", tile), "rows",
                   "rows of the directory that were read: an entry in each way that a look-up compares",
                   &rows.read);
  registry.counter(fmt::format("tile.{}.directory.rows_written", tile), "rows",
                   "rows of the directory that were written", &rows.written);
}

}  // namespace rubato::chip
