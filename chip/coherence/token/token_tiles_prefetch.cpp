// Hardware prefetches of the token protocols: requests to read that no core waits for. What they bring goes
// to the L1 of the core, and is free for other tiles at once.
// SPDX-License-Identifier: MIT
#include <utility>

#include "chip/coherence/token/token_tiles.hpp"

namespace rubato::chip {

namespace {
constexpr auto kInL1 = &AccessParts::l1, kInL2 = &AccessParts::l2;
}  // namespace

AccessResult TokenTiles::leave_l1_prefetching(CoreId core, LineAddr own, AccessKind kind,
                                              std::uint32_t l1_slot, bool is_in_l1, Cycle now) {
  return leave_with_prefetcher(core, own, kind, l1_slot, is_in_l1, now, [&](std::uint32_t slot, bool is_in) {
    return leave_l1(private_path_.describe(core, own, kind), slot, is_in, now);
  });
}

void TokenTiles::prefetch_line(CoreId core, LineAddr own, LineAddr used, Cycle now) {
  const Request r = private_path_.describe(core, own, AccessKind::prefetch);
  TokenAgent& agent = agents_[r.tile.value];
  TileCaches& tile = agent.caches;
  Prefetcher& prefetcher = prefetchers_[core.value];
  const std::uint32_t slot = tile.array().find(r.line);
  const AgentRecord* const record = agent.find(r.line);
  // Another access has asked for the line, or has it, or the tile evicts it.
  if (record != nullptr && (record->line.want != AgentLine::Want::none || record->line.is_unblock_due))
    return;
  if (slot == TileCaches::kNoSlot && record != nullptr && !record->line.is_idle()) return;
  Path path(now);
  if (slot != TileCaches::kNoSlot) {
    if (tile.array()[slot].owner != 0) return;
    const L1Cache::Victim victim = l1d(core).victim(own);
    if (victim.state != LineState::invalid && victim.line == used) {
      ++prefetcher.counters.dropped;
      return;
    }
    path.spend(kInL1, parts_.l1d_latency);
    path.until(kInL2, parts_.look_up_l2(r.tile, path.at()));
    fill_prefetched(r, slot, nullptr, path);
    return prefetcher.add(own, path.at());
  }
  if (mshrs_ != 0 && agent.open >= mshrs_) {
    ++prefetcher.counters.dropped;
    return;
  }
  path.spend(kInL1, parts_.l1d_latency);
  path.until(kInL2, parts_.look_up_l2(r.tile, path.at()));
  AgentRecord& asked = agent.lines.get(r.line);
  make_request(r, agent, asked, path);
  asked.prefetcher = 1 + core.value % parts_.cores_per_tile;
  prefetcher.add(own, kNever);
}

/// An access needs the line that a prefetch has asked for, and waits for it.
void TokenTiles::join_prefetch(const Request& r, AgentRecord& record, Cycle now) {
  if (is_warming()) return;
  record.made = now;
  const CoreId core{r.tile.value * parts_.cores_per_tile + std::exchange(record.prefetcher, 0) - 1};
  Prefetcher& prefetcher = prefetchers_[core.value];
  prefetcher.take(l1d(core).inner(r.line));
  ++prefetcher.counters.useful;
  ++prefetcher.counters.late;
  seen_ = Seen::first_use;
}

/// The line of a prefetch is there, and no core has asked for it meanwhile. @returns true if it is free
/// again. Warming takes no L1 of a core in detail, and a core that has turned to another program takes no
/// line of the former one: both leave that to the timer.
bool TokenTiles::end_prefetch(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  const CoreId core{t.value * parts_.cores_per_tile + std::exchange(record.prefetcher, 0) - 1};
  const LineAddr own = l1d(core).inner(line);
  if (prefetchers_[core.value].take(own) != kNever || is_warming()) return false;
  Path path(at);
  const Request r = private_path_.describe(core, own, AccessKind::prefetch);
  fill_prefetched(r, agents_[t.value].caches.array().find(line), &record, path);
  end_hold(t, line, record, path.at());
  return true;
}

}  // namespace rubato::chip
