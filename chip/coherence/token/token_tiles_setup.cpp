// Building the tiles of a token protocol; transport, warming, forgetting, checks and statistics.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "chip/coherence/token/token_tiles.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

namespace {
constexpr std::uint32_t kMostProfiled = 64;
constexpr std::uint64_t kFewLines = 4096;  // as many are looked up one by one
}  // namespace

TokenTiles::TokenTiles(const Config& config, Ports ports)
    : CacheProtocol(config, ports.conflicts,
                    SetArray<TokenPlace>::host_bytes(config.llc.size, config.llc.ways)),
      timeline_(&ports.timeline),
      client_(&ports.client),
      all_(config.coherence.tokens != 0 ? config.coherence.tokens : config.tiles()),
      mshrs_(config.l2.mshrs),
      sharers_(config.tiles(), config.coherence.sharer_bits),
      slice_accesses_(config.tiles()),
      transport_(config, {ports.network, ports.timeline, parts_.homes, parts_.warming, *this}),
      waited_(config.chip.cores) {
  if (config.coherence.profile && tiles() > kMostProfiled)
    throw UsageError(
        "coherence.profile is true, which works on {} tiles at most, but chip.cores / chip.cores_per_tile "
        "makes {}",
        kMostProfiled, tiles());
  if (all_ < tiles())
    throw UsageError(
        "coherence.tokens is {}, but each of the {} tiles that chip.cores / chip.cores_per_tile makes needs "
        "one",
        all_, tiles());
  if (config.coherence.profile) profile_.emplace();
  agents_.reserve(tiles());
  for (TileCaches& tile : parts_.tiles) agents_.emplace_back(tile);
}

// ---- Timers ----

void TokenTiles::start_timer(Event event, TileId t, LineAddr line, std::uint32_t round, Cycle at) {
  timeline_->schedule(
      at, this, event,
      transport_.flights.add(
          {.message = {.agent = static_cast<std::uint16_t>(t.value)}, .line = line, .at = Cycle{round}}));
}

void TokenTiles::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  if (kind == kSplitMoves) return on_split_moves(TileId{static_cast<std::uint32_t>(payload)}, now);
  if (kind == kEntryFree) return ask_again(TileId{static_cast<std::uint32_t>(payload)}, now);
  const auto index = static_cast<std::uint32_t>(payload);
  const Flight& timer = transport_.flights[index];
  const TileId t{timer.message.agent};
  AgentRecord* const record = agents_[t.value].find(timer.line);
  if (record != nullptr && record->round == timer.at.value) {
    if (kind == kRetry) {
      on_retry(t, timer.line, *record, now);
    } else if (record->line.is_unblock_due) {
      end_hold(t, timer.line, *record, now), trim(t, timer.line, now);
    }
  }
  transport_.flights.release(index);
}

// ---- Warming and forgetting ----

void TokenTiles::warm(CoreId core, LineAddr line, AccessKind kind) {
  const Warming::Scope scope(parts_.warming);
  // A line in a transaction is left alone: guest memory is right anyway.
  for (unsigned tries = 0; tries < 3; ++tries) {
    if (access(core, line, kind, Cycle{0}).done) break;
    if (!transport_.drain()) break;
  }
  transport_.drain();
}

std::vector<LineAddr> TokenTiles::known_lines(LineAddr first, LineAddr last) const {
  std::vector<LineAddr> lines;
  for (const TokenAgent& agent : agents_)
    agent.lines.for_each([&](LineAddr line, const AgentRecord&) { lines.push_back(line); });
  add_known_lines(lines);
  std::erase_if(lines, [&](LineAddr line) { return line < first || last < line; });
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

void TokenTiles::forget(LineAddr first, LineAddr last) {
  if (const std::uint64_t lines = last.value - first.value + 1; lines != 0 && lines <= kFewLines) {
    for (std::uint64_t l = first.value; l <= last.value; ++l) drop(LineAddr{l});
    return;
  }
  for (const LineAddr line : known_lines(first, last)) drop(line);
}

/// A line in a transaction stays: guest memory is right anyway.
void TokenTiles::drop(LineAddr line) {
  if (!is_at_rest(line)) return;
  bool is_out = false;
  for (std::uint32_t t = 0; t < tiles(); ++t) {
    TokenAgent& agent = agents_[t];
    if (agent.find(line) == nullptr) continue;
    is_out = true;
    if (const std::uint32_t slot = agent.caches.array().find(line); slot != TileCaches::kNoSlot) {
      agent.caches.invalidate_l1s(slot);
      gate_.lose(TileId{t}, line, false);
      agent.caches.erase(slot);
    }
    agent.lines.erase(line);
  }
  drop_at_home(line, is_out);
  gate_.leave_llc(line);
  if (checks()) memory_versions_[line.value] = parts_.versions.newest(line);
}

// ---- Checks (C21, K91) ----

void TokenTiles::require(const char* violation, LineAddr line) const {
  if (violation != nullptr) parts_.report(fmt::format("line {:#x}: {}", addr_of(line), violation));
}

void TokenTiles::check_line(LineAddr line) const {
  if (!checks() || is_warming()) return;
  if (const std::string what = find_violation(line); !what.empty()) parts_.report(what);
}

std::string TokenTiles::find_violation_in_tiles(LineAddr line, Sum& sum) const {
  for (std::uint32_t t = 0; t < tiles(); ++t) {
    const TokenAgent& agent = agents_[t];
    const AgentRecord* const found = agent.find(line);
    const std::uint32_t slot = agent.caches.array().find(line);
    const bool has_copy = slot != TileCaches::kNoSlot;
    const AgentLine none{}, &l = found != nullptr ? found->line : none;
    sum.tokens += l.held.count;
    sum.owners += l.held.owner ? 1 : 0;
    if (l.held.count != 0) sum.holders |= sharers_.bit(TileId{t});
    if (has_copy && !l.is_readable()) return fmt::format("tile {} has a copy without a token", t);
    if (has_copy && is_writable(agent.caches.array()[slot].state) && !l.is_writable(all_))
      return fmt::format("tile {} may write without all tokens", t);
  }
  return {};
}

std::string TokenTiles::check_invariants() const {
  for (const LineAddr line : known_lines(LineAddr{0}, LineAddr{~std::uint64_t{0}}))
    if (is_at_rest(line))
      if (std::string what = find_violation(line); !what.empty()) return what;
  return {};
}

// ---- Statistics ----

void TokenTiles::register_stats(StatRegistry& registry) const {
  parts_.register_stats(registry);
  register_prefetchers(registry);
  for (std::uint32_t t = 0; t < tiles(); ++t)
    parts_.register_tile(registry, t, llc_counters(t), slice_accesses_[t]);
  if (mshrs_ != 0)
    for (std::uint32_t t = 0; t < tiles(); ++t)
      registry.counter(fmt::format("tile.{}.l2.refusals", t), "accesses",
                       "times that an access found all of l2.mshrs in use", &agents_[t].refusals);
  transport_.register_stats(registry);
  if (profile_) profile_->register_stats(registry);
}

}  // namespace rubato::chip
