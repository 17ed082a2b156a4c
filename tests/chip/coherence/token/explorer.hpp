// Explores every state that a few agents, one home and memory can reach with one line (K90). Any message may
// be the next to arrive. Any access, eviction or loss of an entry may happen at any moment. It runs the
// product's own rules, and checks K91's invariants in every state. Versions are reduced to "newest or not",
// which keeps the states finite.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/faults.hpp"
#include "chip/coherence/token/agent_rules.hpp"
#include "chip/coherence/token/home_rules.hpp"
#include "tests/chip/coherence/token/numberings.hpp"
#include "tests/chip/coherence/token/state_search.hpp"
#include "tests/fault_list.hpp"

namespace rubato::chip {

// Bugs put in on purpose (K95): the explorer must find each.
// clang-format off
#define RUBATO_TOKEN_MUTANTS(X) \
  X(token_lost) \
  X(token_doubled) \
  X(dirty_dropped) \
  X(store_with_a_token_missing) \
  X(copy_kept_after_forward) \
  X(unblock_before_use) \
  X(probe_skips_an_agent) \
  X(entry_without_requester) \
  X(close_before_last_answer) \
  X(filter_counts_twice) \
  X(entry_dropped_in_silence) \
  X(data_without_owner_forgotten) \
  X(owner_twice) \
  X(slice_lets_its_tokens_go) \
  X(filter_misses_a_line) \
  X(filter_forgets_too_early) \
  X(write_back_not_awaited) \
  X(load_without_token) \
  X(taken_back_line_granted) \
  X(read_joins_unknown_owner) \
  X(closes_at_first_reader) \
  X(write_joins_readers) \
  X(counter_wraps)          /* of two lines */ \
  X(flush_does_not_wait)    /* of two lines */ \
  X(moved_cell_kept)        /* of two lines, when the counter's sub-table leaves */ \
  X(entry_kept_without_way) /* of two lines, when the way of an idle line's entry goes */
// clang-format on
RUBATO_DEFINE_FAULTS(TokenMutant, kTokenMutantNames, RUBATO_TOKEN_MUTANTS)

class TokenExplorer : protected ExploredModel {
 public:
  struct Params {
    TokenPolicy policy;
    std::uint32_t agents;
    std::uint32_t tokens;
    TokenMutant mutant = TokenMutant::none;
    std::size_t most_states = ~std::size_t{0};
    TokenVariant variant{};
  };
  explicit TokenExplorer(Params p)
      : p_(p),
        home_rules_(p.policy, p.agents, p.tokens, p.variant),
        agent_rules_(p.tokens, !home_rules_.agents().is_exact()) {}

  Exploration explore() {
    Exploration found = StateSearch::explore(*this, p_.most_states);
    found.joined = joined_;
    return found;
  }

 protected:  // PairExplorer's, too
  friend StateSearch;
  struct State {
    std::vector<AgentLine> agents;
    HomeLine home;
    std::vector<TokenMessage> queue;  // of requests, at the home
    std::vector<TokenMessage> bag;    // in the network
    bool is_counted = false;          // by the filter
    std::uint64_t memory_version = 1;
  };

  State first() const {
    State state;
    state.agents.resize(p_.agents);
    return state;
  }
  std::uint32_t moves(const State& s) const {
    return static_cast<std::uint32_t>(s.bag.size()) + p_.agents * 4 + 4;
  }

  /// False: the move is not possible.
  bool make(State& s, std::uint32_t move) {
    if (move < s.bag.size()) {
      const TokenMessage m = s.bag[move];
      s.bag.erase(s.bag.begin() + move);
      deliver(s, m);
      return true;
    }
    move -= static_cast<std::uint32_t>(s.bag.size());
    if (move < p_.agents * 4) return act(s, static_cast<std::uint16_t>(move / 4), move % 4);
    return act_at_home(s, move - p_.agents * 4);
  }

  bool act(State& s, std::uint16_t self, std::uint32_t what) {
    AgentLine& line = s.agents[self];
    const bool may_ask = line.want == AgentLine::Want::none && !line.is_unblock_due;
    switch (what) {
      case 0:  // load
        if (line.is_readable() && line.want == AgentLine::Want::none) {
          load(line);
          if (!line.is_in_buffer) return false;  // nothing changes
          agent_rules_.take_back(line);
          return true;
        }
        if (line.is_readable() || !may_ask) return false;
        apply(s, agent_rules_.request(line, self, false));
        return true;
      case 1:  // store
        if (can_write(line)) {
          agent_rules_.take_back(line);
          store(s, line);
          return true;
        }
        if (!may_ask) return false;
        if (line.is_in_buffer) agent_rules_.take_back(line);
        apply(s, agent_rules_.request(line, self, true));
        return true;
      case 2:
        if (!line.is_unblock_due) return false;
        if (!line.is_readable()) fail("a line is lost before it was used");
        load(line);
        apply(s, agent_rules_.unblock(line, self));
        return true;
      default:
        if (!may_ask && line.want != AgentLine::Want::none) return false;
        if (line.held.count == 0 || line.is_in_buffer) return false;
        apply(s, agent_rules_.evict(line, self));
        return true;
    }
  }

  bool act_at_home(State& s, std::uint32_t what) {
    const bool is_idle = s.home.phase == HomeLine::Phase::idle;
    if (!is_idle && what != 1) return false;
    switch (what) {
      case 0:
      case 1: {  // the next request; the filter says no, or maybe
        if (s.queue.empty() || (what == 0 && s.is_counted)) return false;
        const TokenMessage m = s.queue.front();
        if (!is_idle) put_bug_in(s.home, m);
        if (!home_rules_.admits(s.home, m)) return false;
        s.queue.erase(s.queue.begin());
        cells_.enter(s.home.has_entry ? "home with entry"
                     : what == 0      ? "home, not out"
                                      : "home",
                     name_of(m.kind), s.home.llc, p_.tokens);
        apply(s, home_rules_.accept(s.home, m, what == 1));
        if (!is_idle) ++joined_;
        if (p_.mutant == TokenMutant::closes_at_first_reader) s.home.blocking = 1;
        if (p_.mutant == TokenMutant::entry_without_requester && s.home.has_entry &&
            m.kind == TokenMessage::Kind::get_shared)
          s.home.sharers &= ~home_rules_.agents().bit(TileId{m.requester});
        return true;
      }
      case 2:
        if (s.home.llc.count == 0) return false;
        if (p_.mutant == TokenMutant::slice_lets_its_tokens_go) {
          s.home.llc = {};
          return true;
        }
        apply(s, home_rules_.recall(s.home, true));
        return true;
      default:
        if (!s.home.has_entry) return false;
        if (p_.policy == TokenPolicy::sparse && p_.mutant != TokenMutant::entry_dropped_in_silence) {
          apply(s, home_rules_.recall(s.home, false));
        } else {
          s.home.has_entry = false;
          s.home.sharers = 0;
          s.home.owner = HomeLine::kNoAgent;
        }
        return true;
    }
  }

  /// Bugs of reads that join others.
  void put_bug_in(HomeLine& home, const TokenMessage& m) const {
    if (p_.mutant == TokenMutant::read_joins_unknown_owner) home.is_owner_on_its_way = false;
    if (p_.mutant == TokenMutant::write_joins_readers && m.kind == TokenMessage::Kind::get_exclusive &&
        home.phase == HomeLine::Phase::get && home.missing == 0)
      home.phase = HomeLine::Phase::idle;
  }

  void deliver(State& s, const TokenMessage& m) {
    using Kind = TokenMessage::Kind;
    if (m.to == TokenMessage::To::agent) {
      AgentLine& line = s.agents[m.agent];
      const AgentLine before = line;
      cells_.enter(line.is_in_buffer ? "agent's buffer" : "agent", name_of(m.kind), line.held, p_.tokens);
      AgentOutcome out = agent_rules_.receive(line, m.agent, m);
      if (p_.mutant == TokenMutant::copy_kept_after_forward && m.kind == Kind::forward_exclusive) {
        line.held.count = 1;
        line.has_data = true;
        line.version = before.version;
      }
      if (p_.mutant == TokenMutant::load_without_token && out.loss == AgentOutcome::Loss::copy) {
        line.has_data = true;
        line.version = before.version;
      }
      if (p_.mutant == TokenMutant::taken_back_line_granted && m.kind == Kind::put_grant &&
          !before.is_in_buffer && before.held.count != 0) {
        out.sends[0].kind = Kind::put_data;
        out.sends[0].has_data = true;
        out.sends[0].tokens = before.held;
        out.sends[0].version = before.version;
      }
      if (p_.mutant == TokenMutant::token_lost && out.count > 0 && out.sends[0].kind == Kind::tokens &&
          out.sends[0].tokens.count > 1)
        --out.sends[0].tokens.count;
      if (p_.mutant == TokenMutant::token_doubled && m.kind == Kind::forward_shared) ++line.held.count;
      if (p_.mutant == TokenMutant::dirty_dropped && out.count > 0) out.sends[0].tokens.dirty = false;
      if (p_.mutant == TokenMutant::owner_twice && out.count > 0 && out.sends[0].kind == Kind::tokens)
        out.sends[0].tokens.owner = true;
      if (p_.mutant == TokenMutant::data_without_owner_forgotten && out.count > 0 &&
          m.kind == Kind::forward_exclusive)
        out.sends[0].has_data = false;
      const bool unblocks = p_.mutant == TokenMutant::unblock_before_use && out.is_fulfilled;
      apply(s, out);
      if (unblocks) {
        apply(s, agent_rules_.unblock(line, m.agent));
        line.is_unblock_due = true;
      }
      return;
    }
    if (m.to == TokenMessage::To::memory) {
      TokenMessage answer{.kind = Kind::memory_acknowledgement, .to = TokenMessage::To::home};
      if (m.kind == Kind::memory_read) {
        if (tokens_on_chip(s) != 0) fail("memory is asked for a line that is on the chip");
        answer = home_rules_.memory_answer(m.requester, s.memory_version);
      } else {
        s.memory_version = m.version;
      }
      s.bag.push_back(answer);
      return;
    }
    if (m.kind == Kind::get_shared || m.kind == Kind::get_exclusive || m.kind == Kind::put_request) {
      s.queue.push_back(m);
      return;
    }
    if (p_.mutant == TokenMutant::close_before_last_answer && m.kind == Kind::tally && s.home.missing == 2)
      s.home.missing = 1;
    HomeOutcome out = home_rules_.receive(s.home, m);
    if (p_.mutant == TokenMutant::filter_counts_twice && out.filter == HomeOutcome::Filter::erase)
      out.filter = HomeOutcome::Filter::insert;
    if (p_.mutant == TokenMutant::filter_forgets_too_early && m.kind == Kind::put_data)
      out.filter = HomeOutcome::Filter::erase;
    apply(s, out);
  }

  bool can_write(const AgentLine& line) const {
    if (line.want != AgentLine::Want::none) return false;
    return line.is_writable(p_.tokens) ||
           (p_.mutant == TokenMutant::store_with_a_token_missing && line.is_readable() && line.held.owner);
  }
  void load(const AgentLine& line) {
    if (line.version != 1) fail("a load sees an old value");
  }
  void store(State& s, AgentLine& line) {
    for (AgentLine& other : s.agents) other.version = 0;
    for (TokenMessage& m : s.bag) m.version = 0;
    s.home.version = s.memory_version = 0;
    line.version = 1;
    line.held.dirty = true;
  }

  void apply(State& s, const AgentOutcome& out) {
    if (out.violation != nullptr) fail(out.violation);
    for (std::uint32_t i = 0; i < out.count; ++i) s.bag.push_back(out.sends[i]);
  }
  void apply(State& s, const HomeOutcome& out) {
    if (out.violation != nullptr) fail(out.violation);
    for (std::uint32_t i = 0; i < out.count; ++i) {
      s.bag.push_back(out.sends[i]);
      if (p_.mutant == TokenMutant::write_back_not_awaited &&
          out.sends[i].kind == TokenMessage::Kind::memory_write)
        s.home.phase = HomeLine::Phase::idle;
    }
    bool skips = p_.mutant == TokenMutant::probe_skips_an_agent;
    for (std::uint16_t a = 0; a < p_.agents; ++a) {
      if (!out.targets || !out.targets->has(TileId{a})) continue;
      TokenMessage m = out.many;
      m.agent = a;
      if (std::exchange(skips, false) && m.kind == TokenMessage::Kind::probe_exclusive) {
        --s.home.missing;
        continue;
      }
      s.bag.push_back(m);
    }
    if (out.filter == HomeOutcome::Filter::insert && p_.mutant != TokenMutant::filter_misses_a_line) {
      if (s.is_counted) fail("the filter counts a line twice");
      s.is_counted = true;
    } else if (out.filter == HomeOutcome::Filter::erase) {
      if (!s.is_counted) fail("the filter takes out a line that it does not count");
      s.is_counted = false;
    }
    if (out.closes)
      for (const TokenMessage& m : s.bag)
        if (!is_request(m)) fail("a transaction closes with a message under way");
  }
  static bool is_request(const TokenMessage& m) {
    using Kind = TokenMessage::Kind;
    return m.kind == Kind::get_shared || m.kind == Kind::get_exclusive || m.kind == Kind::put_request;
  }

  std::uint32_t tokens_on_chip(const State& s) const {
    std::uint32_t sum = s.home.llc.count;
    for (const AgentLine& a : s.agents) sum += a.held.count;
    for (const TokenMessage& m : s.bag)
      if (moves_tokens(m)) sum += m.tokens.count;
    return sum;
  }
  static bool moves_tokens(const TokenMessage& m) {
    return m.kind == TokenMessage::Kind::tokens || m.kind == TokenMessage::Kind::put_data;
  }

  void check(const State& s) {
    std::uint32_t owners = s.home.llc.owner ? 1 : 0;
    std::uint64_t holders = 0;
    for (std::uint16_t a = 0; a < p_.agents; ++a) {
      const AgentLine& line = s.agents[a];
      owners += line.held.owner ? 1 : 0;
      if (line.held.count != 0) holders |= home_rules_.agents().bit(TileId{a});
      if (line.has_data && line.held.count == 0) fail("data without a token");
      if (line.held.dirty && !line.held.owner) fail("dirty without the owner token");
    }
    for (const TokenMessage& m : s.bag)
      if (moves_tokens(m)) owners += m.tokens.owner ? 1 : 0;
    const std::uint32_t sum = tokens_on_chip(s);
    if (sum != 0 && sum != p_.tokens) fail("tokens are lost or made");
    if (owners != (sum != 0 ? 1U : 0U)) fail("there is not one owner token");
    if (s.home.phase != HomeLine::Phase::idle) return;
    const bool is_out = holders != 0;
    if ((p_.variant.counts_chip ? sum != 0 : is_out) != s.is_counted) fail("the filter's count is wrong");
    const std::uint64_t others = s.home.sharers & ~holders;
    if (s.home.has_entry &&
        ((holders & ~s.home.sharers) != 0 || (others != 0 && home_rules_.agents().is_exact())))
      fail("an entry does not name the holders");
    if (s.home.has_entry && s.home.owner != HomeLine::kNoAgent && !s.agents[s.home.owner].held.owner)
      fail("an entry names another owner");
    if (p_.policy == TokenPolicy::sparse && is_out && !s.home.has_entry) fail("a line is out without entry");
    if (sum == 0 && s.memory_version != 1) fail("memory is old");
  }

  bool advance(State& s) {
    if (!s.bag.empty()) return make(s, 0);
    for (std::uint16_t a = 0; a < p_.agents; ++a)
      if (act(s, a, 2)) return true;
    return act_at_home(s, 1);
  }
  void check_rest(const State& s) {
    for (const AgentLine& line : s.agents)
      if (line.want != AgentLine::Want::none) fail("an access waits for ever");
    if (s.home.phase != HomeLine::Phase::idle) fail("a transaction never closes");
  }

  std::string key(const State& s) const {
    return least_of_numberings(
        p_.agents, [&](const auto& order) { return serialized(s, order); },
        [&](const auto& order) { return keeps_groups(order); });
  }
  /// Agents of one bit have one afterwards, for agents are alike only then.
  bool keeps_groups(const std::vector<std::uint16_t>& order) const {
    const SharerGroups& groups = home_rules_.agents();
    for (std::uint16_t a = 0; a < p_.agents; ++a)
      for (std::uint16_t b = 0; b < a; ++b)
        if ((groups.bit(TileId{a}) == groups.bit(TileId{b})) !=
            (groups.bit(TileId{order[a]}) == groups.bit(TileId{order[b]})))
          return false;
    return true;
  }
  std::string serialized(const State& s, const std::vector<std::uint16_t>& order) const {
    std::string text;
    const auto put = [&](auto value) { text.push_back(static_cast<char>(value)); };
    const auto agent = [&](std::uint16_t a) { return a < p_.agents ? order[a] : a; };
    const auto set = [&](std::uint64_t bits) {
      std::uint64_t moved = 0;
      home_rules_.agents().for_each(
          bits, [&](TileId a) { moved |= home_rules_.agents().bit(TileId{order[a.value]}); });
      return moved;
    };
    const auto tokens = [&](const Tokens& t) { put(t.count), put(t.owner * 2 + t.dirty); };
    const auto message = [&](const TokenMessage& m, std::string& out) {
      std::swap(text, out);
      put(m.kind), put(m.to), put(m.has_data * 2 + m.requester_has_data), put(agent(m.from)),
          put(agent(m.agent)), put(agent(m.requester)), tokens(m.tokens), put(m.version);
      std::swap(text, out);
    };
    std::vector<std::string> lines(p_.agents);
    for (std::uint16_t a = 0; a < p_.agents; ++a) {
      const AgentLine& l = s.agents[a];
      std::swap(text, lines[order[a]]);
      tokens(l.held), put(l.want), put(l.has_data), put(l.is_unblock_due), put(l.is_put_pending),
          put(l.is_replacing), put(l.is_in_buffer), put(l.version);
      std::swap(text, lines[order[a]]);
    }
    for (const std::string& l : lines) text += l;
    const HomeLine& h = s.home;
    tokens(h.llc), put(h.phase), put(h.has_entry), put(h.is_owner_on_its_way), put(h.goes_to_memory),
        put(h.was_served), put(agent(h.owner)), put(h.missing), put(h.blocking), put(agent(h.found_owner)),
        put(set(h.sharers)), put(set(h.found)), put(h.version), put(s.is_counted), put(s.memory_version);
    std::string request;
    message(h.request, request);
    text += request;
    for (const TokenMessage& m : s.queue) {
      std::string one;
      message(m, one);
      text += one;
    }
    text.push_back('|');
    std::vector<std::string> bag;
    for (const TokenMessage& m : s.bag) message(m, bag.emplace_back());
    std::sort(bag.begin(), bag.end());
    for (const std::string& m : bag) text += m;
    return text;
  }

  Params p_;
  HomeRules home_rules_;
  AgentRules agent_rules_;
  std::size_t joined_ = 0;
};

}  // namespace rubato::chip
