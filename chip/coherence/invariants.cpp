// The walker over one line's copies (C21).
// SPDX-License-Identifier: MIT
#include "chip/coherence/invariants.hpp"

#include <fmt/format.h>

namespace rubato::chip {

namespace {

/// Copies in the L1s of one tile against the L2's record of them.
std::string find_violation_in_tile(const HierarchyView& view, const TileCaches& tile, std::uint32_t slot,
                                   LineAddr line) {
  const L2Line none{};
  const bool here = slot != TileCaches::kNoSlot;
  const L2Line& l2 = here ? tile.array()[slot] : none;
  const bool versions = view.versions.is_on();
  bool is_l2_old = false;
  for (std::uint32_t i = 0; i < tile.l1s().size(); ++i) {
    const std::uint32_t l1_slot = tile.l1s()[i].find_any(tile.l1s()[i].inner(line));
    const bool holds = l1_slot != L1Cache::kNoSlot;
    if (holds && !here) return fmt::format("L1 {} holds it but the L2 does not", i);
    if (holds != ((l2.copies >> i & 1) != 0)) return fmt::format("the L2's record of L1 {} is wrong", i);
    if (!holds) continue;
    const LineState state = tile.l1s()[i].state_at(l1_slot);
    if (is_writable(state) != (l2.owner == i + 1))
      return fmt::format("L1 {} is {} but not so recorded", i, name_of(state));
    if (is_writable(state) && (l2.copies != 1U << i || !is_writable(l2.state)))
      return fmt::format("L1 {} is {} beside other copies", i, name_of(state));
    is_l2_old |= state == LineState::modified;
    if (versions && !view.versions.is_newest(line, tile.l1_place(i, l1_slot)))
      return fmt::format("L1 {}'s copy is not the newest", i);
  }
  if (here && l2.state == LineState::invalid) return "the L2 holds it invalid";
  if (here && versions && !is_l2_old && !view.versions.is_newest(line, tile.place(slot)))
    return "the L2's copy is not the newest";
  return {};
}

}  // namespace

std::string find_violation(const HierarchyView& view, LineAddr line, TileId home) {
  const LlcSlice& slice = view.slices[home.value];
  const std::uint32_t entry = slice.array.find(line);
  const bool here = entry != slice.array.kNoSlot;
  const DirectoryEntry none{};
  const DirectoryEntry& e = here ? slice.array[entry] : none;
  const auto wrong = [&](std::uint32_t tile, const std::string& what) {
    return fmt::format("line {:#x}, tile {}, home {}: {}", addr_of(line), tile, home.value, what);
  };
  std::uint64_t sharers = 0;
  bool is_owner_here = false;
  for (std::uint32_t t = 0; t < view.tiles.size(); ++t) {
    const std::uint32_t slot = view.tiles[t].array().find(line);
    if (const std::string what = find_violation_in_tile(view, view.tiles[t], slot, line); !what.empty())
      return wrong(t, what);
    if (slot == TileCaches::kNoSlot) continue;
    const LineState state = view.tiles[t].array()[slot].state;
    if (!here) return wrong(t, "held by the L2 but not by its LLC slice");
    if (is_writable(state) != (e.owned && e.owner == t))
      return wrong(t, fmt::format("{} in the L2, which the directory does not record so", name_of(state)));
    if (!is_writable(state) && e.owned) return wrong(t, "shared beside an owner");
    if (is_writable(state)) {
      is_owner_here = true;
    } else {
      sharers |= view.groups.bit(TileId{t});
    }
  }
  if (e.owned && !is_owner_here) return wrong(e.owner, "recorded as owner but holds nothing");
  if (e.owned && e.sharers != 0) return wrong(e.owner, "recorded as owner beside sharers");
  if ((sharers & ~e.sharers) != 0)
    return wrong(home.value, "a tile holds it that the directory does not record");
  if (view.groups.is_exact() && sharers != e.sharers)
    return wrong(home.value, "the directory records a tile that does not hold it");
  if (here && !e.owned && view.versions.is_on() && !view.versions.is_newest(line, slice.place(entry)))
    return wrong(home.value, "the LLC's copy is not the newest");
  return {};
}

}  // namespace rubato::chip
