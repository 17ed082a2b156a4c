// SPDX-License-Identifier: MIT
#include "chip/coherence/token/broadcast_rules.hpp"

namespace rubato::chip {

namespace {

using MessageKind = TokenMessage::Kind;
using Receiver = TokenMessage::To;
using Wanted = AgentLine::Want;
using Own = PersistentEntry::Own;
constexpr std::uint16_t kNobody = PersistentEntry::kNoAgent;

TokenMessage word_to_home(MessageKind kind, std::uint16_t from, std::uint16_t requester) {
  return {.kind = kind, .to = Receiver::home, .from = from, .requester = requester};
}

}  // namespace

TokenMessage BroadcastRules::request_of(const AgentLine& line, std::uint16_t self) const {
  return {.kind = line.want == Wanted::exclusive ? MessageKind::get_exclusive : MessageKind::get_shared,
          .to = Receiver::agent,
          .requester_has_data = line.is_replacing,
          .from = self,
          .requester = self};
}

AgentOutcome BroadcastRules::request(AgentLine& line, std::uint16_t self, bool write, bool replaces) const {
  AgentOutcome out;
  if (line.want != Wanted::none || line.is_unblock_due) out.violation = "a second request of a line";
  line.want = write ? Wanted::exclusive : Wanted::shared;
  line.is_replacing = replaces;
  out.send(request_of(line, self));
  return out;
}

AgentOutcome BroadcastRules::persist(const AgentLine& line, PersistentEntry& p, std::uint16_t self) const {
  AgentOutcome out;
  if (p.own != Own::none) out.violation = "a second persistent request of a line";
  p.own = Own::asked;
  p.own_reads = line.want == Wanted::shared;
  TokenMessage word = word_to_home(MessageKind::persist, self, self);
  word.is_read = p.own_reads;
  out.send(word);
  return out;
}

AgentOutcome BroadcastRules::release(AgentLine& line, PersistentEntry& p, std::uint16_t self) const {
  AgentOutcome out;
  line.is_unblock_due = false;
  if (p.active == self) {
    if (p.own == Own::active) finish(p, self, out);
  } else if (p.active != kNobody) {
    if (const Gift due = gift_of_turn(line, p, self); due != Gift::nothing)
      give(line, self, p.active, due, out);
  } else if (line.is_in_buffer) {
    give_home(line, self, out);
  }
  return out;
}

AgentOutcome BroadcastRules::evict(AgentLine& line, const PersistentEntry& p, std::uint16_t self) const {
  AgentOutcome out;
  if (line.want != Wanted::none || line.held.count == 0) out.violation = "evicts what it does not have";
  if (line.is_unblock_due || p.active == self) {
    line.is_in_buffer = true;
  } else {
    give_home(line, self, out);
  }
  return out;
}

BroadcastRules::Gift BroadcastRules::gift(const AgentLine& line, const PersistentEntry& p, std::uint16_t self,
                                          const TokenMessage& m) const {
  if (line.held.count == 0 || line.is_unblock_due) return Gift::nothing;
  if (m.kind == MessageKind::activate)
    return gift_of_turn(line, {.is_read_turn = m.is_read, .active = m.requester}, self);
  if (p.active != kNobody) return Gift::nothing;
  if (m.kind == MessageKind::get_exclusive) return Gift::all;
  if (m.kind != MessageKind::get_shared || !line.held.owner) return Gift::nothing;
  return line.held.count > 1 ? Gift::one : Gift::all;
}

BroadcastRules::Gift BroadcastRules::gift_of_turn(const AgentLine& line, const PersistentEntry& p,
                                                  std::uint16_t self) const {
  const Tokens& held = line.held;
  if (held.count == 0 || line.is_unblock_due || p.active == kNobody || p.active == self) return Gift::nothing;
  if (!p.is_read_turn || !line.has_data || line.is_in_buffer) return Gift::all;
  if (held.count > 1) return Gift::most;
  return held.owner ? Gift::all : Gift::nothing;  // a reader needs the owner's data
}

/// Data come along with the owner token, and with one of several.
void BroadcastRules::give(AgentLine& line, std::uint16_t self, std::uint16_t to, Gift gift,
                          AgentOutcome& out) const {
  if (line.held.owner && !line.has_data) out.violation = "an owner without data";
  TokenMessage m{.kind = MessageKind::tokens,
                 .to = Receiver::agent,
                 .has_data = line.held.owner,
                 .from = self,
                 .agent = to,
                 .requester = to,
                 .tokens = {.count = 1},
                 .version = line.version};
  if (gift == Gift::all) {
    m.tokens = line.held;
    if (line.has_data) out.loss = AgentOutcome::Loss::copy;
    line.held = {};
    line.has_data = false;
    line.is_in_buffer = false;
    line.version = 0;
  } else {
    if (line.held.count == all_) out.loss = AgentOutcome::Loss::right;
    if (gift == Gift::most) {
      m.tokens = line.held;
      line.held = {.count = 1};
      --m.tokens.count;
    } else {
      --line.held.count;
    }
  }
  out.send(m);
}

void BroadcastRules::give_home(AgentLine& line, std::uint16_t self, AgentOutcome& out) const {
  TokenMessage m = word_to_home(MessageKind::tokens, self, self);
  m.has_data = line.has_data;
  m.tokens = line.held;
  m.version = line.version;
  out.send(m);
  line.held = {};
  line.has_data = line.is_in_buffer = false;
  line.version = 0;
}

void BroadcastRules::finish(PersistentEntry& p, std::uint16_t self, AgentOutcome& out) const {
  p.own = Own::done;
  out.send(word_to_home(MessageKind::done, self, self));
}

void BroadcastRules::take(AgentLine& line, const PersistentEntry& p, std::uint16_t self,
                          const TokenMessage& m, AgentOutcome& out) const {
  const bool is_others = p.active != kNobody && p.active != self;
  if (m.tokens.owner && !m.has_data && (is_others || !line.is_replacing)) {
    TokenMessage back = m;
    back.to = Receiver::memory;
    back.from = self;
    return out.send(back);
  }
  if (is_others) {
    TokenMessage on = m;
    on.from = self;
    on.agent = on.requester = p.active;
    return out.send(on);
  }
  if (line.want == Wanted::none && line.held.count == 0) {
    if (p.active != self) {
      TokenMessage back = m;
      back.to = Receiver::home;
      back.from = self;
      return out.send(back);
    }
    line.is_in_buffer = true;
  }
  add(line.held, m.tokens);
  if (m.has_data) {
    if (!line.has_data) line.version = m.version;
    line.has_data = true;
  }
  if (line.want == Wanted::none) return;
  const bool has_all = line.held.count == all_;
  if (line.want == Wanted::exclusive ? !has_all : !line.has_data) return;
  if (!line.has_data && !line.is_replacing) out.violation = "all tokens without data";
  line.has_data = true;
  line.want = Wanted::none;
  line.is_replacing = false;
  line.is_in_buffer = false;
  line.is_unblock_due = out.is_fulfilled = true;
}

AgentOutcome BroadcastRules::receive(AgentLine& line, PersistentEntry& p, std::uint16_t self,
                                     const TokenMessage& m) const {
  AgentOutcome out;
  const Gift given = gift(line, p, self, m);
  switch (m.kind) {
    case MessageKind::get_shared:
    case MessageKind::get_exclusive:
      if (given != Gift::nothing) give(line, self, m.requester, given, out);
      break;
    case MessageKind::tokens:
      take(line, p, self, m, out);
      break;
    case MessageKind::activate:
      if (p.active == self) {  // a handover ends its own turn
        if (p.own != Own::done) out.violation = "a persistent request ends before it has performed";
        p.own = Own::none;
        p.own_reads = false;
      }
      p.active = m.requester;
      p.is_read_turn = m.is_read;
      out.send(word_to_home(MessageKind::acknowledgement, self, m.requester));
      if (m.requester == self) {
        if (p.own != Own::asked) out.violation = "a persistent request is active that nobody made";
        p.own = Own::active;
        // The request has been served meanwhile; or a write has followed the read, which needs a turn of its
        // own.
        const bool is_of_no_use = line.want == Wanted::none || (m.is_read && line.want == Wanted::exclusive);
        if (is_of_no_use && !line.is_unblock_due) finish(p, self, out);
      } else if (given != Gift::nothing) {
        give(line, self, m.requester, given, out);
      }
      break;
    case MessageKind::deactivate:
      if (p.active != m.requester) out.violation = "what is not active ends";
      p.active = kNobody;
      p.is_read_turn = false;
      if (m.requester == self) {
        p.own = Own::none;
        p.own_reads = false;
        if (line.is_in_buffer && !line.is_unblock_due && line.want == Wanted::none)
          give_home(line, self, out);
      }
      out.send(word_to_home(MessageKind::acknowledgement, self, m.requester));
      break;
    default:
      out.violation = "an agent was sent what is not for it";
  }
  return out;
}

void StoreRules::give(StoreLine& line, std::uint16_t to, std::uint16_t tokens, bool with_data,
                      AgentOutcome& out) const {
  TokenMessage m{.kind = MessageKind::tokens,
                 .to = Receiver::agent,
                 .has_data = line.tokens.owner && with_data,
                 .agent = to,
                 .requester = to,
                 .tokens = {.count = tokens},
                 .version = line.version};
  if (tokens == line.tokens.count) {
    m.tokens = line.tokens;
    line.tokens = {};
  } else {
    line.tokens.count = static_cast<std::uint16_t>(line.tokens.count - tokens);
  }
  out.send(m);
}

AgentOutcome StoreRules::receive(StoreLine& line, const TokenMessage& m) const {
  AgentOutcome out;
  Tokens& held = line.tokens;
  switch (m.kind) {
    case MessageKind::get_shared:
      if (line.active != kNobody || !held.owner) break;
      give(line, m.requester, held.count == all_ || is_memory_ ? held.count : std::uint16_t{1}, true, out);
      break;
    case MessageKind::get_exclusive:
      if (line.active != kNobody || held.count == 0) break;
      give(line, m.requester, held.count, !(is_memory_ && held.count == all_ && m.requester_has_data), out);
      break;
    case MessageKind::tokens:
      add(held, m.tokens);
      if (m.has_data) line.version = m.version;
      if (is_memory_) held.dirty = false;  // it was written
      if (line.active != kNobody) give(line, line.active, held.count, true, out);
      break;
    case MessageKind::activate:
      line.active = m.requester;
      if (held.count != 0) give(line, m.requester, held.count, true, out);
      out.send(word_to_home(MessageKind::acknowledgement, TokenMessage::kHome, m.requester));
      break;
    case MessageKind::deactivate:
      line.active = kNobody;
      out.send(word_to_home(MessageKind::acknowledgement, TokenMessage::kHome, m.requester));
      break;
    default:
      out.violation = "a slice or memory was sent what is not for it";
  }
  return out;
}

AgentOutcome StoreRules::evict(StoreLine& line) const {
  AgentOutcome out;
  out.send({.kind = MessageKind::tokens,
            .to = Receiver::memory,
            .has_data = line.tokens.dirty,
            .tokens = line.tokens,
            .version = line.version});
  line.tokens = {};
  return out;
}

}  // namespace rubato::chip
