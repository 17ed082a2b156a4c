// A memory system whose caches are a Hierarchy: the part that is the same under every protocol. A protocol
// derives from it and serves the accesses that leave their L1.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chip/coherence/conflict_gate.hpp"
#include "chip/coherence/hierarchy.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/coherence/prefetcher.hpp"
#include "chip/coherence/private_path.hpp"

namespace rubato::chip {

class CacheProtocol : public MemoryHierarchy {
 public:
  L1Cache& l1i(CoreId core) final { return parts_.l1s[core.value * 2]; }
  L1Cache& l1d(CoreId core) final { return parts_.l1s[core.value * 2 + 1]; }
  TileId home_of(LineAddr line) const final { return parts_.homes.home_of(line); }
  TileId controller_tile_of(LineAddr line) const final { return parts_.homes.controller_tile_of(line); }
  void set_private_lines(LineAddr first, std::uint64_t lines) final {
    parts_.homes.set_private_lines(first, lines);
  }
  void set_program(TileId tile, std::uint32_t program) final {
    parts_.tiles[tile.value].set_program(program);
    parts_.uses.add(program);
  }
  void end_program(std::uint32_t program) final { parts_.uses.end(program); }
  void enter_program(CoreId core, std::uint32_t program) final;
  const TileCaches& tile(TileId t) const { return parts_.tiles[t.value]; }
  const MemoryController& controller(std::uint32_t index) const { return parts_.controllers[index]; }

  /// Sets the report of violations that coherence.check finds; by default the program ends with a report.
  void on_violation(std::function<void(const std::string&)> report) { parts_.report = std::move(report); }

 protected:
  /// See Hierarchy.
  CacheProtocol(const Config& config, ConflictCheck& conflicts, std::size_t home_bytes)
      : parts_(config, home_bytes),
        gate_(conflicts, parts_.warming, parts_.homes),
        private_path_(parts_, gate_) {
    if (config.l1d.prefetcher != "none") prefetchers_.assign(config.chip.cores, Prefetcher(config.l1d));
  }

  std::uint32_t tiles() const { return static_cast<std::uint32_t>(parts_.tiles.size()); }
  void count(std::uint64_t& counter, std::uint64_t more = 1) { parts_.warming.count(counter, more); }
  bool is_warming() const { return parts_.warming.is_on(); }

  // ---- Hardware prefetchers ----

  bool has_prefetchers() const { return !prefetchers_.empty(); }
  /// Kind of an access that left its L1, for the prefetcher; the protocol says it. `nothing`: an access that
  /// is made again, or whose line another one has asked for.
  enum class Seen : std::uint8_t { nothing, miss, first_use };
  /// An access that leaves its L1, as leave(l1_slot, is_in_l1) serves it; then the prefetches that follow.
  template <class Leave>
  AccessResult leave_with_prefetcher(CoreId core, LineAddr own, AccessKind kind, std::uint32_t l1_slot,
                                     bool is_in_l1, Cycle now, Leave&& leave) {
    seen_ = Seen::nothing;
    if (kind == AccessKind::fetch || l1_slot != L1Cache::kNoSlot) return leave(l1_slot, is_in_l1);
    AccessResult result;
    L1Cache& l1 = l1d(core);
    if (const std::uint32_t slot = l1.find_untouched(own); slot != L1Cache::kNoSlot) {
      l1.set_touched(slot);
      const Cycle there = prefetchers_[core.value].take(own);
      result = private_path_.access(core, own, kind, now, leave);
      end_first_use(core, there, result);
    } else {
      result = leave(l1_slot, is_in_l1);
    }
    if (seen_ != Seen::nothing && !is_warming()) train(core, own, kind, now);
    return result;
  }
  /// Brings the line into the core's L1 if that needs no waiting and displaces nothing of the line `used`.
  virtual void prefetch_line(CoreId core, LineAddr own, LineAddr used, Cycle now) = 0;
  void register_prefetchers(StatRegistry& registry) const;

  Seen seen_ = Seen::nothing;
  std::vector<Prefetcher> prefetchers_;  // by core; empty: l1d.prefetcher is none

  Hierarchy parts_;
  ConflictGate gate_;
  PrivatePath private_path_;

 private:
  void end_first_use(CoreId core, Cycle there, AccessResult& result);
  void train(CoreId core, LineAddr own, AccessKind kind, Cycle now);
};

}  // namespace rubato::chip
