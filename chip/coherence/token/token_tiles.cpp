// Accesses, and what tiles do whatever the protocol is (K34).
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/token_tiles.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace rubato::chip {

namespace {
constexpr auto kL1Part = &AccessParts::l1, kL2Part = &AccessParts::l2, kLlcPart = &AccessParts::llc,
               kNetworkPart = &AccessParts::network;
constexpr std::uint32_t kNoL2Slot = TileCaches::kNoSlot;
using Want = AgentLine::Want;
}  // namespace

AccessResult TokenTiles::access(CoreId core, LineAddr line, AccessKind kind, Cycle now) {
  return serve(core, line, kind, now);
}

AccessResult TokenTiles::serve(CoreId core, LineAddr own, AccessKind kind, Cycle now) {
  return private_path_.access(core, own, kind, now, [&](std::uint32_t l1_slot, bool is_in_l1) {
    if (has_prefetchers()) [[unlikely]]
      return leave_l1_prefetching(core, own, kind, l1_slot, is_in_l1, now);
    return leave_l1(private_path_.describe(core, own, kind), l1_slot, is_in_l1, now);
  });
}

/// A hit of the L2.
void TokenTiles::count_served(const Request& r, std::uint32_t slot, std::uint32_t l1_slot, ServedBy by,
                              const Path& path) {
  private_path_.count_hit(r, slot, l1_slot);
  if (r.kind != AccessKind::prefetch) parts_.served.count(r.tile, by, path.at() - path.start());
}

/// By the L2 that has the line in `slot`, for what it has got if that is `due`. Inlined: it is half of
/// leave_l1().
[[gnu::always_inline]] inline ServedBy TokenTiles::serve_in_tile(const Request& r, std::uint32_t l1_slot,
                                                                 bool is_in_l1, std::uint32_t slot,
                                                                 const AgentRecord* due, bool exclusive,
                                                                 Path& path) {
  TileCaches& tile = agents_[r.tile.value].caches;
  const bool is_brought = due != nullptr;
  ServedBy served = is_brought ? due->served : ServedBy::l2;
  tile.array().use(slot);
  if (is_brought && profile_) profile_->on_miss(r.tile, r.line, r.write, !is_warming());
  if (is_brought && r.unchecked) ConflictGate::uncover(tile.array()[slot]);
  if (is_in_l1) {
    if (!is_brought) count_served(r, slot, l1_slot, served, path);
    private_path_.use_again(r, l1_slot);
    return served;
  }
  if (private_path_.ask_l1s(r, slot, path) && !is_brought) {
    count(tile.counters.other_l1);
    served = ServedBy::other_l1;
  }
  if (!is_brought) count_served(r, slot, L1Cache::kNoSlot, served, path);
  L1Cache& l1 = tile.l1s()[r.l1];
  const L1Cache::Victim down = tile.is_exclusive() ? l1.victim(l1.inner(r.line)) : L1Cache::Victim{};
  // A line that has just come is written to L1 and L2, so the L2's array is not read.
  private_path_.fill_l1(r, l1_slot, slot, exclusive, !is_brought || due->was_here, path);
  if (down.state != LineState::invalid) trim(r.tile, l1.outer(down.line), path.at());
  return served;
}

void TokenTiles::fill_prefetched(const Request& r, std::uint32_t slot, const AgentRecord* due, Path& path) {
  serve_in_tile(r, L1Cache::kNoSlot, false, slot, due, true, path);
}

AccessResult TokenTiles::leave_l1(const Request& r, std::uint32_t l1_slot, bool is_in_l1, Cycle now) {
  TokenAgent& agent = agents_[r.tile.value];
  TileCaches& tile = agent.caches;
  Path path(now);
  std::uint32_t slot = tile.array().find(r.line);
  AgentRecord* record = nullptr;
  if (agent.due != 0 || slot == kNoL2Slot) record = agent.find(r.line);

  // 1. A line that a request brought is used first; its cycles have passed already.
  AgentRecord* due = nullptr;
  if (record != nullptr && record->line.is_unblock_due && !record->is_reserved) {
    due = record;
  } else {
    path.spend(kL1Part, parts_.l1_latency(r.kind));
    path.until(kL2Part, parts_.look_up_l2(r.tile, path.at()));
  }
  if (slot == kNoL2Slot && record != nullptr && record->line.is_readable() &&
      record->line.want == Want::none) {
    record->line.is_in_buffer = false;
    slot = fill_l2(r.tile, r.line, *record, path.at());
  }

  // 2. The tile has the right: it serves.
  if (slot != kNoL2Slot && (!r.write || is_writable(tile.array()[slot].state))) {
    CheckResult verdict;
    const bool passes = !r.checked || check(r, tile.array()[slot], due, path, verdict);
    ServedBy served = ServedBy::l2;
    if (passes) served = serve_in_tile(r, l1_slot, is_in_l1, slot, due, verdict.exclusive, path);
    if (due == nullptr && passes) seen_ = Seen::miss;
    if (due != nullptr) {
      end_use(r, *due, passes, path.at());
    } else if (r.write && record != nullptr && record->is_reserved) {
      end_hold(r.tile, r.line, *record, path.at());  // the sc's, as like as not
    }
    return passes ? path.done(served) : path.blocked(BlockReason::conflict_pending);
  }

  // 3. A request, if none is under way.
  if (due != nullptr) end_hold(r.tile, r.line, *due, path.at());
  return ask(r, path, now);
}

AccessResult TokenTiles::ask(const Request& r, Path& path, Cycle now) {
  TokenAgent& agent = agents_[r.tile.value];
  AgentRecord& record = agent.lines.get(r.line);
  const bool is_open = record.line.want != Want::none;
  if (!is_open && mshrs_ != 0 && agent.open >= mshrs_ && !is_warming()) {
    const auto same = [&](const RefusedAccess& a) { return a.core == r.core && a.line == r.line; };
    if (std::none_of(agent.refused.begin(), agent.refused.end(), same)) {
      ++agent.refusals;
      agent.refused.push_back({r.core, r.line, now});
    }
    agent.drop_if_idle(r.line);
    return path.blocked(BlockReason::protocol);
  }
  if (!is_warming()) record.waiters |= 1U << r.core.value % parts_.cores_per_tile;
  if (is_open) {
    if (record.prefetcher != 0) [[unlikely]]
      join_prefetch(r, record, now);
    return path.blocked(BlockReason::protocol);
  }
  make_request(r, agent, record, path);
  return path.blocked(BlockReason::protocol);
}

void TokenTiles::make_request(const Request& r, TokenAgent& agent, AgentRecord& record, Path& path) {
  seen_ = Seen::miss;
  if (record.line.is_readable()) {
    count(agent.caches.counters.upgrades);
  } else {
    count(agent.caches.counters.misses);
    parts_.uses.count(r.line, &ProgramUse::l2_misses);
  }
  record.givers = 0;
  record.made = is_warming() ? kNever : path.start();
  request(r, record, path);
  if (record.line.want != Want::none) ++agent.open;
}

/// The line that a request brought has been used.
void TokenTiles::end_use(const Request& r, AgentRecord& record, bool passes, Cycle at) {
  if (is_warming() || !passes || r.kind != AccessKind::reserve || reserved_hold_ == 0 ||
      !record.line.is_writable(all_))
    return end_hold(r.tile, r.line, record, at);
  record.is_reserved = true;
  ++record.round;
  start_timer(kHoldEnds, r.tile, r.line, record.round, at + reserved_hold_);
}

void TokenTiles::end_hold(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  TokenAgent& agent = agents_[t.value];
  record.is_reserved = false;
  --agent.due, --agent.open;
  release(t, line, record, at);
  // In an event of its own: this is in the middle of an access.
  if (!agent.refused.empty()) timeline_->schedule(later(at, timeline_->now()), this, kEntryFree, t.value);
}

/// An entry is free. Refused accesses ask again, the first refused one first; those that find none again keep
/// their order.
void TokenTiles::ask_again(TileId t, Cycle now) {
  resumed_.swap(agents_[t.value].refused);
  for (const RefusedAccess& a : resumed_) {
    waited_[a.core.value] = {};
    if (now > a.since) waited_[a.core.value].l2 = static_cast<std::uint32_t>(now - a.since);
    client_->on_access_ready(a.core, l1d(a.core).inner(a.line), now);
  }
  resumed_.clear();
}

/// The verdict of an access that the tile has the right for (K60). False: blocked.
bool TokenTiles::check(const Request& r, L2Line& line, const AgentRecord* due, Path& path,
                       CheckResult& result) {
  // A request that brought the line has passed the home and the tiles that gave tokens: only others are
  // asked.
  if (due != nullptr) return gate_.check_line(r, line, due->givers, path, result);
  const auto word = [&](TileId from, TileId to) {
    if (from != to) path.until(kNetworkPart, transport_.send_word(from, to, path.at()));
  };
  const auto ask = [&](TileId home) {
    word(r.tile, home);
    path.until(kLlcPart, look_up_llc(home, r.line, path.at()));
  };
  return gate_.check_hit(r, line, path, result, ask, [&](TileId home) { word(home, r.tile); });
}

/// Evicts from a set of an exclusive L2 after a line has moved down into it, or came and no core used it.
void TokenTiles::trim(TileId t, LineAddr line, Cycle at) {
  TileCaches& tile = agents_[t.value].caches;
  if (!tile.is_exclusive()) return;
  for (std::uint32_t slot = tile.overflow(line); slot != kNoL2Slot; slot = tile.overflow(line))
    evict_from_tile(t, slot, at);
}

LineState TokenTiles::state_of(const AgentLine& line) const {
  if (!line.is_writable(all_)) return LineState::shared;
  return line.held.dirty ? LineState::modified : LineState::exclusive;
}

std::uint32_t TokenTiles::fill_l2(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  TileCaches& tile = agents_[t.value].caches;
  const std::uint32_t slot = tile.victim(line);
  if (!tile.array().is_empty(slot)) evict_from_tile(t, slot, at);
  L2Line& l2 = tile.array().fill(slot, line);
  if (!tile.is_exclusive()) count(tile.accesses.writes);  // else it is the L1's, until that evicts it
  l2.state = state_of(record.line);
  if (gate_.is_active()) ConflictGate::uncover(l2);
  parts_.versions.put(tile.place(slot), record.line.version);
  return slot;
}

void TokenTiles::collect(TokenAgent& agent, AgentRecord& record, std::uint32_t slot, bool all) {
  if (all) {
    agent.caches.invalidate_l1s(slot);
  } else {
    agent.caches.downgrade_owner(slot);
  }
  record.line.held.dirty |= agent.caches.array()[slot].state == LineState::modified;
  record.line.version = parts_.versions.number(agent.caches.place(slot));
}

void TokenTiles::evict_from_tile(TileId t, std::uint32_t slot, Cycle at) {
  TokenAgent& agent = agents_[t.value];
  const LineAddr line = agent.caches.array().line_at(slot);
  AgentRecord& record = *agent.find(line);
  collect(agent, record, slot, true);
  agent.caches.erase(slot);
  gate_.lose(t, line, false);
  if (profile_) profile_->on_loss(t, line, true);
  count(agent.caches.counters.evictions);
  count(agent.caches.accesses.reads);          // into the buffer, or into the request's entry
  if (record.line.want != Want::none) return;  // its request keeps what it has
  if (record.line.held.dirty) count(agent.caches.counters.write_backs);
  evict(t, line, record, at);
}

bool TokenTiles::collect_for(Flight& flight, AgentRecord& record, bool one, bool all) {
  const TileId t{flight.message.agent};
  TokenAgent& agent = agents_[t.value];
  transport_.spend(flight, kL2Part, parts_.look_up_l2(t, flight.at));
  if (!one && !all) return false;
  const std::uint32_t slot = agent.caches.array().find(flight.line);
  if (slot == kNoL2Slot) return false;
  const bool asks_l1 = agent.caches.array()[slot].copies != 0;
  collect(agent, record, slot, all);
  if (asks_l1) transport_.spend(flight, kL1Part, flight.at + parts_.l1d_latency);
  return true;
}

void TokenTiles::note_loss(TileId t, LineAddr line, AgentOutcome::Loss loss, bool goes_home) {
  if (loss == AgentOutcome::Loss::none) return;
  TileCaches& tile = agents_[t.value].caches;
  const bool kept = loss == AgentOutcome::Loss::right;
  if (profile_ && !kept) profile_->on_loss(t, line, goes_home);
  gate_.lose(t, line, kept);
  count(kept ? tile.counters.forwards : tile.counters.invalidations);
  const std::uint32_t slot = tile.array().find(line);
  if (slot == kNoL2Slot) return;
  if (kept) {
    tile.array()[slot].state = LineState::shared;
  } else {
    tile.array().erase(slot);
  }
}

/// Tokens and data are there: the accesses that wait use them before the home hears of it.
void TokenTiles::fulfil(TileId t, AgentRecord& record, const Flight& flight) {
  TokenAgent& agent = agents_[t.value];
  record.parts = flight.parts;
  record.transaction = flight.transaction;
  record.served = flight.served;
  ++record.round;
  ++agent.due;
  const std::uint32_t slot = agent.caches.array().find(flight.line);
  record.was_here = slot != kNoL2Slot;
  if (slot == kNoL2Slot) {
    fill_l2(t, flight.line, record, flight.at);
  } else {
    L2Line& l2 = agent.caches.array()[slot];
    l2.state = state_of(record.line);
    // A reader's canary knows nothing of others' reads: until a check of the new right passes, none covers
    // it.
    if (gate_.is_active()) ConflictGate::uncover(l2);
  }
  const bool is_prefetch = record.prefetcher != 0;
  if (!is_prefetch && record.made != kNever)  // tokens of an earlier request may come to it before it is made
    parts_.served.count(home_of(flight.line), flight.served, later(flight.at, record.made) - record.made);
  if (is_prefetch && end_prefetch(t, flight.line, record, flight.at)) return;
  // Warming, too, may fulfil a request that cores wait for, or a prefetch.
  if (is_warming() && record.waiters == 0 && !is_prefetch) return;
  const Cycle at = is_warming() ? timeline_->now() : flight.at;
  start_timer(kHoldEnds, t, flight.line, record.round, at + kHold);
  for (std::uint32_t rest = std::exchange(record.waiters, 0), c = 0; rest != 0; rest >>= 1, ++c) {
    if ((rest & 1) == 0) continue;
    const CoreId core{t.value * parts_.cores_per_tile + c};
    waited_[core.value] = flight.parts;
    client_->on_access_ready(core, l1d(core).inner(flight.line), at);
  }
}

}  // namespace rubato::chip
