// Interface of a coherence protocol to the conflict checks of speculation (C14, C15). It decides which
// accesses are checked, and gets the verdict on an L2 hit and on a miss. It tells the check of lines that
// move. A hierarchy that warms asks for no verdict, but reports lines that it displaces, because other
// programs of the chip may speculate.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/coherence/home_map.hpp"
#include "chip/coherence/path.hpp"
#include "chip/coherence/tile_caches.hpp"
#include "chip/coherence/warming.hpp"
#include "chip/speculation/conflict_check.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

/// An access of a core that its L1 alone may not be able to serve.
struct PrivateAccess {
  CoreId core;
  LineAddr line;  ///< as outside of L1s
  AccessKind kind;
  bool write;
  bool checked;    ///< against speculative tasks (C15)
  bool unchecked;  ///< while others are: what it fills needs a global check later
  TileId tile;
  std::uint32_t l1;  ///< index in the tile

  /// Whether the access writes all bytes of the line: old data are then as good as new ones.
  bool replaces_line() const { return kind == AccessKind::untracked_line_store; }
};

class ConflictGate {
 public:
  ConflictGate(ConflictCheck& check, const Warming& warming, const HomeMap& homes)
      : check_(check), warming_(warming), homes_(homes) {}

  /// Accesses of tracked kinds are checked.
  bool is_active() const { return !warming_.is_on() && check_.is_active(); }
  /// A request of the core carries its virtual time.
  bool is_speculative(CoreId core) const { return check_.is_speculative(core); }
  void prefetch(TileId tile, LineAddr line) const {
    if (check_.is_active()) check_.prefetch(tile, line);
  }

  /// The verdict on a hit of the L2's `line`; false: blocked. If the canary does not cover the access, word
  /// goes to the home by there(home), and comes back by back(home).
  template <class There, class Back>
  bool check_hit(const PrivateAccess& r, L2Line& line, Path& path, CheckResult& result, There&& there,
                 Back&& back) {
    check_.check_tile(r.core, r.line, r.kind, line.canary, path.at(), result);
    path.note(result);
    if (!result.needs_global) return !result.blocked;
    const bool travels = !result.is_free;
    const TileId home = homes_.home_of(r.line);
    if (travels) there(home);
    // The line moves nowhere: no holder is contacted but by the check itself.
    if (!check_line(r, line, 0, path, result)) return false;
    if (travels) back(home);
    return true;
  }
  /// The verdict at the home on a line that the L2 has; `holders` are contacted anyway. False: blocked.
  bool check_line(const PrivateAccess& r, L2Line& line, std::uint64_t holders, Path& path,
                  CheckResult& result) {
    if (!check_miss(r, holders, is_writable(line.state), path, result)) return false;
    line.canary = result.canary;
    return true;
  }
  /// The verdict at the home on a line that must come, or be given to write. False: blocked.
  bool check_miss(const PrivateAccess& r, std::uint64_t holders, bool writable, Path& path,
                  CheckResult& result) {
    const TileId home = homes_.home_of(r.line);
    check_.check_global(r.core, r.line, r.kind, holders, writable, home, path.at(), result);
    path.note(result);
    return !result.blocked;
  }
  /// Resets the canary: the L2's knowledge of other tiles' accesses of the line covers no access any longer.
  static void uncover(L2Line& line) { line.canary = kMaxVirtualTime; }

  /// The tile lost the line, or (kept) the right to write it.
  void lose(TileId tile, LineAddr line, bool kept = false) {
    if (check_.is_active()) check_.on_lose(tile, line, kept);
  }
  /// The line left the LLC.
  void leave_llc(LineAddr line) {
    if (check_.is_active()) check_.on_llc_evict(line);
  }

 private:
  ConflictCheck& check_;
  const Warming& warming_;
  const HomeMap& homes_;
};

}  // namespace rubato::chip
