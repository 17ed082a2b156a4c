// The MESI protocol (C20): a tile's L2 includes its L1s, and address-interleaved LLC slices, with directories
// in their tags, include the L2s. An access is resolved in one go: the call performs it and books everything
// it uses. docs/memory-system.md gives every path's latency, term by term.
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
#include <string>
#include <vector>

#include "base/faults.hpp"
#include "chip/coherence/cache_protocol.hpp"
#include "chip/coherence/invariants.hpp"
#include "chip/coherence/llc_slice.hpp"

namespace rubato::chip {

// Bugs to put in on purpose: the checker's own tests.
// clang-format off
#define RUBATO_MESI_FAULTS(X) \
  X(exclusive_with_sharers) \
  X(lost_invalidation) \
  X(lost_recall) \
  X(lost_downgrade) \
  X(canary_after_unchecked_fill)
// clang-format on
RUBATO_DEFINE_FAULTS(MesiFault, kMesiFaultNames, RUBATO_MESI_FAULTS)

class Mesi final : public CacheProtocol {
 public:
  Mesi(const Config& config, Network& network, ConflictCheck& conflicts);

  AccessResult access(CoreId core, LineAddr line, AccessKind kind, Cycle now) override;
  void prefetch(CoreId core, LineAddr own) const override;
  void warm(CoreId core, LineAddr line, AccessKind kind) override;
  void forget(LineAddr first, LineAddr last) override;

  std::uint64_t fewest_sets() const override {
    return std::min(parts_.tiles.front().array().sets(), slices_.front().array.sets());
  }
  std::uint64_t possible_holders(LineAddr line) const override;
  void register_stats(StatRegistry& registry) const override;
  std::string check_invariants() const override;

  const LlcSlice& slice(TileId t) const { return slices_[t.value]; }

  using Fault = MesiFault;
  void inject(Fault fault) { fault_ = fault; }

 private:
  struct Request : PrivateAccess {
    std::uint32_t bytes;  ///< of its messages, from tile to home and on
  };
  /// access() that the L1 alone cannot serve: see PrivatePath.
  [[gnu::noinline]] AccessResult leave_l1(CoreId core, LineAddr own, AccessKind kind, std::uint32_t l1_slot,
                                          bool is_in_l1, Cycle now);
  /// The same, and what a hardware prefetcher makes of it.
  [[gnu::cold]] AccessResult leave_l1_prefetching(CoreId core, LineAddr own, AccessKind kind,
                                                  std::uint32_t l1_slot, bool is_in_l1, Cycle now);
  bool serve_from_home(const Request& r, std::uint32_t& slot, Path& path, ServedBy& served,
                       CheckResult& check);
  bool check_in_tile(const Request& r, L2Line& line, Path& path, CheckResult& check);
  std::uint32_t allocate(const Request& r, TileId home, Path& path);
  void fetch_from_memory(LineAddr line, TileId home, Path& path);
  Versions::Place ask_owner(const Request& r, TileId home, std::uint32_t entry, Path& path);
  void invalidate_sharers(const Request& r, TileId home, DirectoryEntry& e, Path& path);
  std::uint32_t fill_l2(const Request& r, std::uint32_t entry, LineState state, Versions::Place source,
                        Cycle at);
  /// Whether the slice's `entry` is that of a line that an L2 holds: always, but for injected faults. Without
  /// faults the tag is not read, which saves the host a cache miss.
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
  void prefetch_line(CoreId core, LineAddr own, LineAddr used, Cycle now) override;
  void evict_from_tile(TileId tile, std::uint32_t slot, Cycle at);
  void evict_from_llc(TileId home, std::uint32_t entry, Cycle at);
  void drop(LlcSlice& slice, std::uint32_t entry);

  /// Holders that a request has to contact.
  std::uint64_t contacted(const DirectoryEntry& e, bool write) const {
    return e.owned ? parts_.groups.bit(TileId{e.owner}) : write ? e.sharers : 0;
  }
  template <class F>
  void for_each_holder(const DirectoryEntry& e, F&& f) const {
    if (e.owned) {
      f(TileId{e.owner});
    } else {
      parts_.groups.for_each(e.sharers, f);
    }
  }

  Cycle send(TileId from, TileId to, std::uint32_t bytes, TrafficClass traffic, Cycle at) {
    if (is_warming() || from == to) return at;
    return network_->send(from, to, {bytes, rolling_back_ ? TrafficClass::abort : traffic}, at);
  }
  /// When what an access has begun is over. Warming begins nothing, however long its path: timed accesses do
  /// not wait for it.
  Cycle over(Cycle at) const { return is_warming() ? Cycle{} : at; }
  Cycle look_up_llc(TileId home, LineAddr line, Cycle at) {
    return parts_.look_up_llc(home, slices_[home.value].accesses, line, at);
  }

  void check_line(LineAddr line) const;
  HierarchyView view() const { return {parts_.tiles, slices_, parts_.groups, parts_.versions}; }

  Network* network_;
  bool rolling_back_ = false;
  mutable Asked asked_last_;
  Fault fault_ = Fault::none;
  std::vector<LlcSlice> slices_;
};

}  // namespace rubato::chip
