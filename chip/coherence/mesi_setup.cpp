// Building a MESI hierarchy from a configuration, its checks (C21) and statistics.
// SPDX-License-Identifier: MIT
#include "chip/coherence/mesi.hpp"

namespace rubato::chip {

Mesi::Mesi(const Config& config, Network& network, ConflictCheck& conflicts)
    : CacheProtocol(config, conflicts,
                    SetArray<DirectoryEntry>::host_bytes(config.llc.size, config.llc.ways)),
      network_(&network) {
  slices_.reserve(tiles());
  for (std::uint32_t t = 0; t < tiles(); ++t)
    slices_.emplace_back(config.llc.size, config.llc.ways, parts_.versions, parts_.arena.resource());
}

void Mesi::check_line(LineAddr line) const {
  if (const std::string what = find_violation(view(), line, home_of(line)); !what.empty())
    parts_.report(what);
}

std::string Mesi::check_invariants() const {
  const auto first = [&](LineAddr line) { return find_violation(view(), line, home_of(line)); };
  for (const L1Cache& l1 : parts_.l1s)
    for (std::uint32_t slot = 0; slot < l1.slots(); ++slot)
      if (l1.state_at(slot) != LineState::invalid)
        if (std::string what = first(l1.outer(l1.line_at(slot))); !what.empty()) return what;
  for (const TileCaches& tile : parts_.tiles)
    for (std::uint32_t slot = 0; slot < tile.array().slots(); ++slot)
      if (!tile.array().is_empty(slot))
        if (std::string what = first(tile.array().line_at(slot)); !what.empty()) return what;
  for (const LlcSlice& slice : slices_)
    for (std::uint32_t slot = 0; slot < slice.array.slots(); ++slot)
      if (!slice.array.is_empty(slot))
        if (std::string what = first(slice.array.line_at(slot)); !what.empty()) return what;
  return {};
}

void Mesi::register_stats(StatRegistry& registry) const {
  parts_.register_stats(registry);
  register_prefetchers(registry);
  for (std::uint32_t t = 0; t < tiles(); ++t) {
    parts_.register_tile(registry, t, slices_[t].counters, slices_[t].accesses);
    register_directory_rows(registry, t, slices_[t].directory);
  }
}

}  // namespace rubato::chip
