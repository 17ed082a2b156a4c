// Building a token protocol from a configuration; warming, forgetting, checks and statistics.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"
#include "chip/coherence/cache_stats.hpp"
#include "chip/coherence/filter/counting_filter.hpp"
#include "chip/coherence/filter/d_left_filter.hpp"
#include "chip/coherence/filter/exact_filter.hpp"
#include "chip/coherence/token/token_protocol.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

namespace {

constexpr std::uint32_t kMostAgents = 64;
constexpr std::uint32_t kFewestSets = 4;  // what tags of 32 bits need (SetArray)

/// Rows of a home's directory and filter: entries for `capacity` times the lines of a tile's L2 (K55).
std::uint64_t rows_of(const Config& config) {
  const auto entries = static_cast<std::uint64_t>(config.coherence.capacity *
                                                  static_cast<double>(config.l2.size / kLineBytes));
  return std::bit_floor(std::max<std::uint64_t>(entries / config.coherence.ways, 1));
}

std::uint32_t entry_ways_of(const Config& config, TokenPolicy policy) {
  return policy == TokenPolicy::flask ? config.coherence.directory_ways : config.coherence.ways;
}

std::unique_ptr<LineFilter> make_filter(const Config& config, std::uint32_t rows) {
  const std::uint32_t sub_tables = config.coherence.ways - config.coherence.directory_ways;
  const std::string& kind = config.coherence.filter;
  if (kind == "dlcbf") return std::make_unique<DLeftFilter>(sub_tables, rows);
  if (kind == "cbf") return std::make_unique<CountingFilter>(sub_tables, rows);
  if (kind == "exact") return std::make_unique<ExactFilter>();
  return std::make_unique<NoFilter>();
}

void check_config(const Config& config, TokenPolicy policy) {
  const CoherenceSection& c = config.coherence;
  if (config.tiles() > kMostAgents)
    throw UsageError(
        "coherence.protocol is \"{}\", which works on {} tiles at most, but chip.cores / chip.cores_per_tile "
        "makes {}",
        c.protocol, kMostAgents, config.tiles());
  if (policy == TokenPolicy::flask && c.directory_ways < c.ways &&
      c.ways - c.directory_ways > DLeftFilter::kMaxSubTables)
    throw UsageError(
        "coherence.ways is {} and coherence.directory_ways {}, which leaves {} sub-tables, but a filter has "
        "{} at most",
        c.ways, c.directory_ways, c.ways - c.directory_ways, DLeftFilter::kMaxSubTables);
  if (policy == TokenPolicy::flask && c.directory_ways >= c.ways)
    throw UsageError("coherence.directory_ways is {}, which leaves the filter none of coherence.ways = {}",
                     c.directory_ways, c.ways);
  if (rows_of(config) < kFewestSets)
    throw UsageError(
        "coherence.capacity is {}, which with coherence.ways = {} makes fewer than {} sets of entries a tile",
        c.capacity, c.ways, kFewestSets);
}

}  // namespace

TokenProtocol::TokenProtocol(const Config& config, TokenPolicy policy, Ports ports)
    : network_(&ports.network),
      conflicts_(&ports.conflicts),
      timeline_(&ports.timeline),
      client_(&ports.client),
      policy_(policy),
      tiles_(config.tiles()),
      cores_per_tile_(config.chip.cores_per_tile),
      all_(config.tiles()),
      l1i_latency_(config.l1i.latency),
      l1d_latency_(config.l1d.latency),
      l2_latency_(config.l2.latency),
      llc_latency_(config.llc.latency),
      llc_ways_(config.llc.ways),
      entry_ways_(entry_ways_of(config, policy)),
      mesh_width_(config.chip.mesh_width),
      link_bytes_(config.net.link_bytes),
      checks_(config.coherence.check),
      agent_rules_(config.tiles()),
      home_rules_(policy, config.tiles(), config.tiles()),
      map_(config),
      arena_(std::size_t{config.tiles()} *
             (SetArray<L2Line>::host_bytes(config.l2.size, config.l2.ways) +
              SetArray<TokenHome::Place>::host_bytes(config.llc.size, config.llc.ways))),
      l2_ports_(config.tiles()),
      llc_ports_(config.tiles()),
      waited_(config.chip.cores) {
  check_config(config, policy);
  if (checks_) versions_.turn_on();
  l1s_.reserve(std::size_t{config.chip.cores} * 2);
  for (std::uint32_t c = 0; c < config.chip.cores; ++c)
    for (const CacheSection& s : {config.l1i, config.l1d}) {
      l1s_.emplace_back(L1Cache::Params{.bytes = s.size, .ways = s.ways});
      l1s_.back().list_reservations(&left_reservations_);
      versions_.add_cache(l1s_.back().slots());
    }
  const std::uint32_t per_tile = cores_per_tile_ * 2;
  const std::uint64_t rows = rows_of(config);
  for (std::uint32_t t = 0; t < tiles_; ++t) {
    agents_.emplace_back(TileCaches::Params{.l2_bytes = config.l2.size,
                                            .l2_ways = config.l2.ways,
                                            .l1s = std::span(l1s_).subspan(t * per_tile, per_tile),
                                            .first_l1_version = t * per_tile,
                                            .versions = &versions_,
                                            .memory = arena_.resource()},
                         &pool_);
    TokenHome& home = homes_.emplace_back(config.llc.size, config.llc.ways, rows, entry_ways_, &pool_);
    if (policy == TokenPolicy::flask) home.filter = make_filter(config, static_cast<std::uint32_t>(rows));
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

// ---- Warming and forgetting ----

bool TokenProtocol::is_at_rest(LineAddr line) const {
  const auto& lines = homes_[home_of(line).value].lines;
  if (const auto it = lines.find(line.value); it != lines.end())
    if (it->second.line.phase != HomeLine::Phase::idle || it->second.first != FlightPool::kNone) return false;
  for (const TokenAgent& agent : agents_) {
    const auto it = agent.lines.find(line.value);
    if (it == agent.lines.end()) continue;
    const AgentLine& l = it->second.line;
    if (l.want != AgentLine::Want::none || l.is_unblock_due || l.is_put_pending) return false;
  }
  return true;
}

void TokenProtocol::warm(CoreId core, LineAddr line, AccessKind kind) {
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

std::vector<LineAddr> TokenProtocol::known_lines(LineAddr first, LineAddr last) const {
  std::vector<LineAddr> lines;
  const auto add = [&](std::uint64_t line) {
    if (first.value <= line && line <= last.value) lines.push_back(LineAddr{line});
  };
  for (const TokenAgent& agent : agents_)
    for (const auto& [line, record] : agent.lines) add(line);
  for (const TokenHome& home : homes_)
    for (const auto& [line, record] : home.lines) add(line);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

void TokenProtocol::forget(LineAddr first, LineAddr last) {
  std::size_t known = 0;
  for (const TokenAgent& agent : agents_) known += agent.lines.size();
  for (const TokenHome& home : homes_) known += home.lines.size();
  if (const std::uint64_t lines = last.value - first.value + 1; lines != 0 && lines <= known / 4) {
    for (std::uint64_t l = first.value; l <= last.value; ++l) drop(LineAddr{l});
    return;
  }
  for (const LineAddr line : known_lines(first, last)) drop(line);
}

/// A line in a transaction stays: guest memory is right anyway.
void TokenProtocol::drop(LineAddr line) {
  if (!is_at_rest(line)) return;
  TokenHome& home = homes_[home_of(line).value];
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
    agent.lines.erase(line.value);
  }
  if (is_out) home.erase(line);
  if (home.find(line) != nullptr) {
    constexpr std::uint32_t kNone = SetArray<TokenHome::Place>::kNoSlot;
    if (const std::uint32_t slot = home.llc.find(line); slot != kNone) home.llc.erase(slot);
    if (const std::uint32_t slot = home.directory.find(line); slot != kNone) home.directory.erase(slot);
    home.lines.erase(line.value);
  }
  if (conflicts_->is_active()) conflicts_->on_llc_evict(line);
  if (checks_) memory_versions_[line.value] = versions_.newest(line);
}

std::uint64_t TokenProtocol::possible_holders(LineAddr line) const {
  const auto& lines = homes_[home_of(line).value].lines;
  const auto it = lines.find(line.value);
  if (it != lines.end() && it->second.line.phase == HomeLine::Phase::idle) {
    if (it->second.line.has_entry) return it->second.line.sharers;
    if (it->second.line.llc.count == all_) return 0;
  }
  return tiles_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << tiles_) - 1;
}

// ---- Checks (C21, K91) ----

void TokenProtocol::require(const char* violation, LineAddr line) const {
  if (violation != nullptr) [[unlikely]]
    report_(fmt::format("line {:#x}: {}", addr_of(line), violation));
}

void TokenProtocol::check_use(std::uint32_t l1, std::uint32_t slot, LineAddr line, bool write,
                              bool replaces) {
  const TileCaches& tile = agents_[l1 / (cores_per_tile_ * 2)].caches;
  const Versions::Place place = tile.l1_place(l1 % (cores_per_tile_ * 2), slot);
  if (!replaces && !versions_.is_newest(line, place))
    report_(fmt::format("core {} uses an old copy of line {:#x}", l1 / 2, addr_of(line)));
  if (write) versions_.store(line, place);
}

/// Of a line between two transactions.
std::string TokenProtocol::find_violation(LineAddr line) const {
  const auto wrong = [&](std::string_view what) {
    return fmt::format("line {:#x}, home {}: {}", addr_of(line), home_of(line).value, what);
  };
  const auto& lines = homes_[home_of(line).value].lines;
  const auto it = lines.find(line.value);
  const HomeLine none{};
  const HomeLine& home = it != lines.end() ? it->second.line : none;
  std::uint32_t sum = home.llc.count, owners = home.llc.owner ? 1 : 0;
  std::uint64_t holders = 0;
  for (std::uint32_t t = 0; t < tiles_; ++t) {
    const TokenAgent& agent = agents_[t];
    const auto found = agent.lines.find(line.value);
    const std::uint32_t slot = agent.caches.array().find(line);
    const bool has_copy = slot != TileCaches::kNoSlot;
    if (found == agent.lines.end()) {
      if (has_copy) return wrong(fmt::format("tile {} has a copy without a token", t));
      continue;
    }
    const AgentLine& l = found->second.line;
    sum += l.held.count;
    owners += l.held.owner ? 1 : 0;
    if (l.held.count != 0) holders |= std::uint64_t{1} << t;
    if (has_copy && !l.is_readable()) return wrong(fmt::format("tile {} has a copy without a token", t));
    if (has_copy && is_writable(agent.caches.array()[slot].state) && !l.is_writable(all_))
      return wrong(fmt::format("tile {} may write without all tokens", t));
  }
  if (sum != 0 && sum != all_) return wrong(fmt::format("{} of {} tokens are on the chip", sum, all_));
  if (owners != (sum != 0 ? 1U : 0U)) return wrong(fmt::format("{} owner tokens are on the chip", owners));
  if (home.has_entry && home.sharers != holders) return wrong("its entry does not name the holders");
  if (policy_ == TokenPolicy::sparse && holders != 0 && !home.has_entry)
    return wrong("it is out without an entry");
  return {};
}

std::string TokenProtocol::check_invariants() const {
  for (const LineAddr line : known_lines(LineAddr{0}, LineAddr{~std::uint64_t{0}}))
    if (is_at_rest(line))
      if (std::string what = find_violation(line); !what.empty()) return what;
  return {};
}

// ---- Statistics ----

void TokenProtocol::register_stats(StatRegistry& registry) const {
  for (std::uint32_t i = 0; i < l1s_.size(); ++i)
    l1s_[i].register_stats(registry, fmt::format("core.{}.{}", i / 2, i % 2 == 0 ? "l1i" : "l1d"));
  for (std::uint32_t t = 0; t < tiles_; ++t) {
    register_cache_stats(registry, t, agents_[t].caches.counters, homes_[t].counters);
    const auto entry = [&, c = &homes_[t].entries](const char* name, const char* unit,
                                                   const char* description,
                                                   std::uint64_t DirectoryCounters::*counter) {
      registry.counter(fmt::format("tile.{}.directory.{}", t, name), unit, description, &(c->*counter));
    };
    entry("hits", "accesses", "requests of lines with an entry", &DirectoryCounters::hits);
    entry("misses", "accesses", "requests of lines without an entry", &DirectoryCounters::misses);
    entry("evictions", "entries", "entries that left to make room", &DirectoryCounters::evictions);
    entry("probes", "broadcasts", "times that all tiles were asked for a line", &DirectoryCounters::probes);
    entry("rebuilt", "broadcasts", "probes that found the line in a tile", &DirectoryCounters::rebuilt);
    entry("false_positives", "broadcasts", "probes that found nothing, after which memory was asked",
          &DirectoryCounters::false_positives);
    entry("filtered", "accesses", "probes that the filter saved", &DirectoryCounters::filtered);
    entry("flushes", "events", "times that lines of a saturated filter counter were taken back",
          &DirectoryCounters::flushes);
    entry("incomplete", "lines", "lines that left the LLC while a tile had tokens of them",
          &DirectoryCounters::incomplete);
  }
  for (unsigned k = 0; k < kTokenMessageKinds; ++k)
    registry.counter(fmt::format("coherence.messages.{}", name_of(static_cast<TokenMessage::Kind>(k))),
                     "messages", "coherence messages of this kind", &messages_[k]);
  for (const TrafficClass c : {TrafficClass::memory, TrafficClass::abort, TrafficClass::coherence})
    registry.counter(fmt::format("coherence.flit_hops.{}", name_of(c)), "flits",
                     "flits of coherence messages, each counted on every link of its way",
                     &flit_hops_[static_cast<unsigned>(c)]);
  for (std::uint32_t m = 0; m < controllers_.size(); ++m)
    controllers_[m].register_stats(registry, fmt::format("mem.{}", m));
}

}  // namespace rubato::chip
