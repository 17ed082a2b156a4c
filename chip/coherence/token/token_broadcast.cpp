// Tiles as agents under tokenb.
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/token_broadcast.hpp"

#include <algorithm>
#include <span>

namespace rubato::chip {

namespace {
constexpr auto kToNode = &AccessParts::network;
using Gift = BroadcastRules::Gift;
using Heard = TokenMessage::Kind;
}  // namespace

void TokenBroadcast::request(const Request& r, AgentRecord& record, const Path& path) {
  if (is_warming() && !is_at_rest(r.line)) return;  // guest memory is right anyway
  // An lr asks for what its sc will need, and keeps it for a while: no home sees to it that one sc gets
  // through.
  const bool all = r.write || r.kind == AccessKind::reserve;
  const auto self = static_cast<std::uint16_t>(r.tile.value);
  const AgentOutcome out = rules_.request(record.line, self, all, r.replaces_line());
  require(out.violation, r.line);
  ++record.round;
  record.tries = 0;
  record.asked = path.at();
  record.givers = parts_.groups.all();  // each tile is asked for its uncommitted accessors (K62)
  Flight flight{.message = out.sends[0],
                .line = r.line,
                .at = path.at(),
                .parts = path.parts(),
                .is_rollback = r.kind == AccessKind::rollback};
  ask_all(r.tile, flight);
  if (!is_warming()) wait_for_answers(r.tile, record, r.line, path.at());
}

/// Tiles that have nothing of the line only look it up (K26): should one get a token before the message is
/// there, that means a retry.
void TokenBroadcast::ask_all(TileId tile, Flight& flight) {
  const TileId home = home_of(flight.line), controller = controller_tile_of(flight.line);
  transport_.begin(flight, tile);
  const TileSet others(parts_.groups, parts_.groups.all(), tile);
  const std::span<const Cycle> arrivals = transport_.book_multicast(flight, tile, others);
  const auto at = [&](TileId t) { return t == tile ? flight.at : arrivals[t.value]; };
  const auto deliver_to = [&](TokenMessage::To place, TileId t) {
    const std::uint32_t index = transport_.flights.add(flight);
    Flight& copy = transport_.flights[index];
    copy.message.to = place;
    copy.message.agent = static_cast<std::uint16_t>(t.value);
    transport_.spend(copy, kToNode, at(t));
    transport_.arrive(index);
  };
  for (std::uint32_t t = 0; t < tiles(); ++t) {
    if (t == tile.value) continue;
    if (delivers_all_ || agents_[t].find(flight.line) != nullptr) {
      deliver_to(TokenMessage::To::agent, TileId{t});
    } else {
      count(agents_[t].caches.accesses.lookups);
      parts_.book_l2(TileId{t}, arrivals[t]);
    }
  }
  deliver_to(TokenMessage::To::home, home);
  deliver_to(TokenMessage::To::memory, controller);
}

/// Twice the mean miss first, for most misses take longer than a short one; then one mean miss, for the line
/// is contended. A random quarter more each time (K43).
void TokenBroadcast::wait_for_answers(TileId tile, const AgentRecord& record, LineAddr line, Cycle at) {
  const Latency mean = nodes_[tile.value].mean_miss;
  const Latency base = record.tries == 0 ? 2 * mean : mean;
  const Latency patience = base + rng_.below(base / 4 + 1);
  start_timer(kRetry, tile, line, record.round, at + patience);
}

void TokenBroadcast::on_retry(TileId t, LineAddr line, AgentRecord& record, Cycle now) {
  if (record.line.want == AgentLine::Want::none) return;
  const auto self = static_cast<std::uint16_t>(t.value);
  Flight flight{.line = line, .at = now};
  if (record.tries < retries_) {
    ++record.tries;
    ++nodes_[t.value].counters.retries;
    flight.message = rules_.request_of(record.line, self);
    ask_all(t, flight);
    return wait_for_answers(t, record, line, now);
  }
  using Own = PersistentEntry::Own;
  if (record.persistent.own == Own::none) {
    ++nodes_[t.value].counters.persistent;
    const AgentOutcome out = rules_.persist(record.line, record.persistent, self);
    pass_on(out, flight, t, ServedBy::other_tile);
  } else if (record.persistent.own == Own::done ||
             (record.persistent.own_reads && record.line.want == AgentLine::Want::exclusive)) {
    // The last one is not over yet, or is a read's, whose turn does not serve this write.
    wait_for_answers(t, record, line, now);
  }
}

void TokenBroadcast::release(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  TokenAgent& agent = agents_[t.value];
  const auto self = static_cast<std::uint16_t>(t.value);
  bool from_array = false;
  AgentLine free = record.line;
  free.is_unblock_due = false;
  if (const Gift gift = rules_.gift_of_turn(free, record.persistent, self); gift != Gift::nothing)
    if (const std::uint32_t slot = agent.caches.array().find(line); slot != TileCaches::kNoSlot) {
      collect(agent, record, slot, gift == Gift::all);
      from_array = true;
    }
  const AgentOutcome out = rules_.release(record.line, record.persistent, self);
  require(out.violation, line);
  count_sent(t, out, from_array);
  note_loss(t, line, out.loss);
  Flight cause{.line = line, .at = at, .transaction = record.transaction};
  pass_on(out, cause, t, ServedBy::other_tile);
  agent.drop_if_idle(line);
}

void TokenBroadcast::evict(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  const AgentOutcome out = rules_.evict(record.line, record.persistent, static_cast<std::uint16_t>(t.value));
  require(out.violation, line);
  Flight cause{.line = line, .at = at};
  pass_on(out, cause, t, ServedBy::other_tile);
  agents_[t.value].drop_if_idle(line);
}

void TokenBroadcast::receive_at_agent(Flight& flight) {
  const TileId t{flight.message.agent};
  const auto self = static_cast<std::uint16_t>(t.value);
  TokenAgent& agent = agents_[t.value];
  const LineAddr line = flight.line;
  const Heard kind = flight.message.kind;
  const bool is_get = kind == Heard::get_shared || kind == Heard::get_exclusive;
  AgentRecord* const found = agent.find(line);
  if (is_get && found == nullptr) {  // it has nothing, or has it no longer
    count(agent.caches.accesses.lookups);
    if (delivers_all_) parts_.book_l2(t, flight.at);
    return;
  }
  AgentRecord& record = found != nullptr ? *found : agent.lines.get(line);
  bool from_array = false;
  if (is_get || kind == Heard::activate) {
    const Gift gift = rules_.gift(record.line, record.persistent, self, flight.message);
    from_array = collect_for(flight, record, gift == Gift::one || gift == Gift::most, gift == Gift::all);
  }
  const AgentOutcome out = rules_.receive(record.line, record.persistent, self, flight.message);
  require(out.violation, line);
  count_sent(t, out, from_array);
  note_loss(t, line, out.loss);
  if (out.is_fulfilled) {
    Latency& mean = nodes_[t.value].mean_miss;
    // Waiting for others' turns is no miss's latency, and would make patience feed itself: it counts as the
    // longest that patience begins with. A core that runs ahead asks in the future, and what came for an
    // earlier request may serve it before.
    if (!is_warming() && flight.at > record.asked)
      mean = mean - mean / 8 + std::min(flight.at - record.asked, longest_miss_) / 8;
    fulfil(t, record, flight);
  } else if (kind == Heard::tokens && record.line.want == AgentLine::Want::none) {
    add_to_caches(t, line, record);
  }
  pass_on(out, flight, t, ServedBy::other_tile);
  agent.drop_if_idle(line);
}

void TokenBroadcast::pass_on(const AgentOutcome& out, Flight& cause, TileId from, ServedBy served) {
  cause.served = served;  // only tokens tell
  for (std::uint32_t i = 0; i < out.count; ++i) {
    const TokenMessage& m = out.sends[i];
    if (m.kind == Heard::tokens) count_in_flight(cause.line, m.tokens, true);
    const TileId to = m.to == TokenMessage::To::agent    ? TileId{m.agent}
                      : m.to == TokenMessage::To::memory ? controller_tile_of(cause.line)
                                                         : home_of(cause.line);
    transport_.send(cause, m, from, to);
  }
}

}  // namespace rubato::chip
