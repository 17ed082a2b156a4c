// Rules of an agent for one line (K34): functions of the line's state and one event. No caches, time or
// statistics are here, so the controllers and the explorer of all states run the same code.
//
//   buffer     evicted lines stay here, readable, until their home has granted the eviction: an agent answers
//              from it, and takes a line back without a message
//   loss       the agent has lost the right to write, or its copy
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "chip/coherence/token/token_message.hpp"

namespace rubato::chip {

struct AgentLine {
  enum class Want : std::uint8_t { none, shared, exclusive };
  Tokens held{};
  Want want = Want::none;       ///< a request is under way
  bool has_data = false;        ///< valid: no data without a token
  bool is_unblock_due = false;  ///< the request is fulfilled; the transaction closes when it is used (K10)
  bool is_replacing = false;    ///< of a request: the writer needs no data
  bool is_put_pending = false;  ///< PutReq was sent and has had no answer
  bool is_in_buffer = false;
  std::uint64_t version = 0;
  bool operator==(const AgentLine&) const = default;

  bool is_readable() const { return held.count > 0 && has_data; }
  bool is_writable(std::uint32_t all) const { return held.count == all && has_data; }
  bool is_idle() const { return *this == AgentLine{}; }
};

/// Outcome of an event at an agent: at most two messages, and what the agent does.
struct AgentOutcome {
  enum class Loss : std::uint8_t { none, right, copy };
  std::array<TokenMessage, 2> sends{};
  std::uint32_t count = 0;
  Loss loss = Loss::none;
  bool is_fulfilled = false;        ///< what the agent asked for is there
  const char* violation = nullptr;  ///< what can never happen, happened

  void send(const TokenMessage& m) { sends[count++] = m; }
};

class AgentRules {
 public:
  /// `all`: the tokens of a line, T; `is_coarse`: homes forward writes to agents of which they do not know
  /// whether they have any, and wait for the answer of each (K35).
  explicit AgentRules(std::uint32_t all, bool is_coarse = false) : all_(all), is_coarse_(is_coarse) {}

  /// An access that the line cannot serve and that has no request under way; `replaces`: all bytes will be
  /// written.
  AgentOutcome request(AgentLine& line, std::uint16_t self, bool write, bool replaces = false) const;
  /// The fulfilled request has been used, or no core wants the line any longer.
  AgentOutcome unblock(AgentLine& line, std::uint16_t self) const;
  /// The line is chosen as a victim; no request of it is under way.
  AgentOutcome evict(AgentLine& line, std::uint16_t self) const;
  /// An access finds the line in the buffer.
  void take_back(AgentLine& line) const { line.is_in_buffer = false; }
  AgentOutcome receive(AgentLine& line, std::uint16_t self, const TokenMessage& m) const;

 private:
  void give_one(AgentLine& line, std::uint16_t self, const TokenMessage& m, AgentOutcome& out) const;
  void give_all(AgentLine& line, std::uint16_t self, const TokenMessage& m, TokenMessage::To to,
                AgentOutcome& out) const;
  void take(AgentLine& line, const TokenMessage& m, AgentOutcome& out) const;
  void tally(std::uint16_t self, std::uint32_t count, bool owner, AgentOutcome& out) const;

  std::uint32_t all_;
  bool is_coarse_;
};

}  // namespace rubato::chip
