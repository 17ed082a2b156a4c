// Building a token protocol with homes from a configuration; checks and statistics.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "chip/coherence/cache_stats.hpp"
#include "chip/coherence/entry_rows.hpp"
#include "chip/coherence/filter/banked_filter.hpp"
#include "chip/coherence/filter/counting_filter.hpp"
#include "chip/coherence/filter/d_left_filter.hpp"
#include "chip/coherence/filter/exact_filter.hpp"
#include "chip/coherence/token/token_protocol.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

namespace {

constexpr std::uint32_t kFewestSets = 4;  // what tags of 32 bits need (SetArray)

std::uint32_t entry_ways_of(const Config& config, TokenPolicy policy) {
  return policy == TokenPolicy::flask ? config.coherence.directory_ways : config.coherence.ways;
}

/// The associativity of a home's directory.
std::uint32_t directory_assoc_of(const Config& config, TokenPolicy policy) {
  const std::uint32_t asked = config.coherence.directory_assoc;
  return asked != 0 ? asked : entry_ways_of(config, policy);
}

/// The filter of a bank.
std::unique_ptr<LineFilter> make_bank_filter(const Config& config, std::uint32_t rows) {
  const std::uint32_t sub_tables = config.coherence.ways - config.coherence.directory_ways;
  const std::string& kind = config.coherence.filter;
  if (kind == "dlcbf") return std::make_unique<DLeftFilter>(sub_tables, rows);
  if (kind == "cbf") return std::make_unique<CountingFilter>(sub_tables, rows);
  if (kind == "exact") return std::make_unique<ExactFilter>();
  return std::make_unique<NoFilter>();
}

std::unique_ptr<LineFilter> make_filter(const Config& config, std::uint32_t rows) {
  const std::uint32_t count = config.llc.banks;
  if (count == 1) return make_bank_filter(config, rows);
  std::vector<std::unique_ptr<LineFilter>> banks;
  for (std::uint32_t i = 0; i < count; ++i) banks.push_back(make_bank_filter(config, rows / count));
  return std::make_unique<BankedFilter>(std::move(banks));
}

std::unique_ptr<MovingSplit> make_split(const Config& config, std::uint64_t rows, LineFilter& filter) {
  const std::uint32_t ways = config.coherence.ways, sub_tables = DLeftFilter::kMaxSubTables;
  const PartitionPolicy::Params params{.ways = ways,
                                       .least = ways > sub_tables ? ways - sub_tables : 1,
                                       .most = ways - 1,
                                       .buckets = static_cast<std::uint32_t>(rows)};
  return std::make_unique<MovingSplit>(dynamic_cast<DLeftFilter&>(filter), params,
                                       config.coherence.directory_ways);
}

/// The rows of a way that the filter of this kind can use.
std::uint64_t most_rows(const std::string& filter) {
  if (filter == "dlcbf") return DLeftFilter::kMostBuckets;
  return filter == "cbf" ? std::uint64_t{CountingFilter::kMostRows} : ~std::uint64_t{0};
}

TokenVariant variant_of(const Config& config) {
  return {.probes_when_needed = config.coherence.mosaic_probe == "needed",
          .counts_chip = config.coherence.filter_counts == "chip",
          .sharer_bits = config.coherence.sharer_bits};
}

/// `sets`: of a home's directory.
void check_banks(const Config& config, TokenPolicy policy, std::uint64_t sets) {
  const std::uint32_t banks = config.llc.banks;
  if (sets % banks != 0)
    throw UsageError("llc.banks is {}, which does not divide the {} sets of a tile's directory", banks, sets);
  if (policy != TokenPolicy::flask) return;
  if (entry_rows_of(config) < banks)
    throw UsageError("llc.banks is {}, but a sub-table of a tile's filter has {} rows, fewer than banks",
                     banks, entry_rows_of(config));
  if (banks != 1 && config.coherence.partition == "adaptive")
    throw UsageError("coherence.partition is adaptive, which takes a slice of one bank, but llc.banks is {}",
                     banks);
}

void check_config(const Config& config, TokenPolicy policy) {
  const CoherenceSection& c = config.coherence;
  if (policy == TokenPolicy::flask && c.directory_ways < c.ways &&
      c.ways - c.directory_ways > DLeftFilter::kMaxSubTables)
    throw UsageError(
        "coherence.ways is {} and coherence.directory_ways {}, which leaves {} sub-tables, but a filter has "
        "{} at most",
        c.ways, c.directory_ways, c.ways - c.directory_ways, DLeftFilter::kMaxSubTables);
  if (policy == TokenPolicy::flask && c.directory_ways >= c.ways)
    throw UsageError("coherence.directory_ways is {}, which leaves the filter none of coherence.ways = {}",
                     c.directory_ways, c.ways);
  if (entry_rows_of(config) < kFewestSets)
    throw UsageError(
        "coherence.capacity is {}, which with coherence.ways = {} makes fewer than {} sets of entries a tile",
        c.capacity, c.ways, kFewestSets);
  if (policy == TokenPolicy::flask && entry_rows_of(config) > most_rows(c.filter))
    throw UsageError(
        "coherence.capacity is {}, which with l2.size = {} and coherence.ways = {} makes {} rows of "
        "entries a tile, but coherence.filter = {} has {} at most",
        c.capacity, config.l2.size, c.ways, entry_rows_of(config), c.filter, most_rows(c.filter));
  if (policy == TokenPolicy::flask && c.partition == "adaptive" && c.filter != "dlcbf")
    throw UsageError(
        "coherence.partition is adaptive, which moves the cells of coherence.filter = dlcbf, but that is {}",
        c.filter);
  if (policy == TokenPolicy::flask && c.partition == "adaptive" && c.directory_assoc != 0)
    throw UsageError("coherence.directory_assoc is {}, which takes coherence.partition = fixed, not adaptive",
                     c.directory_assoc);
  const std::uint64_t entries = entry_rows_of(config) * entry_ways_of(config, policy);
  const std::uint32_t assoc = directory_assoc_of(config, policy);
  if (entries % assoc != 0 || entries / assoc < kFewestSets)
    throw UsageError(
        "coherence.directory_assoc is {}, which does not divide the {} entries of a tile's directory into {} "
        "sets or more",
        assoc, entries, kFewestSets);
  check_banks(config, policy, entries / assoc);
}

}  // namespace

TokenProtocol::TokenProtocol(const Config& config, TokenPolicy policy, Ports ports)
    : TokenTiles(config, ports),
      policy_(policy),
      counts_chip_(variant_of(config).counts_chip),
      agent_rules_(all_, !sharers_.is_exact()),
      home_rules_(policy, config.tiles(), all_, variant_of(config)) {
  check_config(config, policy);
  const std::uint64_t rows = entry_rows_of(config);
  const std::uint64_t entries = rows * entry_ways_of(config, policy);
  homes_.reserve(tiles());
  const bool moves = policy == TokenPolicy::flask && config.coherence.partition == "adaptive";
  std::pmr::memory_resource* const directory_memory =
      moves ? std::pmr::new_delete_resource() : parts_.arena.resource();
  for (std::uint32_t t = 0; t < tiles(); ++t) {
    TokenHome& home = homes_.emplace_back(config, entries, directory_assoc_of(config, policy),
                                          parts_.arena.resource(), directory_memory);
    if (policy == TokenPolicy::flask) home.filter = make_filter(config, static_cast<std::uint32_t>(rows));
    if (home.filter != nullptr && config.coherence.profile)
      home.profile = std::make_unique<FilterProfile>(*home.filter);
    if (moves) home.split = make_split(config, rows, *home.filter);
  }
}

bool TokenProtocol::is_at_rest(LineAddr line) const {
  if (const HomeRecord* const record = homes_[home_of(line).value].find(line); record != nullptr)
    if (record->line.phase != HomeLine::Phase::idle || record->first != FlightPool::kNone) return false;
  for (const TokenAgent& agent : agents_) {
    const AgentRecord* const record = agent.find(line);
    if (record == nullptr) continue;
    const AgentLine& l = record->line;
    if (l.want != AgentLine::Want::none || l.is_unblock_due || l.is_put_pending) return false;
  }
  return true;
}

void TokenProtocol::drop_at_home(LineAddr line, bool is_out) {
  TokenHome& home = homes_[home_of(line).value];
  const HomeRecord* const record = home.find(line);
  if (is_out || (counts_chip_ && record != nullptr && record->line.llc.count != 0)) home.erase(line);
  if (record == nullptr) return;
  if (record->llc_slot != HomeRecord::kNoSlot) {
    parts_.uses.leave_llc(line);
    home.llc.erase(record->llc_slot);
  }
  if (record->entry_slot != HomeRecord::kNoSlot) home.directory.erase(record->entry_slot);
  home.lines.erase(line);
}

void TokenProtocol::add_known_lines(std::vector<LineAddr>& lines) const {
  for (const TokenHome& home : homes_)
    home.lines.for_each([&](LineAddr line, const HomeRecord&) { lines.push_back(line); });
}

std::uint64_t TokenProtocol::possible_holders(LineAddr line) const {
  const HomeRecord* const record = homes_[home_of(line).value].find(line);
  if (record != nullptr && record->line.phase == HomeLine::Phase::idle) {
    if (record->line.has_entry) return as_groups(record->line.sharers);
    if (record->line.llc.count == all_) return 0;
  }
  return parts_.groups.all();
}

/// An entry's vector as one of the chip's.
std::uint64_t TokenProtocol::as_groups(std::uint64_t sharers) const {
  if (sharers_ == parts_.groups) return sharers;
  std::uint64_t bits = 0;
  sharers_.for_each(sharers, [&](TileId t) { bits |= parts_.groups.bit(t); });
  return bits;
}

/// Invariants of a line between two transactions (K91).
std::string TokenProtocol::find_violation(LineAddr line) const {
  const auto wrong = [&](std::string_view what) {
    return fmt::format("line {:#x}, home {}: {}", addr_of(line), home_of(line).value, what);
  };
  const TokenHome& node = homes_[home_of(line).value];
  const HomeRecord* const record = node.find(line);
  if (record != nullptr &&
      (record->llc_slot != node.llc.find(line) || record->entry_slot != node.directory.find(line) ||
       record->line.has_entry != (record->entry_slot != HomeRecord::kNoSlot)))
    return wrong("its record has other places than the arrays");
  const HomeLine none{};
  const HomeLine& home = record != nullptr ? record->line : none;
  Sum sum{.tokens = home.llc.count, .owners = home.llc.owner ? 1U : 0U};
  if (const std::string what = find_violation_in_tiles(line, sum); !what.empty()) return wrong(what);
  if (sum.tokens != 0 && sum.tokens != all_)
    return wrong(fmt::format("{} of {} tokens are on the chip", sum.tokens, all_));
  if (sum.owners != (sum.tokens != 0 ? 1U : 0U))
    return wrong(fmt::format("{} owner tokens are on the chip", sum.owners));
  const std::uint64_t unnamed = sum.holders & ~home.sharers, others = home.sharers & ~sum.holders;
  if (home.has_entry && (unnamed != 0 || (others != 0 && sharers_.is_exact())))
    return wrong("its entry does not name the holders");
  if (policy_ == TokenPolicy::sparse && sum.holders != 0 && !home.has_entry)
    return wrong("it is out without an entry");
  return {};
}

void TokenProtocol::register_stats(StatRegistry& registry) const {
  TokenTiles::register_stats(registry);
  for (std::uint32_t t = 0; t < tiles(); ++t) {
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
    register_directory_rows(registry, t, homes_[t].entries.rows);
    registry.value(fmt::format("tile.{}.directory.entries", t), "entries", "entries in use",
                   [home = &homes_[t]] { return static_cast<double>(home->entries_in_use()); });
    registry.value(fmt::format("tile.{}.directory.most_open", t), "lines",
                   "the most lines that have been in transactions of this home at a time",
                   [home = &homes_[t]] { return static_cast<double>(home->entries.most_open); });
    const LineFilter* const filter = homes_[t].filter.get();
    if (filter == nullptr) continue;
    registry.value(fmt::format("tile.{}.filter.lines", t), "lines", "lines that the filter counts",
                   [home = &homes_[t]] { return static_cast<double>(home->lines_out); });
    registry.counter(fmt::format("tile.{}.filter.rows_read", t), "rows", "rows of the filter that were read",
                     &filter->rows().read);
    registry.counter(fmt::format("tile.{}.filter.rows_written", t), "rows",
                     "rows of the filter that were written", &filter->rows().written);
    if (homes_[t].profile != nullptr) homes_[t].profile->register_stats(registry, t);
    const MovingSplit* const split = homes_[t].split.get();
    if (split == nullptr) continue;
    const auto moving = [&](const char* name, const char* unit, const char* description,
                            const std::uint64_t* counter) {
      registry.counter(fmt::format("tile.{}.split.{}", t, name), unit, description, counter);
    };
    registry.value(fmt::format("tile.{}.split.directory_ways", t), "ways", "ways that are directory",
                   [home = &homes_[t]] { return static_cast<double>(home->directory.ways()); });
    moving("epochs", "epochs", "times that the home has considered another split", &split->epochs);
    moving("moves", "events", "times that it chose another one", &split->moves);
    moving("ways_moved", "ways", "ways that came to the directory or left it", &split->ways_moved);
    moving("shadow_hits", "accesses", "requests that needed an entry, of lines with a shadow tag",
           &split->shadow_hits);
    moving("predicted_rebuilt", "broadcasts",
           "probes predicted of the split in use, for entries that all ways would have kept",
           &split->predicted_rebuilt);
    moving("predicted_false_positives", "broadcasts",
           "probes predicted of the split in use that find nothing", &split->predicted_false_positives);
  }
}

}  // namespace rubato::chip
