// How the MESI hierarchy resolves an access (C20): the tile, then the home, then the owner, sharers or
// memory.
// SPDX-License-Identifier: MIT
#include "chip/coherence/mesi.hpp"

#include "base/check.hpp"
#include "base/prefetch.hpp"

namespace rubato::chip {

namespace {
constexpr auto kL1 = &AccessParts::l1, kL2 = &AccessParts::l2, kLlc = &AccessParts::llc,
               kMemory = &AccessParts::memory, kNetwork = &AccessParts::network;
}  // namespace

AccessResult Mesi::access(CoreId core, LineAddr line, AccessKind kind, Cycle now) {
  rolling_back_ = kind == AccessKind::rollback;
  return private_path_.access(core, line, kind, now, [&](std::uint32_t l1_slot, bool is_in_l1) {
    if (has_prefetchers()) [[unlikely]]
      return leave_l1_prefetching(core, line, kind, l1_slot, is_in_l1, now);
    return leave_l1(core, line, kind, l1_slot, is_in_l1, now);
  });
}

AccessResult Mesi::leave_l1(CoreId core, LineAddr own, AccessKind kind, std::uint32_t l1_slot, bool is_in_l1,
                            Cycle now) {
  Path path(now);
  path.spend(kL1, parts_.l1_latency(kind));
  Request r{private_path_.describe(core, own, kind), message::kRequest};
  if (r.checked && gate_.is_speculative(core)) r.bytes += message::kVirtualTime;
  TileCaches& tile = parts_.tiles[r.tile.value];

  tile.prefetch(r.l1, r.line);

  // 1. The tile's L2: its port, its latency, and the line's arrival if it is still on its way.
  path.until(kL2, parts_.look_up_l2(r.tile, path.at()));
  std::uint32_t slot = tile.array().find(r.line);
  const bool was_here = slot != TileCaches::kNoSlot;
  if (was_here) path.until(kL2, tile.array()[slot].ready);

  if (l1_slot == L1Cache::kNoSlot) tile.prefetch_victim(r.l1, r.line);

  // 2. Served within the tile, or by the line's home.
  ServedBy served = ServedBy::l2;
  CheckResult check;
  if (slot != TileCaches::kNoSlot && (!r.write || is_writable(tile.array()[slot].state))) {
    if (r.checked && !check_in_tile(r, tile.array()[slot], path, check))
      return path.blocked(BlockReason::conflict_pending);
    tile.array().use(slot);
    if (is_in_l1) {
      private_path_.count_hit(r, slot, l1_slot);
      private_path_.use_again(r, l1_slot);
      parts_.served.count(r.tile, ServedBy::l2, path.at() - now);
      return path.done(ServedBy::l2);
    }
    if (private_path_.ask_l1s(r, slot, path)) {
      count(tile.counters.other_l1);
      served = ServedBy::other_l1;
    }
    private_path_.count_hit(r, slot, L1Cache::kNoSlot);
  } else if (!serve_from_home(r, slot, path, served, check)) {
    return path.blocked(BlockReason::conflict_pending);
  }

  // 3. Into the L1, from the L2 unless the line has just come.
  private_path_.fill_l1(r, l1_slot, slot, check.exclusive, was_here, path);
  if (parts_.versions.is_on()) check_line(r.line);
  if (r.kind != AccessKind::prefetch)
    parts_.served.count(ServedAccesses::is_in_tile(served) ? r.tile : home_of(r.line), served,
                        path.at() - now);
  return path.done(served);
}

bool Mesi::serve_from_home(const Request& r, std::uint32_t& slot, Path& path, ServedBy& served,
                           CheckResult& check) {
  TileCaches& tile = parts_.tiles[r.tile.value];
  const TileId home = home_of(r.line);
  LlcSlice& slice = slices_[home.value];
  const bool upgrade = slot != TileCaches::kNoSlot;

  slice.array.prefetch(r.line);
  const std::uint32_t victim = upgrade ? TileCaches::kNoSlot : tile.array().victim(r.line);
  if (!upgrade) tile.array().prefetch_payload(victim);

  // 1. To the home; there the line's previous transaction, the bank's port, the bank.
  path.until(kNetwork, send(r.tile, home, r.bytes, TrafficClass::memory, path.at()));
  std::uint32_t entry = upgrade ? tile.array()[slot].home_entry : slice.array.find(r.line);
  if (upgrade && !holds(slice, entry, r.line)) entry = slice.array.find(r.line);
  if (!upgrade) prefetch_home(tile, victim);
  Cycle ready = path.at();
  if (entry != slice.array.kNoSlot) {
    const DirectoryEntry& e = slice.array[entry];
    ready = later(ready, e.busy);
    if (e.owned) parts_.tiles[e.owner].array().prefetch(r.line);
  }
  count(slice.counters.busy_cycles, ready - path.at());
  path.until(kLlc, look_up_llc(home, r.line, ready));
  if (entry != slice.array.kNoSlot) count(slice.directory.read);

  // 2. Speculative accessors anywhere, before anything changes.
  if (r.checked) {
    const bool is_here = entry != slice.array.kNoSlot;
    if (!gate_.check_miss(r, is_here ? contacted(slice.array[entry], r.write) : 0, false, path, check))
      return false;
  }
  count(upgrade ? tile.counters.upgrades : tile.counters.misses);
  if (!upgrade) parts_.uses.count(r.line, &ProgramUse::l2_misses);

  // 3. The line at its home: in the slice, or from memory.
  if (entry != slice.array.kNoSlot) {
    count(slice.counters.hits);
    parts_.uses.count(r.line, &ProgramUse::llc_hits);
    slice.array.use(entry);
    served = ServedBy::llc;
  } else {
    count(slice.counters.misses);
    parts_.uses.count(r.line, &ProgramUse::llc_misses);
    entry = allocate(r, home, path);
    served = r.replaces_line() ? ServedBy::llc : ServedBy::memory;
  }
  DirectoryEntry& e = slice.array[entry];

  // 4. Other tiles' copies; then the line, or leave to write it, travels to the requester.
  Versions::Place source = slice.place(entry);
  LineState state = r.write ? LineState::modified : LineState::shared;
  if (e.owned) {
    source = ask_owner(r, home, entry, path);
    served = ServedBy::other_tile;
  } else {
    if (r.write) invalidate_sharers(r, home, e, path);
    if (served == ServedBy::llc && !upgrade && !r.replaces_line()) count(slice.accesses.reads);
    e.busy = over(path.at());
    path.until(kNetwork,
               upgrade || r.replaces_line()
                   ? send(home, r.tile, message::kAcknowledgement, TrafficClass::coherence, path.at())
                   : send(home, r.tile, message::kLine, TrafficClass::memory, path.at()));
    const bool alone = e.sharers == 0 || fault_ == Fault::exclusive_with_sharers;
    if (!r.write && alone && check.exclusive) state = LineState::exclusive;
  }

  // 5. The directory and the tile know.
  count(slice.directory.written);
  if (is_writable(state)) {
    e.owned = true;
    e.owner = r.tile.value;
    e.sharers = 0;
  } else {
    e.sharers |= parts_.groups.bit(r.tile);
  }
  if (upgrade) {
    tile.array()[slot].state = state;
    tile.array().use(slot);
    tile.invalidate_l1s(slot, r.l1);
  } else {
    slot = fill_l2(r, entry, state, source, path.at());
  }
  if (r.checked) tile.array()[slot].canary = check.canary;
  if (r.unchecked && fault_ != Fault::canary_after_unchecked_fill) ConflictGate::uncover(tile.array()[slot]);
  return true;
}

/// An L2 hit. False: blocked. If its line's canary does not cover it: a request to the home and word back.
bool Mesi::check_in_tile(const Request& r, L2Line& line, Path& path, CheckResult& check) {
  const auto ask = [&](TileId home) {
    LlcSlice& slice = slices_[home.value];
    path.until(kNetwork, send(r.tile, home, r.bytes, TrafficClass::coherence, path.at()));
    const Cycle ready = later(path.at(), slice.array[line.home_entry].busy);
    slice.counters.busy_cycles += ready - path.at();
    path.until(kLlc, look_up_llc(home, r.line, ready));
    count(slice.directory.read);
  };
  const auto answer = [&](TileId home) {
    slices_[home.value].array[line.home_entry].busy = over(path.at());
    path.until(kNetwork, send(home, r.tile, message::kAcknowledgement, TrafficClass::coherence, path.at()));
  };
  return gate_.check_hit(r, line, path, check, ask, answer);
}

/// The line's entry in the slice, with its data from memory unless they will be replaced.
std::uint32_t Mesi::allocate(const Request& r, TileId home, Path& path) {
  LlcSlice& slice = slices_[home.value];
  const Cycle asked = path.at();
  if (!r.replaces_line()) {
    fetch_from_memory(r.line, home, path);
    count(slice.accesses.writes);
  }

  // The victim leaves through a write-back buffer while memory is read: the access does not wait for it.
  const std::uint32_t entry = slice.array.victim(r.line);
  if (!slice.array.is_empty(entry)) {
    parts_.uses.displace(slice.array.line_at(entry), r.line);
    evict_from_llc(home, entry, asked);
  }
  slice.array.fill(entry, r.line);
  parts_.uses.enter_llc(r.line);
  parts_.versions.read_memory(r.line, slice.place(entry));
  return entry;
}

void Mesi::fetch_from_memory(LineAddr line, TileId home, Path& path) {
  const TileId at = controller_tile_of(line);
  path.until(kNetwork, send(home, at, message::kRequest, TrafficClass::memory, path.at()));
  path.until(kMemory, parts_.read_memory(line, path.at()));
  path.until(kNetwork, send(at, home, message::kLine, TrafficClass::memory, path.at()));
}

Versions::Place Mesi::ask_owner(const Request& r, TileId home, std::uint32_t entry, Path& path) {
  DirectoryEntry& e = slices_[home.value].array[entry];
  const TileId owner{e.owner};
  TileCaches& tile = parts_.tiles[owner.value];
  const std::uint32_t slot = tile.array().find(r.line);
  RUBATO_CHECK(slot != TileCaches::kNoSlot && owner != r.tile,
               "the directory names an owner that holds nothing");
  L2Line& line = tile.array()[slot];
  count(slices_[home.value].counters.forwards);
  count(tile.counters.forwards);

  path.until(kNetwork, send(home, owner, r.bytes, TrafficClass::coherence, path.at()));
  path.until(kL2, later(parts_.look_up_l2(owner, path.at()), line.ready));
  if (r.write) {
    if (tile.invalidate_l1s(slot)) path.spend(kL1, parts_.l1d_latency);
  } else if (fault_ != Fault::lost_downgrade) {
    if (tile.downgrade_owner(slot)) path.spend(kL1, parts_.l1d_latency);
  }
  count(tile.accesses.reads);
  gate_.lose(owner, r.line, !r.write);
  const Cycle answered = path.at();
  path.until(kNetwork, send(owner, r.tile, message::kLine, TrafficClass::memory, answered));

  // A read leaves the owner a shared copy and the home the newest data; a write hands the right to write on.
  if (!r.write && line.state == LineState::modified) {
    const Cycle there = send(owner, home, message::kLine, TrafficClass::memory, answered);
    e.busy = over(there);
    parts_.book_llc(home, r.line, there);
    e.dirty = true;
    parts_.versions.copy(tile.place(slot), slices_[home.value].place(entry));
    count(tile.counters.write_backs);
    count(slices_[home.value].accesses.writes);
  } else {
    e.busy = over(send(owner, home, message::kAcknowledgement, TrafficClass::coherence, answered));
  }
  e.owned = false;
  e.sharers = 0;
  if (r.write) {
    tile.erase(slot);
    count(tile.counters.invalidations);
  } else {
    if (fault_ != Fault::lost_downgrade) line.state = LineState::shared;
    e.sharers = parts_.groups.bit(owner);
  }
  return tile.place(slot);
}

void Mesi::invalidate_sharers(const Request& r, TileId home, DirectoryEntry& e, Path& path) {
  Path last = path;
  bool first = true;
  parts_.groups.for_each(e.sharers, [&](TileId t) {
    if (t == r.tile) return;
    if (std::exchange(first, false) && fault_ == Fault::lost_invalidation) return;
    TileCaches& tile = parts_.tiles[t.value];
    Path branch = path;
    count(slices_[home.value].counters.invalidations);
    branch.until(kNetwork, send(home, t, r.bytes, TrafficClass::coherence, branch.at()));
    branch.until(kL2, parts_.look_up_l2(t, branch.at()));
    const std::uint32_t slot = tile.array().find(r.line);
    if (slot != TileCaches::kNoSlot) {
      branch.until(kL2, tile.array()[slot].ready);
      if (tile.invalidate_l1s(slot)) branch.spend(kL1, parts_.l1d_latency);
      gate_.lose(t, r.line);
      tile.erase(slot);
      count(tile.counters.invalidations);
    }
    branch.until(kNetwork, send(t, home, message::kAcknowledgement, TrafficClass::coherence, branch.at()));
    if (branch.at() > last.at()) last = branch;
  });
  path = last;
  e.sharers = 0;
}

std::uint32_t Mesi::fill_l2(const Request& r, std::uint32_t entry, LineState state, Versions::Place source,
                            Cycle at) {
  TileCaches& tile = parts_.tiles[r.tile.value];
  const std::uint32_t slot = tile.array().victim(r.line);
  if (!tile.array().is_empty(slot)) evict_from_tile(r.tile, slot, at);
  L2Line& line = tile.array().fill(slot, r.line);
  count(tile.accesses.writes);
  line.state = state;
  line.ready = over(at);
  line.home_entry = entry;
  parts_.versions.copy(source, tile.place(slot));
  return slot;
}

/// Asks the host for what the home will look at when the tile evicts the line in `slot`.
void Mesi::prefetch_home(const TileCaches& tile, std::uint32_t slot) const {
  if (!kHostHints || tile.array().is_empty(slot)) return;
  slices_[home_of(tile.array().line_at(slot)).value].array.prefetch_payload(tile.array()[slot].home_entry);
}

void Mesi::evict_from_tile(TileId t, std::uint32_t slot, Cycle at) {
  TileCaches& tile = parts_.tiles[t.value];
  const LineAddr line = tile.array().line_at(slot);
  tile.invalidate_l1s(slot);
  const bool modified = tile.array()[slot].state == LineState::modified;
  const TileId home = home_of(line);
  LlcSlice& slice = slices_[home.value];
  const std::uint32_t entry = tile.array()[slot].home_entry;
  const bool is_home = holds(slice, entry, line);
  count(tile.counters.evictions);
  gate_.lose(t, line);

  // The home hears of clean evictions too, so that its directory stays exact.
  parts_.book_llc(home, line,
                  modified ? send(t, home, message::kLine, TrafficClass::memory, at)
                           : send(t, home, message::kRequest, TrafficClass::coherence, at));
  if (modified) {
    count(tile.accesses.reads);
    count(slice.accesses.writes);
  } else {
    count(slice.accesses.lookups);
  }
  if (is_home) {
    DirectoryEntry& e = slice.array[entry];
    count(slice.directory.written);
    if (e.owned) {
      e.owned = false;
    } else if (parts_.groups.is_exact()) {
      e.sharers &= ~parts_.groups.bit(t);
    }
    if (modified) {
      e.dirty = true;
      parts_.versions.copy(tile.place(slot), slice.place(entry));
      count(tile.counters.write_backs);
    }
  }
  tile.erase(slot);
}

void Mesi::evict_from_llc(TileId home, std::uint32_t entry, Cycle at) {
  LlcSlice& slice = slices_[home.value];
  DirectoryEntry& e = slice.array[entry];
  const LineAddr line = slice.array.line_at(entry);
  count(slice.counters.evictions);
  count(slice.directory.read);
  Cycle collected = later(at, e.busy);
  const Cycle start = collected;
  for_each_holder(e, [&](TileId t) {
    if (fault_ == Fault::lost_recall) return;
    TileCaches& tile = parts_.tiles[t.value];
    count(slice.counters.recalls);
    Cycle c = send(home, t, message::kRequest, TrafficClass::coherence, start);
    c = parts_.look_up_l2(t, c);
    const std::uint32_t slot = tile.array().find(line);
    bool modified = false;
    if (slot != TileCaches::kNoSlot) {
      if (tile.invalidate_l1s(slot)) c += parts_.l1d_latency;
      modified = tile.array()[slot].state == LineState::modified;
      if (modified) {
        e.dirty = true;
        parts_.versions.copy(tile.place(slot), slice.place(entry));
        count(tile.counters.write_backs);
        count(tile.accesses.reads);
      }
      count(tile.counters.invalidations);
      gate_.lose(t, line);
      tile.erase(slot);
    }
    c = modified ? send(t, home, message::kLine, TrafficClass::memory, c)
                 : send(t, home, message::kAcknowledgement, TrafficClass::coherence, c);
    collected = later(collected, c);
  });
  if (e.dirty) {
    count(slice.counters.write_backs);
    count(slice.accesses.reads);
    parts_.versions.write_memory(slice.place(entry), line);
    const Cycle there = send(home, controller_tile_of(line), message::kLine, TrafficClass::memory, collected);
    parts_.write_memory(line, there);
  }
  gate_.leave_llc(line);
  parts_.uses.leave_llc(line);
  slice.array.erase(entry);
}

std::uint64_t Mesi::possible_holders(LineAddr line) const {
  const LlcSlice& slice = slices_[home_of(line).value];
  const std::uint32_t entry = slice.array.find(line);
  if (entry == slice.array.kNoSlot) return 0;
  return contacted(slice.array[entry], true);
}

// Prefetches tags now and, with the next call, the payloads they select.
void Mesi::prefetch(CoreId core, LineAddr own) const {
  if constexpr (!kHostHints) return;
  const LineAddr line = parts_.outer(core, own);
  const TileId tile = parts_.tile_of(core);
  parts_.tiles[tile.value].prefetch(parts_.l1_in_tile(core, AccessKind::load), line);
  slices_[home_of(line).value].array.prefetch(line);
  gate_.prefetch(tile, line);
  prefetch_further(std::exchange(asked_last_, {tile, line}));
}

void Mesi::prefetch_further(const Asked& asked) const {
  const TileCaches& tile = parts_.tiles[asked.tile.value];
  const std::uint32_t slot = tile.array().find(asked.line);
  if (slot != TileCaches::kNoSlot) return tile.array().prefetch_payload(slot);
  tile.array().prefetch_payload(tile.array().victim(asked.line));
  const auto& home = slices_[home_of(asked.line).value].array;
  const std::uint32_t entry = home.find(asked.line);
  home.prefetch_payload(entry != home.kNoSlot ? entry : home.victim(asked.line));
}

void Mesi::warm(CoreId core, LineAddr line, AccessKind kind) {
  const Warming::Scope scope(parts_.warming);
  access(core, line, kind, Cycle{0});
}

void Mesi::forget(LineAddr first, LineAddr last) {
  const std::uint64_t lines = last.value - first.value + 1;
  const std::uint64_t entries = std::uint64_t{tiles()} * slices_[0].array.slots();
  if (lines != 0 && lines <= entries / 4) {
    for (std::uint64_t l = first.value; l <= last.value; ++l) {
      LlcSlice& slice = slices_[home_of(LineAddr{l}).value];
      const std::uint32_t entry = slice.array.find(LineAddr{l});
      if (entry != slice.array.kNoSlot) drop(slice, entry);
    }
    return;
  }
  for (LlcSlice& slice : slices_)
    for (std::uint32_t entry = 0; entry < slice.array.slots(); ++entry)
      if (!slice.array.is_empty(entry) && slice.array.line_at(entry) >= first &&
          slice.array.line_at(entry) <= last)
        drop(slice, entry);
}

void Mesi::drop(LlcSlice& slice, std::uint32_t entry) {
  const LineAddr line = slice.array.line_at(entry);
  for_each_holder(slice.array[entry], [&](TileId t) {
    TileCaches& tile = parts_.tiles[t.value];
    const std::uint32_t slot = tile.array().find(line);
    if (slot == TileCaches::kNoSlot) return;
    tile.invalidate_l1s(slot);
    gate_.lose(t, line);
    tile.erase(slot);
  });
  gate_.leave_llc(line);
  parts_.uses.leave_llc(line);
  slice.array.erase(entry);
  parts_.versions.forget(line);
}

}  // namespace rubato::chip
