// Building a hierarchy from a configuration, and its checks and statistics.
// SPDX-License-Identifier: MIT
#include "chip/coherence/hierarchy.hpp"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"

namespace rubato::chip {

namespace {

bool is_exclusive(const Config& config) { return config.l2.inclusion == "exclusive"; }

/// An exclusive L2 has ways for records of what is in L1s, and one for a line that comes. All lines of a set
/// of the L2 belong to one set of an L1.
std::uint32_t l2_ways_of(const Config& config) {
  return config.l2.ways + (is_exclusive(config) ? config.l1i.ways + config.l1d.ways + 1 : 0);
}
std::uint64_t l2_bytes_of(const Config& config) {
  return config.l2.size / config.l2.ways * l2_ways_of(config);
}

void check_caches(const Config& config) {
  const std::uint32_t cores = config.chip.cores_per_tile;
  RUBATO_CHECK(cores >= 1 && cores <= 8, "an L2 records at most 16 L1s");
  RUBATO_CHECK(config.l2.size > 0 && config.llc.size > 0, "the configuration is resolved");
  if (config.llc.interleave == "low" && !std::has_single_bit(config.tiles()))
    throw UsageError(
        "llc.interleave is low, which takes a power of two of tiles, but chip.cores / chip.cores_per_tile "
        "makes {}",
        config.tiles());
  if (!is_exclusive(config)) return;
  if (cores != 1)
    throw UsageError(
        "l2.inclusion is exclusive, which takes tiles of one core, but chip.cores_per_tile is {}", cores);
  const auto sets = [](const CacheSection& cache) { return cache.size / kLineBytes / cache.ways; };
  const std::uint64_t l2_sets = sets(config.l2);
  if (!std::has_single_bit(l2_sets) || sets(config.l1i) > l2_sets || sets(config.l1d) > l2_sets)
    throw UsageError(
        "l2.inclusion is exclusive, which takes an L2 of a power of two of sets, and no fewer than an L1 "
        "has, but "
        " l2.size and l2.ways make {}, l1i {} and l1d {}",
        l2_sets, sets(config.l1i), sets(config.l1d));
  if (l2_ways_of(config) > 64)
    throw UsageError(
        "l2.inclusion is exclusive, for which l2.ways, l1i.ways and l1d.ways together are 63 at most, not {}",
        l2_ways_of(config) - 1);
}

}  // namespace

Hierarchy::Hierarchy(const Config& config, std::size_t home_bytes)
    : cores_per_tile(config.chip.cores_per_tile),
      l1i_latency(config.l1i.latency),
      l1d_latency(config.l1d.latency),
      l2_latency(config.l2.latency),
      llc_latency(config.llc.latency),
      homes(config),
      banks(config),
      groups(config.tiles()),
      served(warming, config.tiles()),
      arena(config.tiles() *
            (SetArray<L2Line>::host_bytes(l2_bytes_of(config), l2_ways_of(config)) + home_bytes)),
      l2_ports(config.tiles()),
      llc_ports(config.tiles() * config.llc.banks),
      report([](const std::string& sentence) { check_failed(__FILE__, __LINE__, "coherence", sentence); }),
      counts_states_(config.coherence.states) {
  check_caches(config);
  if (config.coherence.check) versions.turn_on();
  l1s.reserve(std::size_t{config.chip.cores} * 2);
  for (std::uint32_t c = 0; c < config.chip.cores; ++c)
    for (const CacheSection& s : {config.l1i, config.l1d}) {
      l1s.emplace_back(L1Cache::Params{.bytes = s.size, .ways = s.ways});
      l1s.back().list_reservations(&left_reservations);
      versions.add_cache(l1s.back().slots());
    }
  const std::uint32_t per_tile = cores_per_tile * 2;
  tiles.reserve(config.tiles());
  for (std::uint32_t t = 0; t < config.tiles(); ++t)
    tiles.emplace_back(TileCaches::Params{.l2_bytes = l2_bytes_of(config),
                                          .l2_ways = l2_ways_of(config),
                                          .l1s = std::span(l1s).subspan(t * per_tile, per_tile),
                                          .first_l1_version = t * per_tile,
                                          .versions = &versions,
                                          .memory = arena.resource(),
                                          .warming = &warming,
                                          .exclusive_ways = is_exclusive(config) ? config.l2.ways : 0});
  for (std::uint32_t m = 0; m < config.mem.controllers; ++m)
    controllers.emplace_back(MemoryController::Params{.latency = config.mem.latency,
                                                      .bytes_per_cycle = config.mem.bytes_per_cycle,
                                                      .perturb = config.chip.perturb,
                                                      .seed = mix64(config.chip.seed ^ 0x6d656d) + m});
  if (!config.coherence.check && !counts_states_) return;
  observers_.reserve(l1s.size());
  for (std::uint32_t i = 0; i < l1s.size(); ++i) {
    observers_.emplace_back(*this, i);
    l1s[i].observe(&observers_.back());
  }
}

void Hierarchy::check_use(std::uint32_t l1, std::uint32_t slot, LineAddr line, bool write, bool replaces) {
  const TileCaches& tile = tiles[l1 / (cores_per_tile * 2)];
  const Versions::Place place = tile.l1_place(l1 % (cores_per_tile * 2), slot);
  if (!replaces && !versions.is_newest(line, place))
    report(fmt::format("core {} uses an old copy of line {:#x}", l1 / 2, addr_of(line)));
  if (write) versions.store(line, place);
}

void Hierarchy::register_stats(StatRegistry& registry) const {
  for (std::uint32_t i = 0; i < l1s.size(); ++i)
    l1s[i].register_stats(registry, fmt::format("core.{}.{}", i / 2, i % 2 == 0 ? "l1i" : "l1d"));
  if (counts_states_)
    for (std::uint32_t i = 1; i < l1s.size(); i += 2)
      for (const LineState state : {LineState::shared, LineState::exclusive, LineState::modified})
        registry.counter(fmt::format("core.{}.l1d.hits_{}", i / 2, name_of(state)), "accesses",
                         fmt::format("hits that found the line {}", name_of(state)),
                         &observers_[i].hits_in[static_cast<unsigned>(state)]);
  for (std::uint32_t m = 0; m < controllers.size(); ++m)
    controllers[m].register_stats(registry, fmt::format("mem.{}", m));
  uses.register_stats(registry);
}

void Hierarchy::register_tile(StatRegistry& registry, std::uint32_t tile, const LlcCounters& llc,
                              const ArrayAccesses& llc_accesses) const {
  register_cache_stats(registry, tile,
                       {.l2 = tiles[tile].counters,
                        .llc = llc,
                        .l2_accesses = tiles[tile].accesses,
                        .llc_accesses = llc_accesses});
  served.register_stats(registry, tile);
}

}  // namespace rubato::chip
