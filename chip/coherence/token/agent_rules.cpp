// SPDX-License-Identifier: MIT
#include "chip/coherence/token/agent_rules.hpp"

namespace rubato::chip {

namespace {

using Kind = TokenMessage::Kind;
using To = TokenMessage::To;
using Want = AgentLine::Want;

TokenMessage to_home(Kind kind, std::uint16_t self) {
  return {.kind = kind, .to = To::home, .from = self, .requester = self};
}

}  // namespace

AgentOutcome AgentRules::request(AgentLine& line, std::uint16_t self, bool write, bool replaces) const {
  AgentOutcome out;
  if (line.want != Want::none || line.is_unblock_due) out.violation = "a second request of a line";
  line.want = write ? Want::exclusive : Want::shared;
  TokenMessage m = to_home(write ? Kind::get_exclusive : Kind::get_shared, self);
  m.requester_has_data = replaces;
  line.is_replacing = replaces;
  out.send(m);
  return out;
}

AgentOutcome AgentRules::unblock(AgentLine& line, std::uint16_t self) const {
  AgentOutcome out;
  line.is_unblock_due = false;
  out.send(to_home(Kind::unblock, self));
  return out;
}

AgentOutcome AgentRules::evict(AgentLine& line, std::uint16_t self) const {
  AgentOutcome out;
  if (line.want != Want::none || line.held.count == 0) out.violation = "evicts what it does not have";
  line.is_in_buffer = true;
  if (!line.is_put_pending) out.send(to_home(Kind::put_request, self));
  line.is_put_pending = true;
  return out;
}

void AgentRules::tally(std::uint16_t self, std::uint32_t count, bool owner, AgentOutcome& out) const {
  TokenMessage m = to_home(Kind::tally, self);
  m.tokens = {.count = static_cast<std::uint16_t>(count), .owner = owner};
  out.send(m);
}

/// K29: the holder of the owner token gives another token; it has at least two.
void AgentRules::give_one(AgentLine& line, std::uint16_t self, const TokenMessage& m,
                          AgentOutcome& out) const {
  if (line.held.count < 2) out.violation = "the owner has no token to give";
  if (line.held.count == all_) out.loss = AgentOutcome::Loss::right;
  --line.held.count;
  out.send({.kind = Kind::tokens,
            .to = To::agent,
            .has_data = true,
            .from = self,
            .agent = m.requester,
            .requester = m.requester,
            .tokens = {.count = 1},
            .version = line.version});
}

void AgentRules::give_all(AgentLine& line, std::uint16_t self, const TokenMessage& m, To to,
                          AgentOutcome& out) const {
  out.send({.kind = Kind::tokens,
            .to = to,
            .has_data = line.held.owner && !(to == To::agent && m.requester_has_data),
            .from = self,
            .agent = m.requester,
            .requester = m.requester,
            .tokens = line.held,
            .version = line.version});
  out.loss = AgentOutcome::Loss::copy;
  line.held = {};
  line.has_data = false;
  line.is_in_buffer = false;
  line.version = 0;
}

void AgentRules::take(AgentLine& line, const TokenMessage& m, AgentOutcome& out) const {
  if (line.want == Want::none) {
    out.violation = "tokens come to an agent that did not ask";
    return;
  }
  add(line.held, m.tokens);
  if (m.has_data) {
    if (line.want == Want::shared || !line.has_data) line.version = m.version;
    line.has_data = true;
  }
  if (line.want == Want::shared && !line.has_data) out.violation = "a reader's token comes without data";
  if (line.want == Want::exclusive) {
    if (line.held.count < all_ || !(line.has_data || line.is_replacing)) return;
    line.has_data = true;
    line.is_replacing = false;
  }
  line.want = Want::none;
  line.is_unblock_due = true;
  out.is_fulfilled = true;
}

AgentOutcome AgentRules::receive(AgentLine& line, std::uint16_t self, const TokenMessage& m) const {
  AgentOutcome out;
  const Tokens held = line.held;
  switch (m.kind) {
    case Kind::tokens:
      take(line, m, out);
      break;
    case Kind::forward_shared:
      if (!held.owner) out.violation = "a read is forwarded to one that is not the owner";
      give_one(line, self, m, out);
      break;
    case Kind::forward_exclusive:
      if (held.count == 0 && !is_coarse_) out.violation = "a write is forwarded to one that has no copy";
      if (held.count != 0) give_all(line, self, m, To::agent, out);
      if (is_coarse_) tally(self, held.count, held.owner, out);
      break;
    case Kind::probe_shared:
      if (held.owner) give_one(line, self, m, out);
      tally(self, line.held.count, held.owner, out);
      break;
    case Kind::probe_exclusive:
      if (held.count != 0) give_all(line, self, m, To::agent, out);
      tally(self, held.count, held.owner, out);
      break;
    case Kind::probe_count:
      tally(self, held.count, held.owner, out);
      break;
    case Kind::recall:
      if (held.count != 0) {
        give_all(line, self, m, To::home, out);
      } else {
        tally(self, 0, false, out);
      }
      break;
    case Kind::put_grant:
      line.is_put_pending = false;
      if (line.is_in_buffer) {
        give_all(line, self, m, To::home, out);
        out.sends[0].kind = Kind::put_data;
        out.sends[0].has_data = true;
        out.loss = AgentOutcome::Loss::none;  // the caches lost it when it came to the buffer
      } else {
        out.send(to_home(Kind::put_none, self));
      }
      break;
    default:
      out.violation = "an agent was sent what is not for it";
  }
  return out;
}

}  // namespace rubato::chip
