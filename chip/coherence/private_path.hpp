// The way of an access through its core's L1 and its tile's L2, the same under every protocol. It consists of
// the first look at the L1, the use of a copy there, and the fill of the L1. The fill follows once the L2 has
// the line with the right that the access needs; the protocol brings the line there.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "chip/coherence/conflict_gate.hpp"
#include "chip/coherence/hierarchy.hpp"
#include "chip/coherence/path.hpp"

namespace rubato::chip {

class PrivatePath {
 public:
  PrivatePath(Hierarchy& parts, const ConflictGate& gate) : parts_(parts), gate_(gate) {}

  /// Serves an access that needs nothing but its L1: a caller need not have asked that. Small, since many a
  /// spill or refill needs no more. Else `leave(slot, is_in_l1)`. Without `is_in_l1`, the L1 lacks the line
  /// or the right to it. With it, the line is not marked for the access and is checked as an L2 hit (C15).
  template <class Leave>
  AccessResult access(CoreId core, LineAddr own, AccessKind kind, Cycle now, Leave&& leave) {
    const bool active = gate_.is_active();
    const bool checked = active && is_tracked(kind), write = is_write(kind);
    L1Cache& l1 = parts_.l1s[Hierarchy::l1_of(core, kind)];
    const std::uint32_t slot = l1.find(own);
    const bool is_in_l1 = slot != L1Cache::kNoSlot && (!write || is_writable(l1.state_at(slot)));
    if (!is_in_l1 || (checked && !l1.covers_at(slot, write))) return leave(slot, is_in_l1);
    // Unchecked accesses need no mark, nor are they the running task's to be recorded.
    if (parts_.warming.is_on() || (active && !checked) || !l1.hit_at(slot, own, write)) {
      use_l1(Hierarchy::l1_of(core, kind), slot, l1.outer(own), kind);
      parts_.warming.count(l1.moves.uncounted);
    }
    Path path(now);
    path.spend(&AccessParts::l1, parts_.l1_latency(kind));
    return path.done(ServedBy::l1);
  }
  /// The access as the L2 and the home see it.
  PrivateAccess describe(CoreId core, LineAddr own, AccessKind kind) const {
    const bool active = gate_.is_active(), checked = active && is_tracked(kind);
    return {.core = core,
            .line = parts_.outer(core, own),
            .kind = kind,
            .write = is_write(kind),
            .checked = checked,
            .unchecked = active && !checked,
            .tile = parts_.tile_of(core),
            .l1 = parts_.l1_in_tile(core, kind)};
  }

  /// The core's L1 has the line with the right it needs: the check was all that was missing.
  void use_again(const PrivateAccess& r, std::uint32_t l1_slot) {
    use_l1(Hierarchy::l1_of(r.core, r.kind), l1_slot, r.line, r.kind);
    l1_of(r).count_miss();
  }
  /// The other L1s of the tile give up what stands against the access. @returns whether one owned the line.
  bool ask_l1s(const PrivateAccess& r, std::uint32_t slot, Path& path) {
    TileCaches& tile = parts_.tiles[r.tile.value];
    const bool is_owned = tile.array()[slot].owner != 0;
    if (r.write ? tile.invalidate_l1s(slot, r.l1) : tile.downgrade_owner(slot))
      path.spend(&AccessParts::l1, parts_.l1d_latency);
    return is_owned;
  }
  /// The L2 serves the access from `slot`, and no other L1 stands against it any longer. `l1_slot`: where the
  /// access's own L1 has the line with the right that it needs, or kNoSlot.
  void count_hit(const PrivateAccess& r, std::uint32_t slot, std::uint32_t l1_slot) {
    if (parts_.warming.is_on()) return;
    TileCaches& tile = parts_.tiles[r.tile.value];
    LineState state = tile.array()[slot].state;
    if (l1_slot != L1Cache::kNoSlot) {  // the L2 may not know that it is modified
      state = std::max(state, l1_of(r).state_at(l1_slot));
    } else if (r.write && state == LineState::exclusive) {
      ++l1_of(r).moves.silent_upgrades;
    }
    ++tile.counters.hits;
    ++tile.counters.hits_in[static_cast<unsigned>(state)];
  }
  /// The access is performed: its L1, which has the line in `l1_slot` with less right or not at all, gets it
  /// from the L2's `slot`. `exclusive`: a load may get the right to write; `is_read`: the L2's array is read,
  /// for the line has not just come.
  void fill_l1(const PrivateAccess& r, std::uint32_t l1_slot, std::uint32_t slot, bool exclusive,
               bool is_read, Path& path);

 private:
  L1Cache& l1_of(const PrivateAccess& r) { return parts_.l1s[Hierarchy::l1_of(r.core, r.kind)]; }
  /// A use of the L1's copy that is neither counted as a hit nor recorded.
  void use_l1(std::uint32_t l1, std::uint32_t l1_slot, LineAddr line, AccessKind kind) {
    L1Cache& cache = parts_.l1s[l1];
    if (is_write(kind) && cache.state_at(l1_slot) == LineState::exclusive)
      parts_.warming.count(cache.moves.silent_upgrades);
    cache.warm_hit(l1_slot, is_write(kind));
    if (parts_.versions.is_on())
      parts_.check_use(l1, l1_slot, line, is_write(kind), kind == AccessKind::untracked_line_store);
  }

  Hierarchy& parts_;
  const ConflictGate& gate_;
};

}  // namespace rubato::chip
