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
constexpr auto kWayPart = &AccessParts::network;

std::uint32_t flits(std::uint32_t bytes, const Config& config) {
  return (bytes + config.net.link_bytes - 1) / config.net.link_bytes;
}

}  // namespace

TokenTiles::TokenTiles(const Config& config, Ports ports)
    : CacheProtocol(config, SetArray<TokenPlace>::host_bytes(config.llc.size, config.llc.ways)),
      network_(&ports.network),
      conflicts_(&ports.conflicts),
      timeline_(&ports.timeline),
      client_(&ports.client),
      all_(config.coherence.tokens != 0 ? config.coherence.tokens : config.tiles()),
      mshrs_(config.l2.mshrs),
      word_flits_(flits(bytes_of({.has_data = false}), config)),
      data_flits_(flits(bytes_of({.has_data = true}), config)),
      sharers_(config.tiles(), config.coherence.sharer_bits),
      slice_accesses_(config.tiles()),
      waited_(config.chip.cores),
      arrivals_(config.tiles()) {
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
  for (std::uint32_t t = 0; t < tiles(); ++t)
    places_.push_back({static_cast<std::uint16_t>(t % config.chip.mesh_width),
                       static_cast<std::uint16_t>(t / config.chip.mesh_width)});
}

// ---- Transport ----

void TokenTiles::send(const Flight& cause, const TokenMessage& m, TileId from, TileId to) {
  const std::uint32_t index = flights_.add(cause);
  Flight& flight = flights_[index];
  flight.message = m;
  if (!is_warming()) {
    show_begin(flight, from);
    book_way(flight, from, to);
  }
  arrive(index);
}

void TokenTiles::book_way(Flight& flight, TileId from, TileId to) {
  const TokenMessage& m = flight.message;
  ++messages_[static_cast<unsigned>(m.kind)];
  if (from != to) {
    const TrafficClass traffic = flight.is_rollback ? TrafficClass::abort : traffic_of(m);
    const auto distance = [](std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; };
    const Place a = places_[from.value], b = places_[to.value];
    const std::uint32_t hops = distance(a.column, b.column) + distance(a.row, b.row);
    flit_hops_[static_cast<unsigned>(traffic)] += std::uint64_t{hops} * flits_of(m);
    flight.spend(kWayPart, network_->send(from, to, {bytes_of(m), traffic}, flight.at));
  }
}

std::span<const Cycle> TokenTiles::book_multicast(const Flight& flight, TileId from, const TileSet& to) {
  if (is_warming()) return arrivals_;
  const TokenMessage& m = flight.message;
  const TrafficClass traffic = flight.is_rollback ? TrafficClass::abort : traffic_of(m);
  ++messages_[static_cast<unsigned>(m.kind)];
  flit_hops_[static_cast<unsigned>(traffic)] +=
      std::uint64_t{flits_of(m)} *
      network_->multicast(from, to, {bytes_of(m), traffic}, flight.at, arrivals_);
  return arrivals_;
}

void TokenTiles::send_to_all(const Flight& cause, const TokenMessage& m, TileId from, const TileSet& to) {
  Flight flight = cause;
  flight.message = m;
  show_begin(flight, from);
  const std::span<const Cycle> arrivals = book_multicast(flight, from, to);
  to.for_each([&](TileId t) {
    const std::uint32_t index = flights_.add(flight);
    Flight& copy = flights_[index];
    copy.message.agent = static_cast<std::uint16_t>(t.value);
    if (!is_warming()) copy.spend(kWayPart, arrivals[t.value]);
    arrive(index);
  });
}

void TokenTiles::arrive(std::uint32_t index) {
  if (is_warming()) return immediate_.push_back(index);
  const Flight& flight = flights_[index];
  if (observer_ != nullptr) {
    using To = TokenMessage::To;
    using Node = SeenMessage::Node;
    const To to = flight.message.to;
    const TileId at = to == To::agent  ? TileId{flight.message.agent}
                      : to == To::home ? home_of(flight.line)
                                       : controller_tile_of(flight.line);
    show(flight, at, to == To::agent ? Node::tile : to == To::home ? Node::home : Node::memory, false);
  }
  timeline_->schedule(flight.at, this, kDeliver, index);
}

void TokenTiles::show(const Flight& flight, TileId at, SeenMessage::Node node, bool is_sent) const {
  observer_->on_message({.transaction = flight.transaction,
                         .kind = name_of(flight.message.kind),
                         .line = flight.line,
                         .at = at,
                         .node = node,
                         .when = flight.at,
                         .is_sent = is_sent});
}

void TokenTiles::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  if (kind == kSplitMoves) return on_split_moves(TileId{static_cast<std::uint32_t>(payload)}, now);
  if (kind == kEntryFree) return ask_again(TileId{static_cast<std::uint32_t>(payload)}, now);
  const auto index = static_cast<std::uint32_t>(payload);
  Flight& flight = flights_[index];
  if (kind == kDeliver) {
    deliver(flight);
  } else if (kind == kRetry) {
    on_retry(flight, now);
  } else {
    const TileId t{flight.message.agent};
    AgentRecord* const record = agents_[t.value].find(flight.line);
    if (record != nullptr && record->line.is_unblock_due && record->round == flight.at.value)
      end_hold(t, flight.line, *record, now), trim(t, flight.line, now);
  }
  flights_.release(index);
}

void TokenTiles::drain() {
  while (!immediate_.empty()) {
    const std::uint32_t index = immediate_.front();
    immediate_.pop_front();
    deliver(flights_[index]);
    flights_.release(index);
  }
}

// ---- Warming and forgetting ----

void TokenTiles::warm(CoreId core, LineAddr line, AccessKind kind) {
  const Warming::Scope scope(parts_.warming);
  // A line in a transaction is left alone: guest memory is right anyway.
  for (unsigned tries = 0; tries < 3; ++tries) {
    if (access(core, line, kind, Cycle{0}).done) break;
    if (immediate_.empty()) break;
    drain();
  }
  drain();
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
      lose(TileId{t}, line, false);
      agent.caches.erase(slot);
    }
    agent.lines.erase(line);
  }
  drop_at_home(line, is_out);
  if (conflicts_->is_active()) conflicts_->on_llc_evict(line);
  if (checks()) memory_versions_[line.value] = parts_.versions.newest(line);
}

// ---- Checks (C21, K91) ----

void TokenTiles::require(const char* violation, LineAddr line) const {
  if (violation != nullptr) parts_.report(fmt::format("line {:#x}: {}", addr_of(line), violation));
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
  for (std::uint32_t t = 0; t < tiles(); ++t)
    parts_.register_tile(registry, t, llc_counters(t), slice_accesses_[t]);
  if (mshrs_ != 0)
    for (std::uint32_t t = 0; t < tiles(); ++t)
      registry.counter(fmt::format("tile.{}.l2.refusals", t), "accesses",
                       "times that an access found all of l2.mshrs in use", &agents_[t].refusals);
  for (unsigned k = 0; k < kTokenMessageKinds; ++k)
    registry.counter(fmt::format("coherence.messages.{}", name_of(static_cast<TokenMessage::Kind>(k))),
                     "messages", "coherence messages of this kind", &messages_[k]);
  for (const TrafficClass c : {TrafficClass::memory, TrafficClass::abort, TrafficClass::coherence})
    registry.counter(fmt::format("coherence.flit_hops.{}", name_of(c)), "flits",
                     "flits of coherence messages, each counted on every link of its way",
                     &flit_hops_[static_cast<unsigned>(c)]);
  if (profile_) profile_->register_stats(registry);
}

}  // namespace rubato::chip
