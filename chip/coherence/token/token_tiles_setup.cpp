// Building the tiles of a token protocol; transport, warming, forgetting, checks and statistics.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"
#include "chip/coherence/cache_stats.hpp"
#include "chip/coherence/token/token_tiles.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

namespace {
constexpr std::uint32_t kMostProfiled = 64;
constexpr std::uint64_t kFewLines = 4096;  // as many are looked up one by one
constexpr auto kWayPart = &AccessParts::network;

bool is_exclusive(const Config& config) { return config.l2.inclusion == "exclusive"; }

/// An exclusive L2 has ways for records of what is in L1s, and one for a line that comes. All lines of a set
/// of the L2 belong to one set of an L1.
std::uint32_t l2_ways_of(const Config& config) {
  return config.l2.ways + (is_exclusive(config) ? config.l1i.ways + config.l1d.ways + 1 : 0);
}

std::uint32_t flits(std::uint32_t bytes, const Config& config) {
  return (bytes + config.net.link_bytes - 1) / config.net.link_bytes;
}

void check_caches(const Config& config) {
  if (config.llc.interleave == "low" && !std::has_single_bit(config.tiles()))
    throw UsageError(
        "llc.interleave is low, which takes a power of two of tiles, but chip.cores / chip.cores_per_tile "
        "makes {}",
        config.tiles());
  if (!is_exclusive(config)) return;
  if (config.chip.cores_per_tile != 1)
    throw UsageError(
        "l2.inclusion is exclusive, which takes tiles of one core, but chip.cores_per_tile is {}",
        config.chip.cores_per_tile);
  const auto sets = [](const CacheSection& cache) { return cache.size / kLineBytes / cache.ways; };
  const std::uint64_t l2_sets = sets(config.l2);
  if (!std::has_single_bit(l2_sets) || sets(config.l1i) > l2_sets || sets(config.l1d) > l2_sets)
    throw UsageError(
        "l2.inclusion is exclusive, which takes an L2 of a power of two of sets, and no fewer than an L1 "
        "has, "
        "but l2.size and l2.ways make {}, l1i {} and l1d {}",
        l2_sets, sets(config.l1i), sets(config.l1d));
  if (l2_ways_of(config) > 64)
    throw UsageError(
        "l2.inclusion is exclusive, for which l2.ways, l1i.ways and l1d.ways together are 63 at most, not {}",
        l2_ways_of(config) - 1);
}

}  // namespace

TokenTiles::TokenTiles(const Config& config, Ports ports)
    : network_(&ports.network),
      conflicts_(&ports.conflicts),
      timeline_(&ports.timeline),
      client_(&ports.client),
      tiles_(config.tiles()),
      cores_per_tile_(config.chip.cores_per_tile),
      all_(config.coherence.tokens != 0 ? config.coherence.tokens : config.tiles()),
      mshrs_(config.l2.mshrs),
      l1i_latency_(config.l1i.latency),
      l1d_latency_(config.l1d.latency),
      l2_latency_(config.l2.latency),
      llc_latency_(config.llc.latency),
      word_flits_(flits(bytes_of({.has_data = false}), config)),
      data_flits_(flits(bytes_of({.has_data = true}), config)),
      checks_(config.coherence.check),
      groups_(config.tiles()),
      sharers_(config.tiles(), config.coherence.sharer_bits),
      map_(config),
      arena_(std::size_t{config.tiles()} *
             (SetArray<L2Line>::host_bytes(config.l2.size / config.l2.ways * l2_ways_of(config),
                                           l2_ways_of(config)) +
              SetArray<TokenPlace>::host_bytes(config.llc.size, config.llc.ways))),
      slice_accesses_(config.tiles()),
      l2_ports_(config.tiles()),
      llc_ports_(config.tiles()),
      waited_(config.chip.cores),
      arrivals_(config.tiles()) {
  check_caches(config);
  if (config.coherence.profile && tiles_ > kMostProfiled)
    throw UsageError(
        "coherence.profile is true, which works on {} tiles at most, but chip.cores / chip.cores_per_tile "
        "makes {}",
        kMostProfiled, tiles_);
  if (all_ < tiles_)
    throw UsageError(
        "coherence.tokens is {}, but each of the {} tiles that chip.cores / chip.cores_per_tile makes needs "
        "one",
        all_, tiles_);
  if (checks_) versions_.turn_on();
  if (config.coherence.profile) profile_.emplace();
  l1s_.reserve(std::size_t{config.chip.cores} * 2);
  for (std::uint32_t c = 0; c < config.chip.cores; ++c)
    for (const CacheSection& s : {config.l1i, config.l1d}) {
      l1s_.emplace_back(L1Cache::Params{.bytes = s.size, .ways = s.ways});
      l1s_.back().list_reservations(&left_reservations_);
      versions_.add_cache(l1s_.back().slots());
    }
  const std::uint32_t per_tile = cores_per_tile_ * 2;
  agents_.reserve(tiles_);
  for (std::uint32_t t = 0; t < tiles_; ++t) {
    places_.push_back({static_cast<std::uint16_t>(t % config.chip.mesh_width),
                       static_cast<std::uint16_t>(t / config.chip.mesh_width)});
    agents_.emplace_back(TileCaches::Params{.l2_bytes = config.l2.size / config.l2.ways * l2_ways_of(config),
                                            .l2_ways = l2_ways_of(config),
                                            .l1s = std::span(l1s_).subspan(t * per_tile, per_tile),
                                            .first_l1_version = t * per_tile,
                                            .versions = &versions_,
                                            .memory = arena_.resource(),
                                            .exclusive_ways = is_exclusive(config) ? config.l2.ways : 0,
                                            .is_warming = &warming_});
  }
  for (std::uint32_t m = 0; m < config.mem.controllers; ++m)
    controllers_.emplace_back(MemoryController::Params{.latency = config.mem.latency,
                                                       .bytes_per_cycle = config.mem.bytes_per_cycle,
                                                       .perturb = config.chip.perturb,
                                                       .seed = mix64(config.chip.seed ^ 0x6d656d) + m});
  report_ = [](const std::string& sentence) { check_failed(__FILE__, __LINE__, "coherence", sentence); };
  if (checks_) {
    observers_.reserve(l1s_.size());
    for (std::uint32_t i = 0; i < l1s_.size(); ++i) {
      observers_.emplace_back(*this, i);
      l1s_[i].observe(&observers_.back());
    }
  }
}

// ---- Transport ----

void TokenTiles::send(const Flight& cause, const TokenMessage& m, TileId from, TileId to) {
  const std::uint32_t index = flights_.add(cause);
  Flight& flight = flights_[index];
  flight.message = m;
  if (!warming_) {
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
  if (warming_) return arrivals_;
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
    if (!warming_) copy.spend(kWayPart, arrivals[t.value]);
    arrive(index);
  });
}

void TokenTiles::arrive(std::uint32_t index) {
  if (warming_) return immediate_.push_back(index);
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
  warming_ = true;
  // A line in a transaction is left alone: guest memory is right anyway.
  for (unsigned tries = 0; tries < 3; ++tries) {
    if (access(core, line, kind, Cycle{0}).done) break;
    if (immediate_.empty()) break;
    drain();
  }
  drain();
  warming_ = false;
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
  for (std::uint32_t t = 0; t < tiles_; ++t) {
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
  if (checks_) memory_versions_[line.value] = versions_.newest(line);
}

// ---- Checks (C21, K91) ----

void TokenTiles::require(const char* violation, LineAddr line) const {
  if (violation != nullptr) report_(fmt::format("line {:#x}: {}", addr_of(line), violation));
}

void TokenTiles::check_use(std::uint32_t l1, std::uint32_t slot, LineAddr line, bool write, bool replaces) {
  const TileCaches& tile = agents_[l1 / (cores_per_tile_ * 2)].caches;
  const Versions::Place place = tile.l1_place(l1 % (cores_per_tile_ * 2), slot);
  if (!replaces && !versions_.is_newest(line, place))
    report_(fmt::format("core {} uses an old copy of line {:#x}", l1 / 2, addr_of(line)));
  if (write) versions_.store(line, place);
}

std::string TokenTiles::find_violation_in_tiles(LineAddr line, Sum& sum) const {
  for (std::uint32_t t = 0; t < tiles_; ++t) {
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
  for (std::uint32_t i = 0; i < l1s_.size(); ++i)
    l1s_[i].register_stats(registry, fmt::format("core.{}.{}", i / 2, i % 2 == 0 ? "l1i" : "l1d"));
  for (std::uint32_t t = 0; t < tiles_; ++t)
    register_cache_stats(registry, t,
                         {.l2 = agents_[t].caches.counters,
                          .llc = llc_counters(t),
                          .l2_accesses = agents_[t].caches.accesses,
                          .llc_accesses = slice_accesses_[t]});
  if (mshrs_ != 0)
    for (std::uint32_t t = 0; t < tiles_; ++t)
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
  for (std::uint32_t m = 0; m < controllers_.size(); ++m)
    controllers_[m].register_stats(registry, fmt::format("mem.{}", m));
}

}  // namespace rubato::chip
