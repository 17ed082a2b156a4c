// See private_path.hpp.
// SPDX-License-Identifier: MIT
#include "chip/coherence/private_path.hpp"

namespace rubato::chip {

void PrivatePath::fill_l1(const PrivateAccess& r, std::uint32_t l1_slot, std::uint32_t slot, bool exclusive,
                          bool is_read, Path& path) {
  Hierarchy& parts = parts_;
  TileCaches& tile = parts.tiles[r.tile.value];
  L1Cache& l1 = tile.l1s()[r.l1];
  LeftReservations& left = parts.left_reservations;
  L2Line& line = tile.array()[slot];
  if (is_read && l1_slot == L1Cache::kNoSlot) parts.warming.count(tile.accesses.reads);
  LineState state = LineState::shared;
  if (r.write) {
    line.state = state = LineState::modified;
  } else if (r.kind != AccessKind::fetch && is_writable(line.state) && line.copies == 0 && exclusive &&
             (left.empty() || !left.has(r.line, l1))) {
    state = LineState::exclusive;
  }
  if (tile.fill_l1(r.l1, l1_slot, slot, state)) parts.book_l2(r.tile, path.at());
  if (parts.versions.is_on())
    parts.check_use(Hierarchy::l1_of(r.core, r.kind), l1.find(l1.inner(r.line)), r.line, r.write,
                    r.replaces_line());
  if (r.write && !left.empty()) left.on_store(r.line, l1);
  if (r.kind == AccessKind::prefetch) [[unlikely]] {
    l1.set_untouched(l1.find(l1.inner(r.line)));
  } else if (!parts.warming.is_on()) {
    l1.count_miss();
  }
}

}  // namespace rubato::chip
