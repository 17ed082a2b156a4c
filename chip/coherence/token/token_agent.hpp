// A tile as an agent of the token protocols: its caches, and what it has of each line beside them: tokens, a
// request under way, an eviction that waits to be granted.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/coherence/tile_caches.hpp"
#include "chip/coherence/token/agent_rules.hpp"
#include "chip/coherence/token/broadcast_rules.hpp"
#include "chip/coherence/token/line_records.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

struct AgentRecord {
  AgentLine line{};
  std::uint64_t givers = 0;       ///< tiles whose tokens came for the request under way, as SharerGroups'
  std::uint32_t waiters = 0;      ///< cores of the tile, a bit each
  std::uint32_t prefetcher = 0;   ///< of the request under way: 1 + the core of the tile, if it is a prefetch
  std::uint32_t round = 0;        ///< of is_unblock_due and is_reserved: tells a late timer
  std::uint64_t transaction = 0;  ///< of the request that was fulfilled
  AccessParts parts{};            ///< of the request that was fulfilled
  ServedBy served = ServedBy::llc;
  Cycle made = kNever;  ///< when the access was made for which the request is; kNever: while warming
  // Members of tokenb:
  PersistentEntry persistent{};
  Cycle asked{};  ///< when the request under way was made first
  std::uint32_t tries = 0;
  bool was_here = false;     ///< of is_unblock_due: the L2 had the line, and got the right to write it
  bool is_reserved = false;  ///< what was brought has been used, by an lr, and is kept for its sc (K13)

  bool is_idle() const { return line.is_idle() && persistent == PersistentEntry{}; }
};

/// An access of a line that no request could be made for: all entries were in use.
struct RefusedAccess {
  CoreId core;
  LineAddr line;
  Cycle since;  ///< when it was made
};

struct TokenAgent {
  explicit TokenAgent(TileCaches& tile) : caches(tile) {}
  AgentRecord* find(LineAddr line) const { return lines.find(line); }
  void drop_if_idle(LineAddr line) {
    if (const AgentRecord* const record = find(line); record != nullptr && record->is_idle())
      lines.erase(line);
  }

  TileCaches& caches;
  LineRecords<AgentRecord> lines;
  std::uint32_t due = 0;               // lines whose unblock is
  std::uint32_t open = 0;              // those and the lines with a request under way: entries (MSHRs) in use
  std::vector<RefusedAccess> refused;  // in the order in which they were made
  std::uint64_t refusals = 0;
};

}  // namespace rubato::chip
