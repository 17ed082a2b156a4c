// As explorer.hpp, for tokenb: a few agents, a slice, memory and the arbiter of one line, where any message
// may be the next to arrive. Any access, eviction, repeated request and loss of patience may happen at any
// moment. An agent sends a request again only when none of its own is under way, which keeps states finite.
//
//   contended   all agents have asked and persist already, and begin nothing else: few enough states to see
//               all. The first ones want to read, the others to write
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/faults.hpp"
#include "chip/coherence/token/broadcast_rules.hpp"
#include "chip/coherence/token/persistent_arbiter.hpp"
#include "tests/chip/coherence/token/numberings.hpp"
#include "tests/chip/coherence/token/state_search.hpp"
#include "tests/fault_list.hpp"

namespace rubato::chip {

// Bugs put in on purpose (K95).
// clang-format off
#define RUBATO_BROADCAST_MUTANTS(X) \
  X(token_lost) \
  X(owner_twice) \
  X(dirty_dropped) \
  X(store_with_a_token_missing) \
  X(copy_kept_after_write) \
  X(late_tokens_kept) \
  X(activates_before_acknowledgements) \
  X(requester_ends_unserved) \
  X(slice_forgets_tokens) \
  X(timer_stops) \
  X(nothing_taken_for_data) \
  X(answers_in_anothers_turn) \
  X(turn_not_handed_over) \
  X(write_asks_for_read_turn) \
  X(owner_kept_in_read_turn) \
  X(token_kept_in_write_turn)
// clang-format on
RUBATO_DEFINE_FAULTS(BroadcastMutant, kBroadcastMutantNames, RUBATO_BROADCAST_MUTANTS)

class BroadcastExplorer : private ExploredModel {
 public:
  struct Params {
    std::uint32_t agents, tokens;
    BroadcastMutant mutant = BroadcastMutant::none;
    bool is_contended = false;
    std::uint32_t readers = 0;   // of those that contend
    bool has_replacing = false;  // stores of all bytes among the others
    std::size_t most_states = ~std::size_t{0};
  };
  explicit BroadcastExplorer(Params p)
      : p_(p), rules_(p.tokens), slice_rules_(p.tokens, false), memory_rules_(p.tokens, true) {}

  Exploration explore() { return StateSearch::explore(*this, p_.most_states); }
  Exploration walk(std::uint64_t seed, unsigned walks, unsigned steps) {
    return StateSearch::walk(*this, seed, walks, steps);
  }

 private:
  friend StateSearch;
  static constexpr std::uint32_t kActs = 7;
  using Kind = TokenMessage::Kind;
  using To = TokenMessage::To;
  using Want = AgentLine::Want;
  struct Agent {
    AgentLine line{};
    PersistentEntry persistent{};
    bool is_cached = false;  // in the L2; else what it has is with its request, or kept beside it
    bool replaces = false;   // what it waits for, or has got, is for a store of all bytes
  };
  struct State {
    explicit State(std::uint32_t n) : agents(n), arbiter(n + 2) {}
    std::vector<Agent> agents;
    StoreLine slice, memory;
    PersistentArbiter arbiter;
    std::vector<TokenMessage> bag;
  };

  State first() {
    State s(p_.agents);
    s.memory.tokens = {.count = static_cast<std::uint16_t>(p_.tokens), .owner = true};
    s.memory.version = 1;
    if (p_.is_contended)
      for (std::uint16_t a = 0; a < p_.agents; ++a) {
        note(rules_.request(s.agents[a].line, a, a >= p_.readers));
        persist(s, a);
      }
    return s;
  }
  std::uint32_t moves(const State& s) const {
    return static_cast<std::uint32_t>(s.bag.size()) + p_.agents * kActs + 1;
  }

  bool make(State& s, std::uint32_t move) {
    if (move < s.bag.size()) {
      const TokenMessage m = s.bag[move];
      s.bag.erase(s.bag.begin() + move);
      deliver(s, m);
      return true;
    }
    move -= static_cast<std::uint32_t>(s.bag.size());
    if (move < p_.agents * kActs) return act(s, static_cast<std::uint16_t>(move / kActs), move % kActs);
    if (s.slice.tokens.count == 0) return false;
    AgentOutcome out = slice_rules_.evict(s.slice);
    apply(s, out);
    return true;
  }

  bool act(State& s, std::uint16_t self, std::uint32_t what) {
    Agent& a = s.agents[self];
    const bool may_ask = a.line.want == Want::none && !a.line.is_unblock_due;
    if (p_.is_contended && what != 2) return false;
    switch (what) {
      case 0:  // load
        if (a.line.want != Want::none || a.replaces) return false;
        if (a.line.is_readable()) return use(s, a, false);
        if (!may_ask) return false;
        return ask(s, self, false);
      case 1:  // store
        if (a.line.want != Want::none || a.replaces) return false;
        if (can_write(a.line)) return use(s, a, true);
        if (!may_ask) return false;
        return ask(s, self, true);
      case 2:  // what came has been used, or its time is over
        if (!a.line.is_unblock_due) return false;
        if (!a.line.is_readable()) fail("a line is lost before it was used");
        if (!a.replaces) load(a.line);
        if ((p_.is_contended && a.line.is_writable(p_.tokens)) || a.replaces) store(s, a.line);
        a.replaces = false;
        apply(s, rules_.release(a.line, a.persistent, self));
        settle(a);
        return true;
      case 3:
        if (!a.is_cached) return false;
        a.is_cached = false;
        if (a.line.want == Want::none) {
          AgentOutcome out = rules_.evict(a.line, a.persistent, self);
          if (p_.mutant == BroadcastMutant::dirty_dropped) out.sends[0].tokens.dirty = false;
          apply(s, out);
        }
        return true;
      case 4:
        if (a.line.want == Want::none || is_asking(s, self)) return false;
        multicast(s, rules_.request_of(a.line, self), self);
        return true;
      case 5:  // a store of all bytes
        if (!p_.has_replacing || !may_ask || can_write(a.line)) return false;
        a.replaces = true;
        return ask(s, self, true);
      default:
        if (a.line.want == Want::none || a.persistent.own != PersistentEntry::Own::none) return false;
        if (p_.mutant == BroadcastMutant::timer_stops) return false;
        persist(s, self);
        return true;
    }
  }
  void persist(State& s, std::uint16_t self) {
    Agent& a = s.agents[self];
    AgentOutcome out = rules_.persist(a.line, a.persistent, self);
    if (p_.mutant == BroadcastMutant::write_asks_for_read_turn) out.sends[0].is_read = true;
    apply(s, out);
  }

  bool ask(State& s, std::uint16_t self, bool write) {
    const AgentOutcome out = rules_.request(s.agents[self].line, self, write, s.agents[self].replaces);
    note(out);
    multicast(s, out.sends[0], self);
    return true;
  }
  /// False: nothing changes.
  bool use(State& s, Agent& a, bool write) {
    const bool changes =
        !a.is_cached || (write && (a.line.version != 1 || !a.line.held.dirty || others_know(s, a)));
    load(a.line);
    a.line.is_in_buffer = false;
    a.is_cached = true;
    if (write) store(s, a.line);
    return changes;
  }
  bool others_know(const State& s, const Agent& a) const {
    bool know = s.memory.version == 1 || s.slice.version == 1;
    for (const Agent& other : s.agents) know |= &other != &a && other.line.version == 1;
    for (const TokenMessage& m : s.bag) know |= m.version == 1;
    return know;
  }
  bool is_asking(const State& s, std::uint16_t self) const {
    return std::any_of(s.bag.begin(), s.bag.end(), [&](const TokenMessage& m) {
      return (m.kind == Kind::get_shared || m.kind == Kind::get_exclusive) && m.requester == self;
    });
  }
  void multicast(State& s, TokenMessage m, std::uint16_t from) {
    m.to = To::agent;
    for (std::uint16_t a = 0; a < p_.agents; ++a) {
      m.agent = a;
      if (a != from) s.bag.push_back(m);
    }
    m.agent = 0;
    m.to = To::home;
    s.bag.push_back(m);
    m.to = To::memory;
    s.bag.push_back(m);
  }

  void deliver(State& s, const TokenMessage& m) {
    if (m.to == To::memory) {
      cells_.enter("memory", name_of(m.kind), s.memory.tokens, p_.tokens);
      return apply(s, memory_rules_.receive(s.memory, m));
    }
    if (m.to == To::home) {
      if (m.kind == Kind::persist || m.kind == Kind::acknowledgement || m.kind == Kind::done)
        return arbitrate(s, m);
      cells_.enter("LLC", name_of(m.kind), s.slice.tokens, p_.tokens);
      return apply(s, slice_rules_.receive(s.slice, m));
    }
    Agent& a = s.agents[m.agent];
    const Agent before = a;
    PersistentEntry p = a.persistent;
    cells_.enter(p.active == PersistentEntry::kNoAgent ? "agent" : "agent, somebody's turn", event_of(m),
                 a.line.held, p_.tokens);
    if (p_.mutant == BroadcastMutant::late_tokens_kept && m.kind == Kind::tokens) p.active = m.agent;
    const PersistentEntry given = p;
    TokenMessage seen = m;
    if (p_.mutant == BroadcastMutant::nothing_taken_for_data && m.kind == Kind::tokens && m.tokens.owner &&
        !m.has_data) {
      seen.has_data = true;
      seen.version = 0;
    }
    const bool is_get = m.kind == Kind::get_shared || m.kind == Kind::get_exclusive;
    if (p_.mutant == BroadcastMutant::answers_in_anothers_turn && is_get)
      p.active = PersistentEntry::kNoAgent;
    const bool is_handover = m.kind == Kind::activate && p.active == m.agent;
    if (p_.mutant == BroadcastMutant::turn_not_handed_over && is_handover) {
      s.bag.push_back({.kind = Kind::acknowledgement, .to = To::home, .requester = m.requester});
      return;
    }
    if (p_.mutant == BroadcastMutant::token_kept_in_write_turn && m.kind == Kind::activate)
      seen.is_read = true;
    AgentOutcome out = rules_.receive(a.line, p, m.agent, seen);
    if (p_.mutant == BroadcastMutant::owner_kept_in_read_turn && m.kind == Kind::activate && out.count == 2 &&
        a.line.held.count == 1) {
      TokenMessage& sent = out.sends[1];
      a.line.held = {.count = 1, .owner = sent.tokens.owner, .dirty = sent.tokens.dirty};
      sent.tokens.owner = sent.tokens.dirty = sent.has_data = false;
    }
    if (!(p == given) && !is_get) a.persistent = p;
    check_turn(a, out);
    if (p_.mutant == BroadcastMutant::requester_ends_unserved && m.kind == Kind::activate &&
        m.requester == m.agent && a.persistent.own == PersistentEntry::Own::active) {
      a.persistent.own = PersistentEntry::Own::done;
      out.send({.kind = Kind::done, .to = To::home, .from = m.agent, .requester = m.agent});
    }
    const bool gives = out.count > 0 && m.kind != Kind::tokens;
    if (gives) {
      TokenMessage& sent = out.sends[out.count - 1];
      if (p_.mutant == BroadcastMutant::token_lost && sent.tokens.count > 1) --sent.tokens.count;
      if (p_.mutant == BroadcastMutant::owner_twice && sent.kind == Kind::tokens) sent.tokens.owner = true;
      if (p_.mutant == BroadcastMutant::dirty_dropped) sent.tokens.dirty = false;
    }
    if (p_.mutant == BroadcastMutant::copy_kept_after_write && m.kind == Kind::get_exclusive && gives) {
      a.line.held.count = 1;
      a.line.has_data = true;
      a.line.version = before.line.version;
    }
    if (out.is_fulfilled) a.is_cached = true;
    settle(a);
    apply(s, out);
  }
  /// K44: an agent that knows whose turn it is sends tokens to that one only, or to memory if no data are
  /// with them.
  void check_turn(const Agent& a, const AgentOutcome& out) {
    const std::uint16_t turn = a.persistent.active;
    if (turn == PersistentEntry::kNoAgent) return;
    for (std::uint32_t i = 0; i < out.count; ++i)
      if (out.sends[i].kind == Kind::tokens && out.sends[i].to != To::memory &&
          (out.sends[i].to != To::agent || out.sends[i].agent != turn))
        fail("tokens pass by the one whose turn it is");
  }
  void settle(Agent& a) {
    if (a.line.held.count == 0) a.is_cached = false;
  }

  void arbitrate(State& s, const TokenMessage& m) {
    using Order = PersistentArbiter::Order;
    if (m.kind == Kind::acknowledgement && s.arbiter.missing_ == 0)
      return fail("the arbiter waits for no acknowledgement");
    if (m.kind == Kind::done && s.arbiter.is_free()) return fail("a turn ends that has not begun");
    Order order = m.kind == Kind::persist           ? s.arbiter.ask({m.requester, LineAddr{1}, m.is_read})
                  : m.kind == Kind::acknowledgement ? s.arbiter.acknowledge()
                                                    : s.arbiter.done();
    // Only the first acknowledgement is waited for.
    if (p_.mutant == BroadcastMutant::activates_before_acknowledgements)
      while (m.kind == Kind::acknowledgement && order == Order::none && s.arbiter.missing_ != 0)
        order = s.arbiter.acknowledge();
    if (order == Order::none) return;
    send_to_everybody(s, order == Order::activate ? Kind::activate : Kind::deactivate, s.arbiter.turn());
  }
  void send_to_everybody(State& s, Kind kind, const PersistentArbiter::Turn& turn) {
    TokenMessage m{.kind = kind, .is_read = turn.is_read, .requester = turn.requester};
    for (std::uint16_t a = 0; a < p_.agents; ++a) {
      m.to = To::agent;
      m.agent = a;
      s.bag.push_back(m);
    }
    m.agent = 0;
    m.to = To::home;
    s.bag.push_back(m);
    m.to = To::memory;
    s.bag.push_back(m);
  }

  static std::string event_of(const TokenMessage& m) {
    return std::string(name_of(m.kind)) + (m.kind == Kind::activate && m.is_read ? " to read" : "");
  }
  bool can_write(const AgentLine& line) const {
    return line.is_writable(p_.tokens) || (p_.mutant == BroadcastMutant::store_with_a_token_missing &&
                                           line.is_readable() && line.held.owner);
  }
  void load(const AgentLine& line) {
    if (line.version != 1) fail("a load sees an old value");
  }
  void store(State& s, AgentLine& line) {
    for (Agent& other : s.agents) other.line.version = 0;
    for (TokenMessage& m : s.bag) m.version = 0;
    s.slice.version = s.memory.version = 0;
    line.version = 1;
    line.held.dirty = true;
  }
  void note(const AgentOutcome& out) {
    if (out.violation != nullptr) fail(out.violation);
  }
  void apply(State& s, const AgentOutcome& out) {
    note(out);
    for (std::uint32_t i = 0; i < out.count; ++i) {
      const TokenMessage& m = out.sends[i];
      if (p_.mutant == BroadcastMutant::slice_forgets_tokens && m.to == To::memory) continue;
      s.bag.push_back(m);
    }
  }

  void check(const State& s) {
    std::uint32_t sum = 0, owners = 0;
    const auto add = [&](const Tokens& t) {
      sum += t.count;
      owners += t.owner ? 1 : 0;
      if (t.dirty && !t.owner) fail("dirty without the owner token");
      if (t.owner && t.count == 0) fail("an owner without a token");
    };
    add(s.slice.tokens);
    add(s.memory.tokens);
    for (const Agent& a : s.agents) {
      add(a.line.held);
      if (a.line.has_data && a.line.held.count == 0) fail("data without a token");
      if (a.line.held.owner && !a.line.has_data) fail("an owner without data");
    }
    for (const TokenMessage& m : s.bag) {
      if (m.kind != Kind::tokens) continue;
      add(m.tokens);
      if (m.tokens.owner && !m.has_data && s.memory.version != 1) fail("the data are nowhere");
    }
    if (sum != p_.tokens) fail("tokens are lost or made");
    if (owners != 1) fail("there is not one owner token");
    if (s.memory.tokens.owner && s.memory.version != 1) fail("memory owns the line and is old");
  }

  /// Persistent requests are no new beginning.
  bool advance(State& s) {
    if (!s.bag.empty()) return make(s, 0);
    for (const std::uint32_t what : {2U, kActs - 1})
      for (std::uint16_t a = 0; a < p_.agents; ++a)
        if (act(s, a, what)) return true;
    return false;
  }
  void check_rest(const State& s) {
    for (const Agent& a : s.agents)
      if (a.line.want != Want::none) fail("an access waits for ever");
    if (!s.arbiter.is_free()) fail("a persistent request never ends");
  }

  std::string key(const State& s) const {
    return least_of_numberings(p_.agents, [&](const auto& order) { return serialized(s, order); });
  }
  std::string serialized(const State& s, const std::vector<std::uint16_t>& order) const {
    const auto put = [](std::string& text, auto... values) {
      (text.push_back(static_cast<char>(values)), ...);
    };
    const auto agent = [&](std::uint16_t a) { return a < p_.agents ? order[a] : a; };
    const auto put_tokens = [&](std::string& text, const Tokens& t) {
      put(text, t.count, t.owner * 2 + t.dirty);
    };
    std::vector<std::string> agents(p_.agents), bag;
    for (std::uint16_t a = 0; a < p_.agents; ++a) {
      const Agent& of = s.agents[a];
      std::string& text = agents[order[a]];
      put_tokens(text, of.line.held);
      put(text, of.line.want, of.line.has_data, of.line.is_unblock_due, of.line.is_in_buffer, of.line.version,
          of.line.is_replacing, of.replaces, of.is_cached, of.persistent.own,
          of.persistent.own_reads * 2 + of.persistent.is_read_turn, agent(of.persistent.active));
    }
    std::string text;
    for (const std::string& a : agents) text += a;
    for (const StoreLine* store : {&s.slice, &s.memory}) {
      put_tokens(text, store->tokens);
      put(text, store->version, agent(store->active));
    }
    put(text, s.arbiter.phase_, s.arbiter.missing_, s.arbiter.is_done_, s.arbiter.queue_.size());
    for (const PersistentArbiter::Turn& turn : s.arbiter.queue_)
      put(text, agent(turn.requester), turn.is_read);
    for (const TokenMessage& m : s.bag) {
      std::string& one = bag.emplace_back();
      put(one, m.kind, m.to, m.is_read * 4 + m.has_data * 2 + m.requester_has_data,
          m.to == To::agent ? agent(m.agent) : 0, agent(m.requester), m.version);
      put_tokens(one, m.tokens);
    }
    std::sort(bag.begin(), bag.end());
    for (const std::string& m : bag) text += m;
    return text;
  }

  Params p_;
  BroadcastRules rules_;
  StoreRules slice_rules_, memory_rules_;
};

}  // namespace rubato::chip
