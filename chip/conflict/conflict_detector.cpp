// How an access is checked against the uncommitted attempts (C12, C14, C15).
// SPDX-License-Identifier: MIT
#include "chip/conflict/conflict_detector.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace rubato::chip {

ConflictDetector::ConflictDetector(const Config& config, Network& network)
    : network_(&network),
      forwarding_(config.conflict.forwarding == "on"      ? Forwarding::on
                  : config.conflict.forwarding == "stall" ? Forwarding::stall
                                                          : Forwarding::abort),
      free_checks_(config.conflict.free_checks),
      exact_(config.conflict.sets == "exact"),
      tile_check_(config.conflict.tile_check),
      per_timestamp_(config.conflict.per_timestamp),
      cores_per_tile_(config.chip.cores_per_tile),
      groups_(config.tiles()),
      h3_(config.conflict.bloom_ways, std::max(1U, config.conflict.bloom_bits / config.conflict.bloom_ways)),
      running_(config.chip.cores) {
  // A running attempt a core and the commit queue's; more only if queues are unlimited.
  const std::uint32_t slots = cores_per_tile_ * (1 + config.task.commit_queue);
  tiles_.reserve(config.tiles());
  for (std::uint32_t t = 0; t < config.tiles(); ++t) {
    SignatureTable sets(exact_ ? nullptr : &h3_, slots);
    const std::uint32_t words = sets.words();
    tiles_.push_back({.sets = std::move(sets),
                      .attempts = std::vector<Attempt*>(std::size_t{words} * 64),
                      .free = std::vector<std::uint64_t>(words, ~std::uint64_t{0}),
                      .counters = {}});
    found_.resize(std::size_t{2} * words);
  }
}

void ConflictDetector::attach(Aborter& handler, std::function<std::uint64_t(LineAddr)> possible_holders) {
  handler_ = &handler;
  possible_holders_ = std::move(possible_holders);
}

void ConflictDetector::begin(Attempt& attempt) {
  RUBATO_CHECK(handler_ != nullptr && running_[attempt.core.value] == nullptr);
  Tile& tile = tiles_[attempt.tile.value];
  std::size_t word = 0;
  while (word < tile.free.size() && tile.free[word] == 0) ++word;
  if (word == tile.free.size()) {
    tile.sets.widen();
    tile.free.resize(tile.sets.words(), ~std::uint64_t{0});
    tile.attempts.resize(std::size_t{64} * tile.sets.words());
    found_.resize(std::max(found_.size(), std::size_t{2} * tile.sets.words()));
  }
  attempt.slot =
      static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(tile.free[word]));
  tile.free[word] &= tile.free[word] - 1;
  tile.attempts[attempt.slot] = &attempt;
  ++tile.live;
  tile.words = std::max(tile.words, attempt.slot / 64 + 1);
  running_[attempt.core.value] = &attempt;
  attempt.reads.clear();
  attempt.writes.clear();
  active_ = true;
}

void ConflictDetector::stop_running(CoreId core) { running_[core.value] = nullptr; }

void ConflictDetector::go_on(Attempt& attempt) {
  RUBATO_CHECK(running_[attempt.core.value] == nullptr, "an attempt goes on on a core that runs another");
  running_[attempt.core.value] = &attempt;
}

void ConflictDetector::end(Attempt& attempt) {
  Tile& tile = tiles_[attempt.tile.value];
  RUBATO_CHECK(tile.attempts[attempt.slot] == &attempt, "ends an attempt that is not live");
  clear_column(tile, attempt, false);
  clear_column(tile, attempt, true);
  tile.attempts[attempt.slot] = nullptr;
  tile.free[attempt.slot / 64] |= std::uint64_t{1} << attempt.slot % 64;
  --tile.live;
  while (tile.words > 1 && tile.free[tile.words - 1] == ~std::uint64_t{0}) --tile.words;
  if (running_[attempt.core.value] == &attempt) running_[attempt.core.value] = nullptr;
}

void ConflictDetector::commit(Attempt& attempt) {
  reservations_.on_commit(attempt.writes);
  end(attempt);
}

void ConflictDetector::drop_writes(Attempt& attempt) {
  Tile& tile = tiles_[attempt.tile.value];
  clear_column(tile, attempt, true);
  for (const Probe& p : attempt.writes) {
    tile.sets.add(p, attempt.slot, false);
    attempt.reads.push_back(p);
    // If the tile was remembered as a writer only, it must stay remembered as a reader.
    if ((sticky_.bits(p.line).writers & groups_.bit(attempt.tile)) != 0)
      sticky_.add(p.line, {.readers = groups_.bit(attempt.tile)});
  }
  attempt.writes.clear();
}

void ConflictDetector::clear_column(Tile& tile, const Attempt& attempt, bool writes) {
  for (const Probe& p : writes ? attempt.writes : attempt.reads) tile.sets.remove(p, attempt.slot, writes);
}

void ConflictDetector::record(CoreId core, LineAddr line, bool write) {
  Attempt& attempt = *running_[core.value];
  const Probe& p = probe(line);
  tiles_[attempt.tile.value].sets.add(p, attempt.slot, write);
  (write ? attempt.writes : attempt.reads).push_back(p);
}

template <class F>
void ConflictDetector::for_each_slot(const std::uint64_t* mask, std::uint32_t words, F&& f) {
  for (std::uint32_t w = 0; w < words; ++w)
    for (std::uint64_t rest = mask[w]; rest != 0; rest &= rest - 1)
      f(w * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
}

void ConflictDetector::later_accessors(TileId from, LineAddr line, VirtualTime vt,
                                       std::vector<Attempt*>& out) const {
  const Probe p = probe(line);
  const StickyDirectory::Bits sticky = sticky_.bits(line);
  const auto look = [&](TileId t) {
    const Tile& tile = tiles_[t.value];
    if (tile.live == 0 || !tile.sets.match(p, true, tile.words, found_.data())) return;
    const std::uint32_t words = tile.words;
    for (std::uint32_t w = 0; w < words; ++w) found_[w] |= found_[words + w];
    for_each_slot(found_.data(), words, [&](std::uint32_t slot) {
      if (tile.attempts[slot]->virtual_time > vt) out.push_back(tile.attempts[slot]);
    });
  };
  groups_.for_each(possible_holders_(line) | sticky.readers | sticky.writers | groups_.bit(from), look);
}

void ConflictDetector::accessors(LineAddr first, LineAddr last, bool readers,
                                 std::vector<Attempt*>& out) const {
  const auto meets = [&](const std::vector<Probe>& lines) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const Probe& p) { return first <= p.line && p.line <= last; });
  };
  for (const Tile& tile : tiles_) {
    if (tile.live == 0) continue;
    for (Attempt* attempt : tile.attempts)
      if (attempt != nullptr && (meets(attempt->writes) || (readers && meets(attempt->reads))))
        out.push_back(attempt);
  }
}

void ConflictDetector::check_tile(CoreId core, LineAddr line, AccessKind kind, VirtualTime canary, Cycle now,
                                  CheckResult& result) {
  Attempt* const self = running_[core.value];
  const TileId t = tile_of(core);
  if (self == nullptr && is_write(kind)) reservations_.on_store(core, line);
  // A canary below the GVT is that of a task that has committed.
  if (canary != kMinVirtualTime && (self == nullptr || self->virtual_time <= canary) &&
      canary >= handler_->gvt_at(t) && fault_ != ConflictFault::ignore_canary) {
    result = {.needs_global = true, .is_free = free_checks_};
    return;
  }
  result = {.exclusive = self == nullptr};
  Tile& tile = tiles_[t.value];
  if (tile.live == 0 || fault_ == ConflictFault::skip_tile_check) return;
  ++tile.counters.tile_checks;
  Survey s = survey(core, line, kind, false);
  victims_.clear();
  result.cycles = ask(t, s);
  result.exclusive = self == nullptr && s.is_alone;
  settle(s, core, now, result);
}

void ConflictDetector::check_global(CoreId core, LineAddr line, AccessKind kind, std::uint64_t holders,
                                    bool writable, TileId home, Cycle now, CheckResult& result) {
  Survey s = survey(core, line, kind, writable && fault_ != ConflictFault::canary_of_writers_only);
  ++tiles_[s.tile.value].counters.global_checks;
  if (s.self == nullptr && s.write) reservations_.on_store(core, line);
  victims_.clear();
  StickyDirectory::Bits sticky = sticky_.bits(line);
  const bool asks_readers = s.write || s.writable;
  if (!asks_readers) sticky.readers = 0;
  const std::uint64_t beyond = sticky.readers | sticky.writers;

  StickyDirectory::Bits stay;
  Latency longest = ask(s.tile, s);
  const auto keep = [&](TileId t) {
    if (s.read_here) stay.readers |= groups_.bit(t);
    if (s.written_here) stay.writers |= groups_.bit(t);
  };
  if (fault_ != ConflictFault::clear_own_sticky_bits) keep(s.tile);
  groups_.for_each(holders | beyond, [&](TileId t) {
    if (t == s.tile) return;
    ++tiles_[s.tile.value].counters.tiles_asked;
    const Latency cycles = ask(t, s);
    keep(t);
    if ((holders & groups_.bit(t)) != 0 || free_checks_) {
      longest = std::max(longest, cycles);  // the coherence action carries question and answer
      return;
    }
    const std::uint32_t bytes = message::kRequest + (s.self != nullptr ? message::kVirtualTime : 0);
    const Cycle there = network_->send(home, t, {bytes, TrafficClass::coherence}, now);
    const Cycle back =
        network_->send(t, home, {message::kAcknowledgement, TrafficClass::coherence}, there + cycles);
    longest = std::max(longest, back - now);
  });
  if (beyond != 0) sticky_.clear(line, {sticky.readers & ~stay.readers, sticky.writers & ~stay.writers});

  bool exclusive = s.self == nullptr && s.is_alone;
  if (exclusive && !asks_readers) {
    // A load asks no readers. Every tile check finds the readers of its own tile.
    std::uint64_t readers = sticky_.bits(line).readers;
    if (groups_.is_exact()) readers &= ~groups_.bit(s.tile);
    exclusive = readers == 0;
  }
  if (fault_ == ConflictFault::exclusive_speculative_read) exclusive = true;
  result = {.cycles = longest, .exclusive = exclusive, .canary = s.canary};
  settle(s, core, now, result);
  if (!result.blocked) sticky_.move_from_overflow(line);
}

Latency ConflictDetector::ask(TileId t, Survey& s) {
  Tile& tile = tiles_[t.value];
  s.read_here = s.written_here = false;
  if (tile.live == 0) return 0;
  const Latency base = free_checks_ ? 0 : tile_check_;
  const bool reads = s.write || s.writable;
  if (!tile.sets.match(s.probe, reads, tile.words, found_.data())) return base;
  const std::uint32_t words = tile.words;
  std::uint64_t* const readers = found_.data();
  std::uint64_t* const writers = readers + words;
  std::uint64_t compared = 0;
  for (std::uint32_t w = 0; w < words; ++w) {
    s.read_here |= readers[w] != 0;
    s.written_here |= writers[w] != 0;
    for (std::uint64_t rest = readers[w] | writers[w]; rest != 0; rest &= rest - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(rest));
      Attempt* const other = tile.attempts[w * 64 + bit];
      if (other == s.self) continue;
      ++compared;
      s.is_alone = false;
      const bool wrote = (writers[w] >> bit & 1) != 0;
      const bool later = s.self == nullptr || other->virtual_time > s.self->virtual_time;
      if (later && (s.write || wrote)) {
        s.is_fate_pending |= s.self == nullptr && handler_->is_fate_pending(*other);
        victims_.push_back(other);
        continue;
      }
      s.has_earlier_writer |= wrote;
      if (t != s.tile) s.canary = std::max(s.canary, other->virtual_time);
    }
  }
  tile.counters.timestamps += compared;
  return free_checks_ ? 0 : base + compared * per_timestamp_;
}

void ConflictDetector::settle(Survey& s, CoreId core, Cycle now, CheckResult& result) {
  Counters& counters = tiles_[s.tile.value].counters;
  const LineAddr line = s.probe.line;
  if (s.is_fate_pending || (s.has_earlier_writer && forwarding_ == Forwarding::stall)) {
    ++counters.blocked;
    result.blocked = true;
    handler_->wait_for_fate(core);
    return;
  }
  if (s.has_earlier_writer && forwarding_ == Forwarding::abort) {
    ++counters.blocked;
    result.blocked = result.disturbed = true;
    handler_->abort({&s.self, 1},
                    {.cause = AbortCause::forwarding, .line = line, .by = core, .by_task = s.self->task},
                    now);
    return;
  }
  if (victims_.empty()) return;

  counters.conflicts += victims_.size();
  count_false_positives(s);
  // Victims roll back at the same time, each on its core. The access waits only for those that wrote the
  // line.
  Latency rollback = 0;
  for (const Attempt* v : victims_)
    if (has_line(v->writes, line)) rollback = std::max(rollback, v->undo.size() * kRollbackCyclesPerStore);
  result.cycles += rollback;
  result.disturbed = true;
  handler_->abort(victims_,
                  {.cause = AbortCause::conflict,
                   .line = line,
                   .by = core,
                   .by_task = s.self != nullptr ? s.self->task : nullptr},
                  now);
}

void ConflictDetector::later_attempts(VirtualTime vt, std::vector<Attempt*>& out) const {
  for (const Tile& tile : tiles_)
    for (Attempt* a : tile.attempts)
      if (a != nullptr && a->virtual_time > vt) out.push_back(a);
}

void ConflictDetector::count_false_positives(const Survey& s) {
  if (exact_) return;
  const LineAddr line = s.probe.line;
  for (const Attempt* v : victims_)
    if (!has_line(v->writes, line) && !(s.write && has_line(v->reads, line)))
      ++tiles_[v->tile.value].counters.false_positives;
}

void ConflictDetector::on_lose(TileId t, LineAddr line, bool kept) {
  const Tile& tile = tiles_[t.value];
  if (tile.live == 0 || fault_ == ConflictFault::lose_sticky_bits) return;
  // While a shared copy stays, the directory still knows the tile's readers.
  if (!tile.sets.match(probe(line), !kept, tile.words, found_.data())) return;
  const std::uint32_t words = tile.words;
  const auto any = [&](std::uint32_t first) {
    return std::any_of(&found_[first], &found_[first] + words, [](std::uint64_t w) { return w != 0; });
  };
  sticky_.add(line,
              {.readers = !kept && any(0) ? groups_.bit(t) : 0, .writers = any(words) ? groups_.bit(t) : 0});
}

void ConflictDetector::on_llc_evict(LineAddr line) {
  if (fault_ == ConflictFault::lose_overflow) {
    sticky_.forget(line);
  } else {
    sticky_.move_to_overflow(line);
  }
}

}  // namespace rubato::chip
