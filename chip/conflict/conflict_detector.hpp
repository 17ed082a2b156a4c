// Eager conflict detection among uncommitted attempts, line by line, where the caches say it is needed (C12,
// C14, C15). Espresso, Sec. V-A "Scalable speculation", V-B "Conflicts".
//
//   column       a live attempt's read and write sets among its tile's signatures (attempt.slot)
//   later        with a higher virtual time than the accessing task; every attempt, if that is
//   non-speculative
//   victim       a later attempt whose sets meet the access: readers and writers for a write, writers for a
//                load
//   holders      the tiles of which the coherence directory knows; sticky bits name the others Invariant: if
//   a live attempt has a recorded line in its sets, its tile may hold the line by the directory, or the
//   tile's sticky bit is set (a reader's or writer's). An access that needs no global check meets no later
//   conflicting attempt outside its tile.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/conflict/conflict_scheme.hpp"
#include "chip/conflict/reservations.hpp"
#include "chip/conflict/signature_table.hpp"
#include "chip/conflict/sticky_directory.hpp"
#include "chip/noc/network.hpp"
#include "chip/speculation/aborter.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/speculation/conflict_check.hpp"
#include "chip/vocabulary/sharers.hpp"

namespace rubato::chip {

/// Cycles that undoing one logged store takes: its log entry is read and its word written, both in the L1,
/// one access a cycle. A requester waits so long for each store of a victim that wrote the line it wants.
inline constexpr Latency kRollbackCyclesPerStore = 2;

class ConflictDetector final : public ConflictScheme {
 public:
  ConflictDetector(const Config& config, Network& network);
  void attach(Aborter& handler, std::function<std::uint64_t(LineAddr)> possible_holders) override;

  // ---- SpeculationControl: attempts ----

  /// Gives attempt.slot.
  void begin(Attempt& attempt) override;
  void stop_running(CoreId core) override;
  void go_on(Attempt& attempt) override;
  void end(Attempt& attempt) override;
  void commit(Attempt& attempt) override;
  void prefetch_end(const Attempt& attempt) const override {
    const SignatureTable& sets = tiles_[attempt.tile.value].sets;
    for (const Probe& p : attempt.reads) sets.prefetch_column(p, attempt.slot);
    for (const Probe& p : attempt.writes) sets.prefetch_column(p, attempt.slot);
  }
  void drop_writes(Attempt& attempt) override;
  /// By their signatures.
  void later_accessors(TileId from, LineAddr line, VirtualTime vt, std::vector<Attempt*>& out) const override;
  void later_attempts(VirtualTime vt, std::vector<Attempt*>& out) const override;
  /// By their exact lists, so that signatures play no part.
  void accessors(LineAddr first, LineAddr last, bool readers, std::vector<Attempt*>& out) const override;

  // AccessRecorder; right after the access, before any other.
  void record(CoreId core, LineAddr line, bool write) override;
  Reservations& reservations() override { return reservations_; }
  /// The attempt running on `core`; null: a non-speculative task or none.
  Attempt* running(CoreId core) const { return running_[core.value]; }

  // ---- ConflictCheck ----

  bool is_speculative(CoreId core) const override { return running_[core.value] != nullptr; }
  void prefetch(TileId tile, LineAddr line) const override {
    tiles_[tile.value].sets.prefetch(probe(line), tiles_[tile.value].words);
  }
  void check_tile(CoreId core, LineAddr line, AccessKind kind, VirtualTime canary, Cycle now,
                  CheckResult& result) override;
  void check_global(CoreId core, LineAddr line, AccessKind kind, std::uint64_t holders, bool writable,
                    TileId home, Cycle now, CheckResult& result) override;
  void on_lose(TileId tile, LineAddr line, bool kept) override;
  void on_llc_evict(LineAddr line) override;

  /// Registers tile.T.conflict.* and chip.conflict.*.
  void register_stats(StatRegistry& registry) const override;
  const StickyDirectory& sticky() const { return sticky_; }

  void inject(ConflictFault fault) override { fault_ = fault; }

 private:
  struct Counters {
    std::uint64_t tile_checks = 0, global_checks = 0, tiles_asked = 0, timestamps = 0, conflicts = 0,
                  false_positives = 0, blocked = 0;
  };
  struct Tile {
    SignatureTable sets;
    std::vector<Attempt*> attempts;   // by slot; null: free
    std::vector<std::uint64_t> free;  // mask of slots
    std::uint32_t live = 0;
    std::uint32_t words = 1;  // of masks, up to the last one that a live attempt needs
    Counters counters;
  };
  /// The requester of a check, and the answers of the asked tiles.
  struct Survey {
    Attempt* self;  // null: non-speculative
    TileId tile;    // the requester's
    const Probe& probe;
    bool write;
    bool writable;  // a load whose canary must cover writes
    bool is_fate_pending = false, has_earlier_writer = false, is_alone = true;
    VirtualTime canary{};
    // Whether any attempt of the tile asked last, the requester included, has read or written the line.
    bool read_here = false, written_here = false;
  };

  TileId tile_of(CoreId core) const { return TileId{core.value / cores_per_tile_}; }
  /// Valid until the next call. An access is looked for, then recorded: lines come twice.
  const Probe& probe(LineAddr line) const {
    if (probe_.line != line) probe_ = {line, h3_.hash(line)};
    return probe_;
  }
  Survey survey(CoreId core, LineAddr line, AccessKind kind, bool writable) const {
    return {.self = running_[core.value],
            .tile = tile_of(core),
            .probe = probe(line),
            .write = is_write(kind),
            .writable = writable};
  }
  template <class F>
  static void for_each_slot(const std::uint64_t* mask, std::uint32_t words, F&& f);
  Latency ask(TileId t, Survey& s);
  void settle(Survey& s, CoreId core, Cycle now, CheckResult& result);
  void clear_column(Tile& tile, const Attempt& attempt, bool writes);
  void count_false_positives(const Survey& s);

  Network* network_;
  Aborter* handler_ = nullptr;
  std::function<std::uint64_t(LineAddr)> possible_holders_;
  enum class Forwarding : std::uint8_t { on, stall, abort } forwarding_;
  bool free_checks_, exact_;
  ConflictFault fault_ = ConflictFault::none;
  Latency tile_check_, per_timestamp_;
  std::uint32_t cores_per_tile_;
  SharerGroups groups_;
  H3 h3_;
  std::vector<Tile> tiles_;
  std::vector<Attempt*> running_;  // by core
  StickyDirectory sticky_;
  Reservations reservations_;
  mutable std::vector<std::uint64_t> found_;  // scratch: a row
  mutable Probe probe_{kNoLine, {}};
  std::vector<Attempt*> victims_;  // scratch of one check
};

}  // namespace rubato::chip
