// How copies move between a tile's L2 and its L1s (C20).
// SPDX-License-Identifier: MIT
#include "chip/coherence/tile_caches.hpp"

#include <bit>

namespace rubato::chip {

bool TileCaches::invalidate_l1s(std::uint32_t slot, std::uint32_t keeper) {
  L2Line& line = array_[slot];
  const LineAddr address = array_.line_at(slot);
  const std::uint32_t kept = keeper == kNoL1 ? 0 : line.copies & (1U << keeper);
  const std::uint32_t asked = line.copies & ~kept;
  for (std::uint32_t rest = asked; rest != 0; rest &= rest - 1) {
    const auto l1 = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint32_t l1_slot = l1s_[l1].find_any(l1s_[l1].inner(address));
    RUBATO_DCHECK(l1_slot != L1Cache::kNoSlot, "the L2 records an L1 copy that is not there");
    count(l1s_[l1].moves.probes);
    merge(l1, l1_slot, slot);
    l1s_[l1].invalidate(l1_slot);
  }
  line.copies = static_cast<std::uint16_t>(kept);
  if (asked != 0) line.owner = 0;
  return asked != 0;
}

void TileCaches::empty_l1(std::uint32_t l1) {
  L1Cache& cache = l1s_[l1];
  for (std::uint32_t l1_slot = 0; l1_slot < cache.slots(); ++l1_slot) {
    if (cache.state_at(l1_slot) == LineState::invalid) continue;
    const std::uint32_t slot = behind_[first_behind_[l1] + l1_slot];
    RUBATO_DCHECK(array_.line_at(slot) == cache.outer(cache.line_at(l1_slot)), "the L2 includes its L1s");
    merge(l1, l1_slot, slot);
    L2Line& line = array_[slot];
    line.copies = static_cast<std::uint16_t>(line.copies & ~(1U << l1));
    if (line.owner == l1 + 1) line.owner = 0;
    if (is_exclusive() && line.copies == 0) line.ready = Cycle{++turn_};
    cache.invalidate(l1_slot);
  }
}

bool TileCaches::downgrade_owner(std::uint32_t slot) {
  L2Line& line = array_[slot];
  if (line.owner == 0) return false;
  const std::uint32_t l1 = line.owner - 1U;
  const std::uint32_t l1_slot = l1s_[l1].find_any(l1s_[l1].inner(array_.line_at(slot)));
  RUBATO_DCHECK(l1_slot != L1Cache::kNoSlot, "the L2 records an owner that is not there");
  count(l1s_[l1].moves.probes);
  merge(l1, l1_slot, slot);
  l1s_[l1].set_state(l1_slot, LineState::shared);
  line.owner = 0;
  return true;
}

TileCaches::Oldest TileCaches::oldest(LineAddr line) const {
  Oldest found;
  const std::uint32_t first = array_.first_slot(line);
  for (std::uint32_t slot = first; slot < first + array_.slots_of_set(); ++slot) {
    if (array_.is_empty(slot) || array_[slot].copies != 0) continue;
    ++found.lines;
    if (found.slot == kNoSlot || array_[slot].ready < array_[found.slot].ready) found.slot = slot;
  }
  return found;
}

bool TileCaches::fill_l1(std::uint32_t l1, std::uint32_t l1_slot, std::uint32_t slot, LineState state) {
  L2Line& line = array_[slot];
  L1Cache& cache = l1s_[l1];
  const LineAddr address = cache.inner(array_.line_at(slot));
  bool wrote = false;
  RUBATO_DCHECK(l1_slot == cache.find(address));
  if (l1_slot != L1Cache::kNoSlot) {
    cache.set_state(l1_slot, state);
    cache.use(l1_slot);
  } else {
    const L1Cache::Victim victim = cache.victim(address);
    l1_slot = victim.slot;
    if (victim.state != LineState::invalid) {
      const std::uint32_t victim_slot = behind_[first_behind_[l1] + l1_slot];
      RUBATO_DCHECK(array_.line_at(victim_slot) == cache.outer(victim.line), "the L2 includes its L1s");
      merge(l1, l1_slot, victim_slot);
      wrote = victim.state == LineState::modified;
      L2Line& left = array_[victim_slot];
      left.copies = static_cast<std::uint16_t>(left.copies & ~(1U << l1));
      if (left.owner == l1 + 1) left.owner = 0;
      if (is_exclusive() && left.copies == 0) {
        left.ready = Cycle{++turn_};
        if (!wrote) {  // else merge() has counted it
          count(cache.moves.lines_read);
          count(accesses.writes);
        }
        wrote = true;
      }
    }
    cache.fill(l1_slot, address, state);
    count(cache.moves.fills);
    behind_[first_behind_[l1] + l1_slot] = slot;
    versions_->copy(place(slot), l1_place(l1, l1_slot));
  }
  line.copies = static_cast<std::uint16_t>(line.copies | 1U << l1);
  line.owner = static_cast<std::uint8_t>(is_writable(state) ? l1 + 1 : 0);
  return wrote;
}

}  // namespace rubato::chip
