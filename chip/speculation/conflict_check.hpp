// Hooks of speculation in the memory hierarchy (C14, C15). The protocol calls them at the points at which
// Swarm checks conflicts; NoConflictCheck lets a hierarchy stand alone, in tests. Espresso, Sec. V-A
// "Scalable speculation".
//
//   canary   of a line in a tile's L2: the highest virtual time of other tiles' uncommitted accessors that
//            the line's last global check found to precede it. kMinVirtualTime: none; kMaxVirtualTime: the
//            line was filled unchecked. An L2 hit at or below it needs a global check.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

/// Outcome of a check.
struct CheckResult {
  Latency cycles = 0;    ///< it took
  bool blocked = false;  ///< the access must be issued again when the core is woken; nothing was recorded
  bool needs_global = false;  ///< of a tile check: the canary does not cover the access
  bool is_free = false;       ///< then, of a hit: word from the home comes at once (conflict.free_checks)
  bool disturbed = false;     ///< tasks were aborted
  bool exclusive = true;      ///< a load may be granted E: non-speculative, no other accessor uncommitted
  VirtualTime canary{};       ///< of a global check: the line's new canary in the requester's L2
};

/// Contract: checks are called once an access and level, before the access changes any cache state, for
/// tracked kinds only; they may abort tasks, which restores memory but changes no cache state.
class ConflictCheck {
 public:
  virtual ~ConflictCheck() = default;
  /// False while nothing has ever speculated: the protocol then skips every other call.
  bool is_active() const { return active_; }
  /// True if a speculative task runs on `core`: its requests carry its virtual time.
  virtual bool is_speculative(CoreId) const { return false; }
  /// An access of `line` from `tile` follows soon: software prefetch of the host memory that its check will
  /// read. Only a hint.
  virtual void prefetch(TileId, LineAddr) const {}
  /// An L2 hit on a line with this canary: check against tasks of the requester's own tile. All of `result`
  /// is written in place, as below: a copy would make the host wait for its parts.
  virtual void check_tile(CoreId core, LineAddr line, AccessKind kind, VirtualTime canary, Cycle now,
                          CheckResult& result) = 0;
  /// An L2 miss, or a hit whose canary does not cover the access, at the line's home: check against the
  /// requester's tile and the tiles that may hold uncommitted accessors. `holders` are those the directory
  /// knows and the access will contact (bits as SharerGroups'): the owner for a load, all holders for a
  /// write; sticky bits are the check's own. `writable`: the requester's tile holds the line exclusive or
  /// modified and keeps it so: the new canary must cover its later writes too.
  virtual void check_global(CoreId core, LineAddr line, AccessKind kind, std::uint64_t holders, bool writable,
                            TileId home, Cycle now, CheckResult& result) = 0;
  /// `tile` lost the line, or (kept) the right to write it: evicted, invalidated, recalled, downgraded. Its
  /// uncommitted accessors must be remembered (sticky bits).
  virtual void on_lose(TileId tile, LineAddr line, bool kept) = 0;
  /// The line left the LLC: its sticky bits move to the overflow table.
  virtual void on_llc_evict(LineAddr line) = 0;

 protected:
  bool active_ = false;  ///< not behind a virtual call: every access asks
};

class NoConflictCheck final : public ConflictCheck {
 public:
  void check_tile(CoreId, LineAddr, AccessKind, VirtualTime, Cycle, CheckResult& result) override {
    result = {};
  }
  void check_global(CoreId, LineAddr, AccessKind, std::uint64_t, bool, TileId, Cycle,
                    CheckResult& result) override {
    result = {};
  }
  void on_lose(TileId, LineAddr, bool) override {}
  void on_llc_evict(LineAddr) override {}
};

}  // namespace rubato::chip
