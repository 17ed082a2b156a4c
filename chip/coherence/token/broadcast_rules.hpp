// Rules of nodes for one line under tokenb (K42 to K45), where no home orders requests: functions of the
// line's state and one event. No caches, time or statistics are here, so the controllers and the explorer of
// all states run the same code.
//
//   node       an agent, the line's LLC slice, or its memory controller
//   transient  a request as it is sent first: nodes answer it with what they have, or not at all
//   active     a persistent request whose turn it is: every node sends all tokens of the line to its
//              requester, those that arrive later too, and answers no transient request
//   read turn  the turn of a persistent request that reads: an agent with a copy keeps a token and the copy,
//              unless its only token is the owner's
//   replacing  a store of all bytes of a line needs no data: memory that has all tokens sends them without.
//              Only that store can use them. An agent sends them back to memory, whose data are good, if by
//              then it waits for nothing or something else, or another's persistent request is active
//   kept       an agent keeps what it asked for until a core has used it, and what comes while its persistent
//              request is active; what is not in its cache then is "in the buffer"
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/coherence/token/agent_rules.hpp"

namespace rubato::chip {

/// State at an agent of the persistent requests for one line.
struct PersistentEntry {
  enum class Own : std::uint8_t { none, asked, active, done };
  static constexpr std::uint16_t kNoAgent = 0xffff;
  Own own = Own::none;              ///< of its own one
  bool own_reads = false;           ///< its own one began as a read
  bool is_read_turn = false;        ///< of the active one
  std::uint16_t active = kNoAgent;  ///< whose is active
  bool operator==(const PersistentEntry&) const = default;
};

class BroadcastRules {
 public:
  /// `all`: the tokens of a line, T.
  explicit BroadcastRules(std::uint32_t all) : all_(all) {}

  /// The request goes to every other node; so does the same message when it is sent again.
  AgentOutcome request(AgentLine& line, std::uint16_t self, bool write, bool replaces = false) const;
  TokenMessage request_of(const AgentLine& line, std::uint16_t self) const;
  /// The agent's request starves: too many tries had no sufficient answer. Precondition: its own entry is
  /// `none`.
  AgentOutcome persist(const AgentLine& line, PersistentEntry& p, std::uint16_t self) const;
  /// The line that the agent asked for has been used, or no core wants it any longer.
  AgentOutcome release(AgentLine& line, PersistentEntry& p, std::uint16_t self) const;
  /// The caches have lost the line, which no request is under way for.
  AgentOutcome evict(AgentLine& line, const PersistentEntry& p, std::uint16_t self) const;
  AgentOutcome receive(AgentLine& line, PersistentEntry& p, std::uint16_t self, const TokenMessage& m) const;

  /// `most`: all but one that is not the owner's.
  enum class Gift : std::uint8_t { nothing, one, most, all };
  /// Tokens that `m` will make the agent give, of those in its caches.
  Gift gift(const AgentLine& line, const PersistentEntry& p, std::uint16_t self, const TokenMessage& m) const;
  /// Tokens that an agent with a free line gives to the requester whose turn it is; nothing if there is none.
  Gift gift_of_turn(const AgentLine& line, const PersistentEntry& p, std::uint16_t self) const;

 private:
  void give(AgentLine& line, std::uint16_t self, std::uint16_t to, Gift gift, AgentOutcome& out) const;
  void give_home(AgentLine& line, std::uint16_t self, AgentOutcome& out) const;
  void take(AgentLine& line, const PersistentEntry& p, std::uint16_t self, const TokenMessage& m,
            AgentOutcome& out) const;
  void finish(PersistentEntry& p, std::uint16_t self, AgentOutcome& out) const;

  std::uint32_t all_;
};

/// An LLC slice's tokens of a line, or memory's.
struct StoreLine {
  Tokens tokens{};
  std::uint16_t active = PersistentEntry::kNoAgent;
  std::uint64_t version = 0;
  bool operator==(const StoreLine&) const = default;
};

class StoreRules {
 public:
  StoreRules(std::uint32_t all, bool is_memory) : all_(all), is_memory_(is_memory) {}

  AgentOutcome receive(StoreLine& line, const TokenMessage& m) const;
  /// Eviction of a slice's line, for its place: all its tokens go to memory.
  AgentOutcome evict(StoreLine& line) const;

 private:
  void give(StoreLine& line, std::uint16_t to, std::uint16_t tokens, bool with_data, AgentOutcome& out) const;

  std::uint32_t all_;
  bool is_memory_;
};

}  // namespace rubato::chip
