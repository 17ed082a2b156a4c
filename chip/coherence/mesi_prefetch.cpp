// Hardware prefetches under MESI: a read in one go, as that of a load. Its cycles pass while the core goes
// on.
// SPDX-License-Identifier: MIT
#include "chip/coherence/mesi.hpp"

namespace rubato::chip {

AccessResult Mesi::leave_l1_prefetching(CoreId core, LineAddr own, AccessKind kind, std::uint32_t l1_slot,
                                        bool is_in_l1, Cycle now) {
  return leave_with_prefetcher(core, own, kind, l1_slot, is_in_l1, now, [&](std::uint32_t slot, bool is_in) {
    const AccessResult result = leave_l1(core, own, kind, slot, is_in, now);
    if (result.done) seen_ = Seen::miss;
    return result;
  });
}

void Mesi::prefetch_line(CoreId core, LineAddr own, LineAddr used, Cycle now) {
  Prefetcher& prefetcher = prefetchers_[core.value];
  const LineAddr line = parts_.outer(core, own), kept = parts_.outer(core, used);
  TileCaches& tile = parts_.tiles[parts_.tile_of(core).value];
  const std::uint32_t slot = tile.array().find(line);
  // Another L1 of the tile has the line for itself.
  if (slot != TileCaches::kNoSlot && tile.array()[slot].owner != 0) return;
  // The access that led here has been performed: its line stays in L1, L2 and LLC.
  const auto displaces = [](const auto& array, LineAddr comes, LineAddr stays) {
    const std::uint32_t victim = array.victim(comes);
    return array.find(comes) == array.kNoSlot && !array.is_empty(victim) && array.line_at(victim) == stays;
  };
  const L1Cache::Victim victim = l1d(core).victim(own);
  if ((victim.state != LineState::invalid && victim.line == used) || displaces(tile.array(), line, kept) ||
      displaces(slices_[home_of(line).value].array, line, kept)) {
    ++prefetcher.counters.dropped;
    return;
  }
  const AccessResult result = leave_l1(core, own, AccessKind::prefetch, L1Cache::kNoSlot, false, now);
  prefetcher.add(own, result.cycle);
}

}  // namespace rubato::chip
