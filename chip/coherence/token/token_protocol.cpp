// What tiles do as agents of a protocol with homes (K34).
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/token_protocol.hpp"

namespace rubato::chip {

void TokenProtocol::request(const Request& r, AgentRecord& record, const Path& path) {
  const auto self = static_cast<std::uint16_t>(r.tile.value);
  const AgentOutcome out = agent_rules_.request(record.line, self, r.write, replaces_line(r));
  require(out.violation, r.line);
  send({.message = out.sends[0],
        .line = r.line,
        .at = path.at(),
        .parts = path.parts(),
        .is_rollback = r.kind == AccessKind::rollback},
       r.tile, home_of(r.line));
}

void TokenProtocol::release(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  const AgentOutcome out = agent_rules_.unblock(record.line, static_cast<std::uint16_t>(t.value));
  send({.message = out.sends[0], .line = line, .at = at, .transaction = record.transaction}, t,
       home_of(line));
}

void TokenProtocol::evict(TileId t, LineAddr line, AgentRecord& record, Cycle at) {
  const AgentOutcome out = agent_rules_.evict(record.line, static_cast<std::uint16_t>(t.value));
  require(out.violation, line);
  if (out.count != 0) send({.message = out.sends[0], .line = line, .at = at}, t, home_of(line));
}

void TokenProtocol::receive_at_agent(Flight flight) {
  const TileId t{flight.message.agent};
  TokenAgent& agent = agents_[t.value];
  using Kind = TokenMessage::Kind;
  const Kind kind = flight.message.kind;
  AgentRecord none;
  AgentRecord* const found = agent.find(flight.line);
  AgentRecord& record = found != nullptr ? *found : none;
  if (kind == Kind::tokens) {
    if (flight.message.from != TokenMessage::kHome) record.givers |= groups_.bit(TileId{flight.message.from});
  } else {
    const bool one = kind == Kind::forward_shared || (kind == Kind::probe_shared && record.line.held.owner);
    const bool all = record.line.held.count != 0 && (kind == Kind::forward_exclusive ||
                                                     kind == Kind::probe_exclusive || kind == Kind::recall);
    collect_for(flight, record, one, all);
  }
  const AgentOutcome out =
      agent_rules_.receive(record.line, static_cast<std::uint16_t>(t.value), flight.message);
  require(out.violation, flight.line);
  note_loss(t, flight.line, out.loss, kind == Kind::recall);
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

}  // namespace rubato::chip
