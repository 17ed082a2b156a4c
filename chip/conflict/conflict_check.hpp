// Where speculation hooks into the memory hierarchy (C14, C15): the protocol calls these at the points at
// which Swarm checks conflicts; the non-speculative chip uses NoConflictCheck. Espresso, Sec. V-A "Scalable
// speculation".
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "chip/coherence/memory_system.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

/// Outcome of a check: cycles it took, and whether the access must be issued again later.
struct CheckResult {
  Latency cycles = 0;
  bool blocked = false;
};

/// Contract: called once an access and level, before the access changes any cache state; may abort tasks.
class ConflictCheck {
 public:
  virtual ~ConflictCheck() = default;
  /// False on a chip that does not speculate: the protocol then skips every other call.
  virtual bool is_active() const = 0;
  /// An L2 hit: check against tasks of the requester's own tile.
  virtual CheckResult check_tile(CoreId core, LineAddr line, AccessKind kind, Cycle now) = 0;
  /// An L2 miss, or a hit whose canary does not cover the access: check against the tiles that may hold
  /// uncommitted accessors; `sharers` are those the directory knows, sticky bits are the check's own.
  virtual CheckResult check_global(CoreId core, LineAddr line, AccessKind kind,
                                   std::span<const TileId> sharers, Cycle now) = 0;
  /// A line left a tile's L2 or the LLC: its accessors must be remembered (sticky bits, overflow table).
  virtual void on_evict(TileId tile, LineAddr line) = 0;
  virtual void on_llc_evict(LineAddr line) = 0;
  /// True if a read may be granted E; speculative reads get S (C15).
  virtual bool may_grant_exclusive(CoreId core) const = 0;
};

class NoConflictCheck final : public ConflictCheck {
 public:
  bool is_active() const override { return false; }
  CheckResult check_tile(CoreId, LineAddr, AccessKind, Cycle) override { return {}; }
  CheckResult check_global(CoreId, LineAddr, AccessKind, std::span<const TileId>, Cycle) override {
    return {};
  }
  void on_evict(TileId, LineAddr) override {}
  void on_llc_evict(LineAddr) override {}
  bool may_grant_exclusive(CoreId) const override { return true; }
};

}  // namespace rubato::chip
