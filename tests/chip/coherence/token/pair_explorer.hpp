// Explores two lines of one home that share what a home has for several lines (K90): the only entry of its
// directory, and the only counter of its filter. The lines' own states are TokenExplorer's, and so are the
// rules; what a line may begin, and what it loses to the other, is as in TokenProtocol and TokenHome.
//
//   place     sparse evicts the other line's entry before it begins a request, and waits if that line is
//             busy; the others drop an idle line's entry when they make one, and do without if that line is
//             busy
//   moves     of flask's split: a second place comes and goes, with the entry in it unless its line is busy;
//             that line finds another when its transaction closes. The sub-table of the counter leaves, and
//             its lines are in overflow from then on (K57, K58)
//   counter   counts to `most`; a request that may be counted waits until a full one has been flushed. A
//             line that is counted all the same, since it came out meanwhile, is remembered beside it (K53)
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/chip/coherence/token/explorer.hpp"

namespace rubato::chip {

class PairExplorer : private TokenExplorer {
 public:
  using TokenExplorer::Params;

  /// `most`: to which the filter's counter counts; `moves`: of the split between directory and filter.
  PairExplorer(const Params& p, std::uint32_t most, bool moves = false)
      : TokenExplorer(p), most_(most), moves_(moves) {}

  Exploration explore() { return StateSearch::explore(*this, p_.most_states); }
  Exploration walk(std::uint64_t seed, unsigned walks, unsigned steps) {
    return StateSearch::walk(*this, seed, walks, steps);
  }

 private:
  friend StateSearch;
  struct Pair {
    std::array<State, 2> lines;
    std::uint32_t count = 0;             // the filter's counter
    std::uint32_t overflow = 0;          // counted since its sub-table left
    std::array<bool, 2> is_beside = {};  // counted, but by neither
    unsigned places = 1;                 // of entries
    std::array<unsigned, 2> place_of{};  // a line's entry, from 1; 0: it has none
  };

  Pair first() const {
    Pair pair;
    pair.lines = {TokenExplorer::first(), TokenExplorer::first()};
    return pair;
  }
  std::uint32_t moves(const Pair& pair) const {
    return TokenExplorer::moves(pair.lines[0]) + TokenExplorer::moves(pair.lines[1]) + (moves_ ? 2 : 0);
  }

  bool make(Pair& pair, std::uint32_t move) {
    const std::uint32_t of_first = TokenExplorer::moves(pair.lines[0]);
    if (move < of_first) return make(pair, 0, move);
    move -= of_first;
    const std::uint32_t of_second = TokenExplorer::moves(pair.lines[1]);
    return move < of_second ? make(pair, 1, move) : move_split(pair, move - of_second);
  }
  /// A second way comes or goes, or a sub-table leaves.
  bool move_split(Pair& pair, std::uint32_t what) {
    if (what == 1) {
      if (pair.count == 0) return false;
      pair.overflow += pair.count;
      if (p_.mutant != TokenMutant::moved_cell_kept) pair.count = 0;
      return true;
    }
    pair.places = 3 - pair.places;
    for (const unsigned i : {0U, 1U}) {
      if (pair.place_of[i] <= pair.places) continue;
      pair.place_of[i] = 0;
      HomeLine& line = pair.lines[i].home;
      if (line.phase == HomeLine::Phase::idle && p_.mutant != TokenMutant::entry_kept_without_way) drop(line);
    }
    return true;
  }
  bool make(Pair& pair, unsigned i, std::uint32_t move) {
    State& line = pair.lines[i];
    const std::uint32_t at_home = static_cast<std::uint32_t>(line.bag.size()) + p_.agents * 4;
    if (move == at_home || move == at_home + 1) {  // the next request; the filter says no, or maybe
      if (line.queue.empty() || !home_rules_.admits(line.home, line.queue.front())) return false;
      const bool says_no = pair.count == 0 && pair.overflow == 0 && !pair.is_beside[0] && !pair.is_beside[1];
      if ((move == at_home) != says_no) return false;
      if (says_no && line.is_counted) fail("the filter says no of a line that is out");
      const Pair before = pair;
      if (line.queue.front().kind != TokenMessage::Kind::put_request && !make_room(pair, i))
        return recalls_more_than(before, pair);
    }
    const bool was_counted = line.is_counted, had_entry = line.home.has_entry;
    if (!TokenExplorer::make(line, move)) return false;
    count(pair, i, was_counted);
    if (!line.home.has_entry) pair.place_of[i] = 0;
    const bool closed = line.home.phase == HomeLine::Phase::idle;
    if (line.home.has_entry && pair.place_of[i] == 0 && (!had_entry || closed)) place(pair, i);
    return true;
  }

  /// False: the request waits; what it has begun to recall stands.
  bool make_room(Pair& pair, unsigned i) {
    const HomeLine& home = pair.lines[i].home;
    State& other = pair.lines[1 - i];
    const bool is_in = home.llc.count != 0 && home.llc.count != p_.tokens;
    if (p_.policy == TokenPolicy::flask && p_.mutant != TokenMutant::counter_wraps && !home.has_entry &&
        !is_in && pair.count == most_) {
      for (const unsigned of : {0U, 1U}) {
        State& s = pair.lines[of];
        if (s.home.phase == HomeLine::Phase::idle && is_out(s)) recall(pair, of, true);
      }
      if (p_.mutant == TokenMutant::flush_does_not_wait) {
        pair.count = 0;
        return true;
      }
      return false;  // an agent has to answer first
    }
    if (p_.policy != TokenPolicy::sparse || home.has_entry || !other.home.has_entry) return true;
    if (other.home.phase != HomeLine::Phase::idle) return false;
    recall(pair, 1 - i, false);  // H13
    return true;
  }
  void recall(Pair& pair, unsigned i, bool to_memory) {
    const bool was_counted = pair.lines[i].is_counted;
    TokenExplorer::apply(pair.lines[i], home_rules_.recall(pair.lines[i].home, to_memory));
    pair.place_of[i] = 0;
    count(pair, i, was_counted);
  }
  static bool recalls_more_than(const Pair& before, const Pair& now) {
    return before.lines[0].bag.size() != now.lines[0].bag.size() ||
           before.lines[1].bag.size() != now.lines[1].bag.size();
  }
  static bool is_out(const State& s) {
    return std::any_of(s.agents.begin(), s.agents.end(),
                       [](const AgentLine& l) { return l.held.count != 0; });
  }

  void place(Pair& pair, unsigned i) {
    const unsigned others = pair.place_of[1 - i];
    for (unsigned free = 1; free <= pair.places; ++free)
      if (free != others) {
        pair.place_of[i] = free;
        return;
      }
    HomeLine& other = pair.lines[1 - i].home;
    if (p_.policy == TokenPolicy::sparse) return fail("a sparse directory has more entries than places");
    if (other.phase != HomeLine::Phase::idle) return drop(pair.lines[i].home);
    drop(other);
    pair.place_of[i] = std::exchange(pair.place_of[1 - i], 0);
  }
  static void drop(HomeLine& line) {
    line.has_entry = false;
    line.sharers = 0;
    line.owner = HomeLine::kNoAgent;
  }

  void count(Pair& pair, unsigned i, bool was_counted) const {
    const bool is_counted = pair.lines[i].is_counted;
    if (is_counted == was_counted) return;
    if (!is_counted) {
      if (!std::exchange(pair.is_beside[i], false)) --(pair.count != 0 ? pair.count : pair.overflow);
    } else if (pair.count == most_) {
      if (p_.mutant == TokenMutant::counter_wraps) {
        pair.count = 0;
      } else {
        pair.is_beside[i] = true;
      }
    } else {
      ++pair.count;
    }
  }

  void check(const Pair& pair) {
    for (const State& s : pair.lines) TokenExplorer::check(s);
    std::uint32_t counted = 0;
    for (const unsigned i : {0U, 1U}) counted += pair.lines[i].is_counted && !pair.is_beside[i] ? 1 : 0;
    if (counted != pair.count + pair.overflow)
      fail("the filter's counter is not the number of lines that it counts");
    if (pair.place_of[0] != 0 && pair.place_of[0] == pair.place_of[1]) fail("two entries are in one place");
    for (const unsigned i : {0U, 1U}) {
      const HomeLine& line = pair.lines[i].home;
      if (pair.place_of[i] > pair.places) fail("an entry is where there is no way");
      if (line.phase == HomeLine::Phase::idle && line.has_entry != (pair.place_of[i] != 0))
        fail("an idle line has an entry without a place, or a place without an entry");
    }
  }

  bool advance(Pair& pair) {
    for (const unsigned i : {0U, 1U}) {
      State& s = pair.lines[i];
      if (!s.bag.empty()) return make(pair, i, 0);
      for (std::uint16_t a = 0; a < p_.agents; ++a)
        if (act(s, a, 2)) return true;
      const std::uint32_t at_home = p_.agents * 4;
      if (make(pair, i, at_home) || make(pair, i, at_home + 1)) return true;
    }
    return false;
  }
  void check_rest(const Pair& pair) {
    for (const State& s : pair.lines) TokenExplorer::check_rest(s);
  }

  std::string key(const Pair& pair) const {
    return least_of_numberings(p_.agents, [&](const auto& order) {
      std::array<std::string, 2> lines;
      for (const unsigned i : {0U, 1U})
        lines[i] = serialized(pair.lines[i], order) + (pair.is_beside[i] ? '+' : '-') +
                   static_cast<char>('0' + pair.place_of[i]);
      if (lines[1] < lines[0]) std::swap(lines[0], lines[1]);
      return lines[0] + '#' + lines[1] + static_cast<char>('0' + pair.overflow) +
             static_cast<char>('0' + pair.places);
    });
  }

  std::uint32_t most_;
  bool moves_;
};

}  // namespace rubato::chip
