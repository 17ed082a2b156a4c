// Accesses, and what tiles do as agents (K34).
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/token_protocol.hpp"

#include "base/check.hpp"

namespace rubato::chip {

namespace {
constexpr auto kL1Part = &AccessParts::l1, kL2Part = &AccessParts::l2, kLlcPart = &AccessParts::llc,
               kNetworkPart = &AccessParts::network;
constexpr std::uint32_t kNoL2Slot = TileCaches::kNoSlot;
using Want = AgentLine::Want;
}  // namespace

AccessResult TokenProtocol::access(CoreId core, LineAddr line, AccessKind kind, Cycle now) {
  return serve(core, line, kind, now);
}

AccessResult TokenProtocol::serve(CoreId core, LineAddr line, AccessKind kind, Cycle now) {
  const bool active = !warming_ && conflicts_->is_active();
  const Request r{.core = core,
                  .line = line,
                  .kind = kind,
                  .write = is_write(kind),
                  .checked = active && is_tracked(kind),
                  .unchecked = active && !is_tracked(kind),
                  .tile = TileId{core.value / cores_per_tile_},
                  .l1 = core.value % cores_per_tile_ * 2 + (kind == AccessKind::fetch ? 0 : 1)};
  const std::uint32_t index = core.value * 2 + r.l1 % 2;
  L1Cache& l1 = l1s_[index];
  const std::uint32_t l1_slot = l1.find(line);
  const bool is_in_l1 = l1_slot != L1Cache::kNoSlot && (!r.write || is_writable(l1.state_at(l1_slot)));
  if (!is_in_l1 || (r.checked && !l1.covers_at(l1_slot, r.write))) return leave_l1(r, l1_slot, is_in_l1, now);
  if (warming_ || (active && !r.checked) || !l1.hit_at(l1_slot, line, r.write)) use_l1(r, l1_slot);
  Path path(now);
  path.spend(kL1Part, kind == AccessKind::fetch ? l1i_latency_ : l1d_latency_);
  return path.done(ServedBy::l1);
}

AccessResult TokenProtocol::leave_l1(const Request& r, std::uint32_t l1_slot, bool is_in_l1, Cycle now) {
  TokenAgent& agent = agents_[r.tile.value];
  TileCaches& tile = agent.caches;
  Path path(now);
  std::uint32_t slot = tile.array().find(r.line);
  AgentRecord* record = nullptr;
  if (agent.due != 0 || slot == kNoL2Slot) record = agent.find(r.line);

  // 1. What a request brought is used first, and its cycles have passed already.
  AgentRecord* due = nullptr;
  if (record != nullptr && record->line.is_unblock_due) {
    due = record;
  } else {
    path.spend(kL1Part, r.kind == AccessKind::fetch ? l1i_latency_ : l1d_latency_);
    path.until(kL2Part, book(l2_ports_, r.tile, path.at()) + l2_latency_);
  }
  if (slot == kNoL2Slot && record != nullptr && record->line.is_readable() &&
      record->line.want == Want::none) {
    agent_rules_.take_back(record->line);
    slot = fill_l2(r.tile, r.line, *record, path.at());
  }

  // 2. The tile has the right: it serves.
  if (slot != kNoL2Slot && (!r.write || is_writable(tile.array()[slot].state))) {
    CheckResult verdict;
    const bool passes = !r.checked || check(r, slot, due, path, verdict);
    ServedBy served = due != nullptr ? due->served : ServedBy::l2;
    if (passes) {
      L2Line& line = tile.array()[slot];
      tile.array().use(slot);
      if (due == nullptr) count(tile.counters.hits);
      if (due != nullptr && r.unchecked) line.canary = kMaxVirtualTime;
      if (is_in_l1) {
        use_l1(r, l1_slot);
        tile.l1s()[r.l1].count_miss();
      } else {
        const bool owned = line.owner != 0;
        if (r.write ? tile.invalidate_l1s(slot, r.l1) : tile.downgrade_owner(slot))
          path.spend(kL1Part, l1d_latency_);
        if (owned && due == nullptr) {
          count(tile.counters.other_l1);
          served = ServedBy::other_l1;
        }
        fill_l1(r, l1_slot, slot, verdict.exclusive, path);
        if (r.write && !left_reservations_.empty()) left_reservations_.on_store(r.line, tile.l1s()[r.l1]);
        if (!warming_) tile.l1s()[r.l1].count_miss();
      }
    }
    if (due != nullptr) unblock(r.tile, r.line, *due, path.at());
    return passes ? path.done(served) : path.blocked(BlockReason::conflict_pending);
  }

  // 3. A request, if none is under way.
  if (due != nullptr) unblock(r.tile, r.line, *due, path.at());
  record = &agent.lines[r.line.value];
  return ask_home(r, *record, path);
}

AccessResult TokenProtocol::ask_home(const Request& r, AgentRecord& record, Path& path) {
  TokenAgent& agent = agents_[r.tile.value];
  record.waiters |= 1U << r.core.value % cores_per_tile_;
  if (record.line.want != Want::none) return path.blocked(BlockReason::protocol);
  count(record.line.is_readable() ? agent.caches.counters.upgrades : agent.caches.counters.misses);
  record.givers = 0;
  const auto self = static_cast<std::uint16_t>(r.tile.value);
  const AgentOutcome out = agent_rules_.request(record.line, self, r.write, replaces_line(r));
  require(out.violation, r.line);
  send({.message = out.sends[0],
        .line = r.line,
        .at = path.at(),
        .parts = path.parts(),
        .is_rollback = r.kind == AccessKind::rollback},
       r.tile, home_of(r.line));
  return path.blocked(BlockReason::protocol);
}

/// The verdict of an access that the tile has the right for (K60). False: blocked.
bool TokenProtocol::check(const Request& r, std::uint32_t slot, const AgentRecord* due, Path& path,
                          CheckResult& result) {
  L2Line& line = agents_[r.tile.value].caches.array()[slot];
  if (due == nullptr) {
    conflicts_->check_tile(r.core, r.line, r.kind, line.canary, path.at(), result);
    path.note(result);
    if (!result.needs_global) return !result.blocked;
  }
  // What a request brought came by way of the home and the tiles that gave tokens: only others are asked.
  const TileId home = home_of(r.line);
  const bool travels = due == nullptr && !result.is_free && home != r.tile;
  const auto word = [&](TileId from, TileId to) {
    const TrafficClass traffic = TrafficClass::coherence;
    if (travels) path.until(kNetworkPart, network_->send(from, to, {message::kRequest, traffic}, path.at()));
  };
  word(r.tile, home);
  if (due == nullptr && !result.is_free)
    path.until(kLlcPart, book(llc_ports_, home, path.at()) + llc_latency_);
  const std::uint64_t holders = due != nullptr ? due->givers : 0;
  conflicts_->check_global(r.core, r.line, r.kind, holders, is_writable(line.state), home, path.at(), result);
  path.note(result);
  if (result.blocked) return false;
  word(home, r.tile);
  line.canary = result.canary;
  return true;
}

/// A use of the L1's copy that is neither counted as a hit nor recorded.
void TokenProtocol::use_l1(const Request& r, std::uint32_t l1_slot) {
  const std::uint32_t l1 = r.core.value * 2 + r.l1 % 2;
  l1s_[l1].warm_hit(l1_slot, r.write);
  if (checks_) check_use(l1, l1_slot, r.line, r.write, replaces_line(r));
}

void TokenProtocol::fill_l1(const Request& r, std::uint32_t l1_slot, std::uint32_t slot, bool exclusive,
                            Path& path) {
  TileCaches& tile = agents_[r.tile.value].caches;
  L2Line& line = tile.array()[slot];
  LineState state = LineState::shared;
  if (r.write) {
    line.state = state = LineState::modified;
  } else if (r.kind != AccessKind::fetch && is_writable(line.state) && line.copies == 0 && exclusive &&
             (left_reservations_.empty() || !left_reservations_.has(r.line, tile.l1s()[r.l1]))) {
    state = LineState::exclusive;
  }
  if (tile.fill_l1(r.l1, l1_slot, slot, state)) book(l2_ports_, r.tile, path.at());
  if (checks_)
    check_use(r.core.value * 2 + r.l1 % 2, tile.l1s()[r.l1].find(r.line), r.line, r.write, replaces_line(r));
}

LineState TokenProtocol::state_of(const AgentLine& line) const {
  if (!line.is_writable(all_)) return LineState::shared;
  return line.held.dirty ? LineState::modified : LineState::exclusive;
}

std::uint32_t TokenProtocol::fill_l2(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  TileCaches& tile = agents_[t.value].caches;
  const std::uint32_t slot = tile.array().victim(line);
  if (!tile.array().is_empty(slot)) evict_from_tile(t, slot, at);
  L2Line& l2 = tile.array().fill(slot, line);
  l2.state = state_of(record.line);
  if (!warming_ && conflicts_->is_active()) l2.canary = kMaxVirtualTime;
  versions_.put(tile.place(slot), record.line.version);
  return slot;
}

/// Takes what the caches have of the line, or (not `all`) their right to write, into the record.
void TokenProtocol::collect(TokenAgent& agent, AgentRecord& record, std::uint32_t slot, bool all) {
  if (all) {
    agent.caches.invalidate_l1s(slot);
  } else {
    agent.caches.downgrade_owner(slot);
  }
  record.line.held.dirty |= agent.caches.array()[slot].state == LineState::modified;
  record.line.version = versions_.number(agent.caches.place(slot));
}

void TokenProtocol::evict_from_tile(TileId t, std::uint32_t slot, Cycle at) {
  TokenAgent& agent = agents_[t.value];
  const LineAddr line = agent.caches.array().line_at(slot);
  AgentRecord& record = *agent.find(line);
  collect(agent, record, slot, true);
  agent.caches.erase(slot);
  lose(t, line, false);
  count(agent.caches.counters.evictions);
  if (record.line.want != Want::none) return;  // its request keeps what it has
  const AgentOutcome out = agent_rules_.evict(record.line, static_cast<std::uint16_t>(t.value));
  require(out.violation, line);
  if (record.line.held.dirty) count(agent.caches.counters.write_backs);
  if (out.count != 0) send({.message = out.sends[0], .line = line, .at = at}, t, home_of(line));
}

void TokenProtocol::unblock(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  const AgentOutcome out = agent_rules_.unblock(record.line, static_cast<std::uint16_t>(t.value));
  --agents_[t.value].due;
  send({.message = out.sends[0], .line = line, .at = at}, t, home_of(line));
}

void TokenProtocol::receive_at_agent(Flight flight) {
  const TileId t{flight.message.agent};
  TokenAgent& agent = agents_[t.value];
  using Kind = TokenMessage::Kind;
  const Kind kind = flight.message.kind;
  AgentRecord none;
  AgentRecord* const found = agent.find(flight.line);
  AgentRecord& record = found != nullptr ? *found : none;
  const std::uint32_t slot = found != nullptr ? agent.caches.array().find(flight.line) : kNoL2Slot;
  const bool has_tokens = record.line.held.count != 0;

  // What the caches know comes first; it costs an access of the L2, and of the L1s that are asked.
  if (kind != Kind::tokens)
    flight.spend(kL2Part, book(l2_ports_, t, flight.at) + (warming_ ? 0 : l2_latency_));
  const bool gives_one =
      kind == Kind::forward_shared || (kind == Kind::probe_shared && record.line.held.owner);
  const bool gives_all = has_tokens && (kind == Kind::forward_exclusive || kind == Kind::probe_exclusive ||
                                        kind == Kind::recall);
  if (slot != kNoL2Slot && (gives_one || gives_all)) {
    const bool asks_l1 = agent.caches.array()[slot].copies != 0;
    collect(agent, record, slot, gives_all);
    if (asks_l1 && !warming_) flight.spend(kL1Part, flight.at + l1d_latency_);
  }
  const bool brings_right = kind == Kind::tokens;
  if (brings_right && flight.message.from != TokenMessage::kHome)
    record.givers |= std::uint64_t{1} << flight.message.from;

  const AgentOutcome out =
      agent_rules_.receive(record.line, static_cast<std::uint16_t>(t.value), flight.message);
  require(out.violation, flight.line);
  if (out.loss != AgentOutcome::Loss::none) {
    const bool kept = out.loss == AgentOutcome::Loss::right;
    lose(t, flight.line, kept);
    count(kept ? agent.caches.counters.forwards : agent.caches.counters.invalidations);
    if (slot != kNoL2Slot) {
      if (kept) {
        agent.caches.array()[slot].state = LineState::shared;
      } else {
        agent.caches.erase(slot);
      }
    }
  }
  if (out.is_fulfilled) fulfil(t, record, flight);
  for (std::uint32_t i = 0; i < out.count; ++i) {
    Flight next = flight;
    next.message = out.sends[i];
    next.served = ServedBy::other_tile;
    const bool to_agent = next.message.to == TokenMessage::To::agent;
    send(next, t, to_agent ? TileId{next.message.agent} : home_of(flight.line));
  }
  agent.drop_if_idle(flight.line);
}

/// Tokens and data are there: whoever waits uses them before the home hears of it.
void TokenProtocol::fulfil(TileId t, AgentRecord& record, const Flight& flight) {
  TokenAgent& agent = agents_[t.value];
  record.parts = flight.parts;
  record.served = flight.served;
  ++record.round;
  ++agent.due;
  const std::uint32_t slot = agent.caches.array().find(flight.line);
  if (slot == kNoL2Slot) {
    fill_l2(t, flight.line, record, flight.at);
  } else {
    agent.caches.array()[slot].state = state_of(record.line);
  }
  if (warming_) return;
  timeline_->schedule(flight.at + kHold, this, kHoldEnds,
                      flights_.add({.message = {.agent = static_cast<std::uint16_t>(t.value)},
                                    .line = flight.line,
                                    .at = Cycle{record.round}}));
  for (std::uint32_t rest = std::exchange(record.waiters, 0), c = 0; rest != 0; rest >>= 1, ++c) {
    if ((rest & 1) == 0) continue;
    const CoreId core{t.value * cores_per_tile_ + c};
    waited_[core.value] = flight.parts;
    client_->on_access_ready(core, flight.at);
  }
}

}  // namespace rubato::chip
