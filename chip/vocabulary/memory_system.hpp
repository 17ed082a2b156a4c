// The memory system as a core sees it (C20): every L1 miss goes through one call. L1 hits never come here:
// the core asks its own L1 (chip/cache/l1_cache.hpp) inline.
//
// Glossary:
//   access      a core's load, store, atomic or instruction fetch of one line
//   Done        performed: the L1 holds the line with the rights it needs; data is there at `cycle`
//   Blocked     it cannot be performed now; the core is woken and issues it again. `protocol`: messages are
//               under way, and AccessClient gets a call when they have brought the line and rights
//   levels      where the data came from; parts say where the cycles between issue and Done went (C23)
// Values do not travel here: guest memory always holds the newest (possibly speculative) value, and an access
// is performed in the order of calls.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Untracked accesses (own stack, undo log, spill area) and fetches are neither checked nor recorded (C7);
/// `rollback` is the store that restores a value of an aborted task: unchecked, its traffic is of class
/// aborts. `untracked_line_store` writes all bytes of the line at once: the old ones are not needed, so only
/// the right to write travels, and memory is not read. `reserve` is the load of a load-reserved: a protocol
/// may ask for the right that the store-conditional will need (K13). `prefetch` is a hardware prefetcher's
/// untracked read within a protocol; no core makes one.
enum class AccessKind : std::uint8_t {
  load,
  store,
  atomic,
  fetch,
  untracked_load,
  untracked_store,
  untracked_line_store,
  rollback,
  reserve,
  prefetch
};
constexpr bool is_write(AccessKind kind) {
  return kind == AccessKind::store || kind == AccessKind::atomic || kind == AccessKind::untracked_store ||
         kind == AccessKind::untracked_line_store || kind == AccessKind::rollback;
}
constexpr bool is_tracked(AccessKind kind) {
  return kind == AccessKind::load || kind == AccessKind::store || kind == AccessKind::atomic ||
         kind == AccessKind::reserve;
}
enum class ServedBy : std::uint8_t { l1, l2, other_l1, llc, other_tile, memory };
enum class BlockReason : std::uint8_t { none, conflict_pending, protocol };

/// Cycles of one access by where they were spent; their sum is Done.cycle - now.
struct AccessParts {
  std::uint32_t l1 = 0, l2 = 0, llc = 0, memory = 0, network = 0, check = 0;
};

struct AccessResult {
  bool done = true;
  BlockReason blocked = BlockReason::none;
  bool disturbed = false;  ///< it aborted tasks: other cores may have events before the next one known
  ServedBy served_by = ServedBy::l1;
  Cycle cycle{};
  AccessParts parts{};
};

/// Contract for every protocol:
///   - calls come in time order of `now` up to the look-ahead window; an access may be repeated until Done;
///   - after Done the requester's L1 holds the line (modified for store and atomic) and `cycle` >= now;
///   - deterministic; no allocation in steady state.
class MemorySystem {
 public:
  virtual ~MemorySystem() = default;
  virtual AccessResult access(CoreId core, LineAddr line, AccessKind kind, Cycle now) = 0;
  /// An access of `line`, which the L1 cannot serve, follows soon: software prefetch of the host memory that
  /// it will read. Only a hint.
  virtual void prefetch(CoreId, LineAddr) const {}
  /// The parts of the cycles for which the protocol blocked the core, if it knows them; then zeros again.
  virtual AccessParts take_waited(CoreId) { return {}; }
  /// Functional warming (C4): brings the line where an access would, without time, traffic or statistics.
  virtual void warm(CoreId core, LineAddr line, AccessKind kind) = 0;
  /// Drops every cached copy of lines in [first, last]: the pages behind them were unmapped or changed (C18).
  virtual void forget(LineAddr first, LineAddr last) = 0;
};

/// The receiver of a protocol's message that a blocked access of `line` can be issued again: now, before
/// others are asked for the line again (K10). The core may be at something else by then.
class AccessClient {
 public:
  virtual ~AccessClient() = default;
  virtual void on_access_ready(CoreId core, LineAddr line, Cycle now) = 0;
};

}  // namespace rubato::chip
