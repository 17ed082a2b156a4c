// Rules of a home for one line (K31, K33, K36): functions of the line's state and one event, one transaction
// at a time, but that reads join a read. Queues, arrays, time and statistics belong to the controller, so the
// controller and the explorer of all states run the same code. The policies differ in what a miss of the
// directory asks:
//
//   sparse   no node: a line that is out has an entry; evicting the entry takes every copy
//   mosaic   all agents, always; an entry for every request that missed
//   flask    the LLC, then the filter, then all agents; entries for lines that a probe found shared
//
//   joins    a read is served while another one is open, if the slice has a token, or the owner is known and
//   has
//            what it was sent. A write, an eviction and a recall wait until all readers have performed
//   out      some token of the line is neither in its home nor in memory
//   coarse   an entry's vector has a bit for several agents (K35). It names all agents with tokens, and
//   others
//            beside: what goes to its agents goes to all of them, and the home waits until each has answered
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "chip/coherence/token/token_message.hpp"
#include "chip/vocabulary/sharers.hpp"

namespace rubato::chip {

enum class TokenPolicy : std::uint8_t { sparse, mosaic, flask };
/// Choices that the publications leave open.
struct TokenVariant {
  bool probes_when_needed = false;  ///< mosaic asks no agent if the LLC has all tokens (K37)
  bool counts_chip = false;  ///< the filter counts all lines on the chip, not only those that are out (K47)
  std::uint32_t sharer_bits = 64;  ///< of an entry, at most; fewer than agents: a coarse vector (K35)
};

struct HomeLine {
  enum class Phase : std::uint8_t { idle, get, put, recall, write_back };
  static constexpr std::uint16_t kNoAgent = 0xffff;

  Tokens llc{};  ///< in the slice, with valid data if there are any; in a recall, collected so far
  Phase phase = Phase::idle;
  bool has_entry = false;
  bool is_owner_on_its_way = false;  ///< the owner token of an entry may not have reached its owner
  bool goes_to_memory = false;       ///< of a recall
  bool was_served = false;           ///< the LLC, an entry's agents or memory give the requester something
  std::uint16_t owner = kNoAgent;    ///< of an entry: the agent with the owner token, or none
  std::uint16_t missing = 0;         ///< answers to wait for
  std::uint16_t blocking = 0;        ///< requesters that have yet to perform
  std::uint16_t found_owner = kNoAgent;
  std::uint64_t sharers =
      0;                    ///< of an entry: the agents with tokens, while the line is idle; see SharerGroups
  std::uint64_t found = 0;  ///< agents of which a probe found tokens, as `sharers`
  std::uint64_t version = 0;
  TokenMessage request{};
  bool operator==(const HomeLine&) const = default;

  /// Nothing is known of the line here.
  bool is_empty() const { return phase == Phase::idle && llc.count == 0 && !has_entry; }
};

struct HomeOutcome {
  enum class Filter : std::uint8_t { none, insert, erase };
  std::array<TokenMessage, 2> sends{};
  std::uint32_t count = 0;
  TokenMessage many{};  ///< goes to every agent of `targets`
  std::optional<TileSet> targets;
  Filter filter = Filter::none;  ///< the line is counted, or no longer (K48)
  bool wants_entry = false;      ///< has_entry was set: the controller finds it a place or resets it
  bool frees_entry = false;
  bool closes = false;
  bool is_rebuilt = false;         ///< a probe found tokens of a line without an entry
  bool is_false_positive = false;  ///< a probe found none, and memory is asked
  const char* violation = nullptr;

  void send(const TokenMessage& m) { sends[count++] = m; }
};

class HomeRules {
 public:
  /// `all`: the tokens of a line, T, at least as many as agents.
  HomeRules(TokenPolicy policy, std::uint32_t agents, std::uint32_t all, TokenVariant variant = {})
      : policy_(policy), variant_(variant), agents_(agents, variant.sharer_bits), all_(all) {}
  const SharerGroups& agents() const { return agents_; }

  /// The request may begin: the line is idle, or the request is a read that joins others.
  bool admits(const HomeLine& line, const TokenMessage& request) const;
  /// The line's next request, which it admits. `may_be_out`: the filter's answer, asked where the policy has
  /// one.
  HomeOutcome accept(HomeLine& line, const TokenMessage& request, bool may_be_out) const;
  /// Takes every token back to the home (H13) and, if told so, to memory (H11, H12). The line is idle.
  HomeOutcome recall(HomeLine& line, bool to_memory) const;
  HomeOutcome receive(HomeLine& line, const TokenMessage& m) const;
  /// Memory's answer to the requester that a home named to it: the line is nowhere else.
  TokenMessage memory_answer(std::uint16_t requester, std::uint64_t version) const {
    return {.kind = TokenMessage::Kind::tokens,
            .to = TokenMessage::To::agent,
            .has_data = true,
            .agent = requester,
            .requester = requester,
            .tokens = {.count = static_cast<std::uint16_t>(all_), .owner = true},
            .version = version};
  }

 private:
  std::uint64_t bit(std::uint16_t agent) const { return agents_.bit(TileId{agent}); }
  TileSet others(std::uint64_t agents, std::uint16_t but) const { return {agents_, agents, TileId{but}}; }
  void serve_by_entry(HomeLine& line, HomeOutcome& out) const;
  void serve_without_entry(HomeLine& line, bool may_be_out, HomeOutcome& out) const;
  void give(HomeLine& line, std::uint16_t tokens, bool with_data, HomeOutcome& out) const;
  void ask(HomeLine& line, TokenMessage::Kind kind, const TileSet& targets, HomeOutcome& out) const;
  void read_memory(HomeLine& line, HomeOutcome& out) const;
  void make_entry(HomeLine& line, std::uint64_t sharers, std::uint16_t owner, HomeOutcome& out) const;
  void end_probe(HomeLine& line, HomeOutcome& out) const;
  void end_recall(HomeLine& line, HomeOutcome& out) const;
  void close_if_done(HomeLine& line, HomeOutcome& out) const;
  void close(HomeLine& line, HomeOutcome& out) const;
  bool is_write(const HomeLine& line) const { return line.request.kind == TokenMessage::Kind::get_exclusive; }

  TokenPolicy policy_;
  TokenVariant variant_;
  SharerGroups agents_;
  std::uint32_t all_;
};

}  // namespace rubato::chip
