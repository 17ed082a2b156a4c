// Messages between agents, homes and memory of the token protocols about one line (K23), and the tokens that
// such a message carries (K27).
//
//   agent      a tile's private caches: holds tokens of lines
//   home       the LLC slice that orders a line's transactions
//   R          the agent whose request a transaction serves
//   owner      token: one of a line's; its holder answers for the data, and dirty travels with it
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "chip/vocabulary/message.hpp"

namespace rubato::chip {

/// A number of a line's tokens, in a place or on their way.
struct Tokens {
  std::uint16_t count = 0;
  bool owner = false;  ///< the owner's is among them
  bool dirty = false;  ///< with it: the data are newer than memory
  bool operator==(const Tokens&) const = default;
};
/// `more` come to the same place.
constexpr void add(Tokens& to, const Tokens& more) {
  to.count = static_cast<std::uint16_t>(to.count + more.count);
  to.owner |= more.owner;
  to.dirty |= more.dirty;
}

struct TokenMessage {
  enum class Kind : std::uint8_t {
    get_shared,     ///< R wants data and a token
    get_exclusive,  ///< R wants data and all tokens
    forward_shared,
    forward_exclusive,
    probe_shared,
    probe_exclusive,
    probe_count,  ///< says how many tokens it has, and keeps them
    recall,
    tally,  ///< tokens kept (of a shared probe, or a count) or given
    tokens,
    unblock,
    put_request,
    put_grant,
    put_data,
    put_none,
    memory_read,
    memory_write,
    memory_acknowledgement,
    flush,  ///< of flask: all lines of the home that a saturated counter counts are to come back (K53)
    flush_acknowledgement,
    // Kinds of tokenb (K44):
    persist,          ///< R starves
    activate,         ///< all tokens of the line go to R until further notice
    deactivate,       ///< they do no longer
    acknowledgement,  ///< of the two
    done              ///< R has performed
  };
  enum class To : std::uint8_t { agent, home, memory };

  static constexpr std::uint16_t kHome = 0xffff;

  Kind kind{};
  To to{};
  bool has_data = false;            ///< the line's data come along
  bool requester_has_data = false;  ///< of a request or forward: R needs only tokens
  bool is_read = false;             ///< of a persistent request: R reads, so others may keep a token
  std::uint16_t from = kHome;       ///< the sending agent, or kHome (and memory)
  std::uint16_t agent = 0;          ///< the receiver, if `to` says so
  std::uint16_t requester = 0;
  Tokens tokens{};
  std::uint64_t version = 0;  ///< of the data (C21)
  bool operator==(const TokenMessage&) const = default;
};
inline constexpr unsigned kTokenMessageKinds = 25;

constexpr std::string_view name_of(TokenMessage::Kind kind) {
  constexpr std::string_view names[] = {"get_shared",
                                        "get_exclusive",
                                        "forward_shared",
                                        "forward_exclusive",
                                        "probe_shared",
                                        "probe_exclusive",
                                        "probe_count",
                                        "recall",
                                        "tally",
                                        "tokens",
                                        "unblock",
                                        "put_request",
                                        "put_grant",
                                        "put_data",
                                        "put_none",
                                        "memory_read",
                                        "memory_write",
                                        "memory_acknowledgement",
                                        "flush",
                                        "flush_acknowledgement",
                                        "persist",
                                        "activate",
                                        "deactivate",
                                        "acknowledgement",
                                        "done"};
  return names[static_cast<unsigned>(kind)];
}

/// Control takes 8 bytes, with the line's data 72 (K23).
constexpr std::uint32_t bytes_of(const TokenMessage& m) { return m.has_data ? 72 : 8; }
/// Requests, data, and what goes to memory and back are memory's traffic; all else is coherence's (C22).
constexpr TrafficClass traffic_of(const TokenMessage& m) {
  using Kind = TokenMessage::Kind;
  const bool is_memory = m.has_data || m.kind == Kind::get_shared || m.kind == Kind::get_exclusive ||
                         m.kind == Kind::memory_read || m.kind == Kind::memory_acknowledgement;
  return is_memory ? TrafficClass::memory : TrafficClass::coherence;
}

}  // namespace rubato::chip
