// The MESI hierarchy (chip.md section 1, C20): L1s, a tile's inclusive L2, address-interleaved inclusive LLC
// slices with in-cache directories, memory controllers. An access is resolved in one go: the call performs it
// and books everything it uses. docs/memory-system.md gives every path's latency, term by term.
//
//   home         the tile whose slice orders the line: a hash of the line's address, or the only tile
//                that uses it (spill areas)
//   forward      the home sends a request on to the tile that owns the line; the line goes straight to the
//                requester (three hops), word of it back to the home
//   recall       an LLC eviction takes the line from the tiles that hold it
//   warming      the same state changes without time, traffic or statistics
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chip/cache/host_memory.hpp"
#include "chip/cache/left_reservations.hpp"
#include "chip/coherence/home_map.hpp"
#include "chip/coherence/invariants.hpp"
#include "chip/coherence/llc_slice.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/coherence/path.hpp"
#include "chip/coherence/tile_caches.hpp"
#include "chip/dram/memory_controller.hpp"
#include "chip/noc/calendar.hpp"
#include "chip/vocabulary/sharers.hpp"

namespace rubato::chip {

class Mesi final : public MemoryHierarchy {
 public:
  Mesi(const Config& config, Network& network, ConflictCheck& conflicts);

  AccessResult access(CoreId core, LineAddr line, AccessKind kind, Cycle now) override;
  void prefetch(CoreId core, LineAddr own) const override;
  void warm(CoreId core, LineAddr line, AccessKind kind) override;
  void forget(LineAddr first, LineAddr last) override;

  L1Cache& l1i(CoreId core) override { return l1s_[core.value * 2]; }
  L1Cache& l1d(CoreId core) override { return l1s_[core.value * 2 + 1]; }
  TileId home_of(LineAddr line) const override { return homes_.home_of(line); }
  void set_private_lines(LineAddr first, std::uint64_t lines) override {
    homes_.set_private_lines(first, lines);
  }
  void set_program(TileId tile, std::uint32_t program) override { tiles_[tile.value].set_program(program); }
  std::uint64_t fewest_sets() const override {
    return std::min(tiles_.front().array().sets(), slices_.front().array.sets());
  }
  TileId controller_tile_of(LineAddr line) const override { return homes_.controller_tile_of(line); }
  std::uint64_t possible_holders(LineAddr line) const override;
  void register_stats(StatRegistry& registry) const override;
  std::string check_invariants() const override;

  const TileCaches& tile(TileId t) const { return tiles_[t.value]; }
  const LlcSlice& slice(TileId t) const { return slices_[t.value]; }
  const MemoryController& controller(std::uint32_t index) const { return controllers_[index]; }

  /// What happens when coherence.check finds a violation; by default the program ends with a report.
  void on_violation(std::function<void(const std::string&)> report) { report_ = std::move(report); }

  /// Bugs to put in on purpose: the checker's own tests.
  enum class Fault {
    none,
    exclusive_with_sharers,
    lost_invalidation,
    lost_recall,
    lost_downgrade,
    canary_after_unchecked_fill,
  };
  void inject(Fault fault) { fault_ = fault; }

 private:
  struct Request {
    CoreId core;
    LineAddr line;
    AccessKind kind;
    bool write;
    TileId tile;
    std::uint32_t l1;     // index in the tile
    bool checked;         // against speculative tasks (C15)
    bool unchecked;       // while others are: what it fills needs a global check later
    std::uint32_t bytes;  // of its requests, from tile to home and on
  };
  static bool replaces_line(const Request& r) { return r.kind == AccessKind::untracked_line_store; }
  class HitObserver final : public L1Observer {
   public:
    HitObserver(Mesi& mesi, std::uint32_t l1) : mesi_(&mesi), l1_(l1) {}
    void on_hit(std::uint32_t slot, LineAddr line, bool write) override {
      mesi_->check_use(l1_, slot, mesi_->l1s_[l1_].outer(line), write);
    }

   private:
    Mesi* mesi_;
    std::uint32_t l1_;
  };

  std::uint32_t tiles() const { return static_cast<std::uint32_t>(tiles_.size()); }
  ServedBy serve_in_tile(const Request& r, std::uint32_t slot, Path& path);
  /// access() that the L1 alone cannot serve: it lacks the line or the right to it (then not `is_in_l1`), or
  /// the line is not marked for it and is checked as an L2 hit (C15).
  [[gnu::noinline]] AccessResult leave_l1(CoreId core, LineAddr own, AccessKind kind, std::uint32_t l1_slot,
                                          bool is_in_l1, Cycle now);
  Latency l1_latency(AccessKind kind) const {
    return kind == AccessKind::fetch ? l1i_latency_ : l1d_latency_;
  }
  void use_l1(std::uint32_t l1, std::uint32_t l1_slot, LineAddr line, bool write);
  AccessResult serve_again(const Request& r, std::uint32_t l1_slot, std::uint32_t slot, Path& path);
  bool serve_from_home(const Request& r, std::uint32_t& slot, Path& path, ServedBy& served,
                       CheckResult& check);
  bool check_in_tile(const Request& r, std::uint32_t slot, Path& path, CheckResult& check);
  bool check_miss(const Request& r, const LlcSlice& slice, std::uint32_t entry, Path& path,
                  CheckResult& check);
  bool check_hit_at_home(const Request& r, std::uint32_t slot, Path& path, CheckResult& check);
  void lose(TileId tile, LineAddr line, bool kept = false) {
    if (conflicts_->is_active()) conflicts_->on_lose(tile, line, kept);
  }
  std::uint32_t allocate(const Request& r, TileId home, Path& path);
  void fetch_from_memory(LineAddr line, TileId home, Path& path);
  Versions::Place ask_owner(const Request& r, TileId home, std::uint32_t entry, Path& path);
  void invalidate_sharers(const Request& r, TileId home, DirectoryEntry& e, Path& path);
  std::uint32_t fill_l2(const Request& r, std::uint32_t entry, LineState state, Versions::Place source,
                        Cycle at);
  /// The slice's `entry` is that of a line that an L2 holds: always, but for injected faults. Else nobody
  /// waits for the host to read the tag.
  bool holds(const LlcSlice& slice, std::uint32_t entry, LineAddr line) const {
    RUBATO_DCHECK(fault_ != Fault::none || slice.array.line_at(entry) == line, "the LLC includes the L2s");
    return fault_ == Fault::none || slice.array.line_at(entry) == line;
  }
  /// An access that was announced: see prefetch().
  struct Asked {
    TileId tile{};
    LineAddr line{};
  };
  void prefetch_further(const Asked& asked) const;
  void prefetch_home(const TileCaches& tile, std::uint32_t slot) const;
  void evict_from_tile(TileId tile, std::uint32_t slot, Cycle at);
  void evict_from_llc(TileId home, std::uint32_t entry, Cycle at);
  void drop(LlcSlice& slice, std::uint32_t entry);
  void fill_l1(const Request& r, std::uint32_t l1_slot, std::uint32_t slot, bool exclusive, Path& path);

  template <class F>
  void for_each_holder(const DirectoryEntry& e, F&& f) const {
    if (e.owned) {
      f(TileId{e.owner});
    } else {
      groups_.for_each(e.sharers, f);
    }
  }

  Cycle send(TileId from, TileId to, std::uint32_t bytes, TrafficClass traffic, Cycle at) {
    if (warming_ || from == to) return at;
    return network_->send(from, to, {bytes, rolling_back_ ? TrafficClass::abort : traffic}, at);
  }
  /// Tags of an L2 or of a slice are read, in the first free cycle of its port.
  Cycle look_up_l2(TileId tile, Cycle at) {
    count(tiles_[tile.value].accesses.lookups);
    return book(l2_ports_, tile, at) + l2_latency_;
  }
  Cycle look_up_llc(TileId home, Cycle at) {
    count(slices_[home.value].accesses.lookups);
    return book(llc_ports_, home, at) + llc_latency_;
  }
  Cycle book(Calendars& ports, TileId tile, Cycle at) { return warming_ ? at : ports.book(tile.value, at); }
  void count(std::uint64_t& counter) { counter += warming_ ? 0 : 1; }

  void check_use(std::uint32_t l1, std::uint32_t slot, LineAddr line, bool write);
  void check_line(LineAddr line) const;
  HierarchyView view() const { return {tiles_, slices_, groups_, versions_}; }

  Network* network_;
  ConflictCheck* conflicts_;
  std::uint32_t cores_per_tile_;
  Latency l1i_latency_, l1d_latency_, l2_latency_, llc_latency_;
  HomeMap homes_;
  bool warming_ = false, rolling_back_ = false;
  mutable Asked asked_last_;
  Fault fault_ = Fault::none;
  SharerGroups groups_;
  Versions versions_;
  HostArena arena_;
  LeftReservations left_reservations_;
  std::vector<L1Cache> l1s_;  // core * 2, + 1 for data
  std::vector<TileCaches> tiles_;
  std::vector<LlcSlice> slices_;
  Calendars l2_ports_, llc_ports_;
  std::vector<MemoryController> controllers_;
  std::vector<HitObserver> observers_;
  std::function<void(const std::string&)> report_;
};

}  // namespace rubato::chip
