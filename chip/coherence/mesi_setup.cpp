// Building a MESI hierarchy from a configuration, and its checks (C21).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "chip/coherence/mesi.hpp"

namespace rubato::chip {

Mesi::Mesi(const Config& config, Network& network, ConflictCheck& conflicts)
    : network_(&network),
      conflicts_(&conflicts),
      cores_per_tile_(config.chip.cores_per_tile),
      l1i_latency_(config.l1i.latency),
      l1d_latency_(config.l1d.latency),
      l2_latency_(config.l2.latency),
      llc_latency_(config.llc.latency),
      homes_(config),
      groups_(config.tiles()),
      arena_(config.tiles() * (SetArray<L2Line>::host_bytes(config.l2.size, config.l2.ways) +
                               SetArray<DirectoryEntry>::host_bytes(config.llc.size, config.llc.ways))),
      l2_ports_(config.tiles()),
      llc_ports_(config.tiles()) {
  RUBATO_CHECK(cores_per_tile_ >= 1 && cores_per_tile_ <= 8, "an L2 records at most 16 L1s");
  RUBATO_CHECK(config.l2.size > 0 && config.llc.size > 0, "the configuration is resolved");
  const std::uint32_t cores = config.chip.cores, tiles = config.tiles();
  if (config.coherence.check) versions_.turn_on();

  l1s_.reserve(std::size_t{cores} * 2);
  for (std::uint32_t c = 0; c < cores; ++c)
    for (const CacheSection& s : {config.l1i, config.l1d}) {
      l1s_.emplace_back(L1Cache::Params{.bytes = s.size, .ways = s.ways});
      l1s_.back().list_reservations(&left_reservations_);
      versions_.add_cache(l1s_.back().slots());
    }
  tiles_.reserve(tiles);
  slices_.reserve(tiles);
  const std::uint32_t per_tile = cores_per_tile_ * 2;
  for (std::uint32_t t = 0; t < tiles; ++t) {
    tiles_.emplace_back(TileCaches::Params{.l2_bytes = config.l2.size,
                                           .l2_ways = config.l2.ways,
                                           .l1s = std::span(l1s_).subspan(t * per_tile, per_tile),
                                           .first_l1_version = t * per_tile,
                                           .versions = &versions_,
                                           .memory = arena_.resource(),
                                           .is_warming = &warming_});
  }
  for (std::uint32_t t = 0; t < tiles; ++t)
    slices_.emplace_back(config.llc.size, config.llc.ways, versions_, arena_.resource());
  for (std::uint32_t m = 0; m < config.mem.controllers; ++m) {
    controllers_.emplace_back(MemoryController::Params{.latency = config.mem.latency,
                                                       .bytes_per_cycle = config.mem.bytes_per_cycle,
                                                       .perturb = config.chip.perturb,
                                                       .seed = mix64(config.chip.seed ^ 0x6d656d) + m});
  }

  report_ = [](const std::string& sentence) { check_failed(__FILE__, __LINE__, "coherence", sentence); };
  if (config.coherence.check) {
    observers_.reserve(l1s_.size());
    for (std::uint32_t i = 0; i < l1s_.size(); ++i) {
      observers_.emplace_back(*this, i);
      l1s_[i].observe(&observers_.back());
    }
  }
}

void Mesi::check_use(std::uint32_t l1, std::uint32_t slot, LineAddr line, bool write) {
  const TileCaches& tile = tiles_[l1 / (cores_per_tile_ * 2)];
  const Versions::Place place = tile.l1_place(l1 % (cores_per_tile_ * 2), slot);
  if (!versions_.is_newest(line, place))
    report_(fmt::format("core {} uses an old copy of line {:#x}", l1 / 2, addr_of(line)));
  if (write) versions_.store(line, place);
}

void Mesi::check_line(LineAddr line) const {
  if (const std::string what = find_violation(view(), line, home_of(line)); !what.empty()) report_(what);
}

std::string Mesi::check_invariants() const {
  const auto first = [&](LineAddr line) { return find_violation(view(), line, home_of(line)); };
  for (const L1Cache& l1 : l1s_)
    for (std::uint32_t slot = 0; slot < l1.slots(); ++slot)
      if (l1.state_at(slot) != LineState::invalid)
        if (std::string what = first(l1.outer(l1.line_at(slot))); !what.empty()) return what;
  for (const TileCaches& tile : tiles_)
    for (std::uint32_t slot = 0; slot < tile.array().slots(); ++slot)
      if (!tile.array().is_empty(slot))
        if (std::string what = first(tile.array().line_at(slot)); !what.empty()) return what;
  for (const LlcSlice& slice : slices_)
    for (std::uint32_t slot = 0; slot < slice.array.slots(); ++slot)
      if (!slice.array.is_empty(slot))
        if (std::string what = first(slice.array.line_at(slot)); !what.empty()) return what;
  return {};
}

}  // namespace rubato::chip
