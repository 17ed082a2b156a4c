// Tiles as agents of a protocol with homes (K34).
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/token_protocol.hpp"

namespace rubato::chip {

void TokenProtocol::request(const Request& r, AgentRecord& record, const Path& path) {
  const auto self = static_cast<std::uint16_t>(r.tile.value);
  const AgentOutcome out = agent_rules_.request(record.line, self, r.write, r.replaces_line());
  require(out.violation, r.line);
  transport_.send(
      {.line = r.line, .at = path.at(), .parts = path.parts(), .is_rollback = r.kind == AccessKind::rollback},
      out.sends[0], r.tile, home_of(r.line));
}

void TokenProtocol::release(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  const AgentOutcome out = agent_rules_.unblock(record.line, static_cast<std::uint16_t>(t.value));
  transport_.send({.line = line, .at = at, .transaction = record.transaction}, out.sends[0], t,
                  home_of(line));
}

void TokenProtocol::evict(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  const AgentOutcome out = agent_rules_.evict(record.line, static_cast<std::uint16_t>(t.value));
  require(out.violation, line);
  if (out.count != 0) transport_.send({.line = line, .at = at}, out.sends[0], t, home_of(line));
}

void TokenProtocol::receive_at_agent(Flight& flight) {
  const TileId t{flight.message.agent};
  TokenAgent& agent = agents_[t.value];
  using Kind = TokenMessage::Kind;
  const Kind kind = flight.message.kind;
  AgentRecord none;
  AgentRecord* const found = agent.find(flight.line);
  AgentRecord& record = found != nullptr ? *found : none;
  bool from_array = false;
  if (kind == Kind::tokens) {
    if (flight.message.from != TokenMessage::kHome)
      record.givers |= parts_.groups.bit(TileId{flight.message.from});
  } else {
    const bool one = kind == Kind::forward_shared || (kind == Kind::probe_shared && record.line.held.owner);
    const bool all = record.line.held.count != 0 && (kind == Kind::forward_exclusive ||
                                                     kind == Kind::probe_exclusive || kind == Kind::recall);
    from_array = collect_for(flight, record, one, all);
  }
  const AgentOutcome out =
      agent_rules_.receive(record.line, static_cast<std::uint16_t>(t.value), flight.message);
  require(out.violation, flight.line);
  count_sent(t, out, from_array);
  note_loss(t, flight.line, out.loss, kind == Kind::recall);
  if (out.is_fulfilled) fulfil(t, record, flight);
  flight.served = ServedBy::other_tile;
  for (std::uint32_t i = 0; i < out.count; ++i) {
    const TokenMessage& m = out.sends[i];
    transport_.send(flight, m, t, m.to == TokenMessage::To::agent ? TileId{m.agent} : home_of(flight.line));
  }
  if (found != nullptr) agent.drop_if_idle(flight.line);
}

}  // namespace rubato::chip
