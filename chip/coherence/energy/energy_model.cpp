// SPDX-License-Identifier: MIT
#include "chip/coherence/energy/energy_model.hpp"

#include <fmt/format.h>

#include <numeric>

#include "chip/coherence/energy/array_energy.hpp"
#include "chip/coherence/entry_rows.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {
namespace {

constexpr double kLineBits = 8.0 * kLineBytes, kTagBytes = 4, kRowBits = 8.0 * kEntryBytes;
constexpr double kInTagBytes = 8;  // of a directory: sharers, owner and state beside a slice's tag
constexpr double kFlitBytes = 16;  // what energy.flit_hop_pj is of

/// A part's sums over the chip, in pJ and bytes.
struct Part {
  double pj = 0, bytes = 0;
};

class Accounts {
 public:
  Accounts(const Config& config, const StatSums& sums) : config_(config), sums_(sums) {}
  double sum(std::string_view kind) const { return sums_(kind).value_or(0); }

  Part l1() const {
    Part both = l1("l1i", config_.l1i, 0);
    const Part data = l1("l1d", config_.l1d, sum("core.*.stores") + sum("core.*.atomics"));
    return {both.pj + data.pj, both.bytes + data.bytes};
  }
  Part cache(const char* name, const CacheSection& c) const {
    const auto of = [&](const char* what) { return sum(fmt::format("tile.*.{}.{}", name, what)); };
    const ArrayEnergy data = bank(static_cast<double>(c.size), c.banks);
    return {of("lookups") * tag_pj(c) + of("reads") * data.read_pj(kLineBits) +
                of("writes") * data.write_pj(kLineBits),
            config_.tiles() * bytes_of(c)};
  }
  Part directory() const {
    const auto at = [&](double array_bytes, double bits) {
      const ArrayEnergy a = bank(array_bytes, config_.llc.banks);
      return sum("tile.*.directory.rows_read") * a.read_pj(bits) +
             sum("tile.*.directory.rows_written") * a.write_pj(bits);
    };
    if (!has("tile.*.directory.rows_read")) return {};
    if (!has("tile.*.directory.hits")) {
      const double bytes = kInTagBytes * lines_of(config_.llc);
      return {at(bytes, 8 * kInTagBytes), config_.tiles() * bytes};
    }
    const std::uint32_t ways = has_filter() ? config_.coherence.directory_ways : config_.coherence.ways;
    return {at(way_bytes(), kRowBits), config_.tiles() * ways * way_bytes()};
  }
  Part filter() const {
    // An exact filter is no hardware, so its accesses have no energy; coherence.filter=none has no array.
    const std::string& kind = config_.coherence.filter;
    if (!has_filter() || (kind != "dlcbf" && kind != "cbf")) return {};
    const ArrayEnergy a = bank(way_bytes(), config_.llc.banks);
    const std::uint32_t sub_tables = config_.coherence.ways - config_.coherence.directory_ways;
    return {sum("tile.*.filter.rows_read") * a.read_pj(kRowBits) +
                sum("tile.*.filter.rows_written") * a.write_pj(kRowBits),
            config_.tiles() * sub_tables * way_bytes()};
  }
  Part network() const {
    double flits = 0;
    for (const char* direction : {"east", "west", "south", "north"})
      flits += sum(fmt::format("tile.*.link.{}.flits", direction));
    return {flits * config_.energy.flit_hop_pj * config_.net.link_bytes / kFlitBytes, 0};
  }

 private:
  bool has(std::string_view kind) const { return sums_(kind).has_value(); }
  ArrayEnergy array(double bytes) const { return {config_.energy.sram_pj, bytes}; }
  /// A bank of an array that has so many, all of one size.
  ArrayEnergy bank(double bytes, std::uint32_t banks) const { return array(bytes / banks); }
  static double lines_of(const CacheSection& c) { return static_cast<double>(c.size / kLineBytes); }
  static double bytes_of(const CacheSection& c) {
    return static_cast<double>(c.size) + kTagBytes * lines_of(c);
  }
  double tag_pj(const CacheSection& c) const {
    return bank(kTagBytes * lines_of(c), c.banks).read_pj(8 * kTagBytes * c.ways);
  }
  Part l1(const char* name, const CacheSection& c, double stores) const {
    const auto of = [&](const char* what) { return sum(fmt::format("core.*.{}.{}", name, what)); };
    const ArrayEnergy a = array(static_cast<double>(c.size));
    const double word = a.read_pj(ArrayEnergy::kWord);
    const double accesses = of("hits") + of("misses") + of("uncounted");
    return {accesses * word + stores * (a.write_pj(ArrayEnergy::kWord) - word) +
                of("fills") * a.write_pj(kLineBits) + of("lines_read") * a.read_pj(kLineBits) +
                of("probes") * tag_pj(c),
            config_.chip.cores * bytes_of(c)};
  }
  bool has_filter() const { return has("tile.*.filter.rows_read"); }
  double way_bytes() const { return static_cast<double>(kEntryBytes * entry_rows_of(config_)); }

  const Config& config_;
  const StatSums& sums_;
};

}  // namespace

double Energy::total() const {
  return std::accumulate(dynamic.begin(), dynamic.end(), 0.0) +
         std::accumulate(leakage.begin(), leakage.end(), 0.0);
}

Energy energy_of(const Config& config, const StatSums& sums) {
  const Accounts accounts(config, sums);
  const Part parts[kEnergyParts] = {accounts.l1(),
                                    accounts.cache("l2", config.l2),
                                    accounts.cache("llc", config.llc),
                                    accounts.directory(),
                                    accounts.filter(),
                                    accounts.network()};
  constexpr double kMiB = 1024.0 * 1024, kNanoPerMilli = 1e6, kNanoPerPico = 1e-3;
  Energy energy;
  energy.seconds = accounts.sum("chip.cycles") / (static_cast<double>(config.chip.frequency_mhz) * 1e6);
  for (unsigned p = 0; p < kEnergyParts; ++p) {
    energy.dynamic[p] = parts[p].pj * kNanoPerPico;
    energy.leakage[p] =
        config.energy.leakage_mw_per_mib * parts[p].bytes / kMiB * energy.seconds * kNanoPerMilli;
  }
  energy.memory = (accounts.sum("mem.*.reads") + accounts.sum("mem.*.writes")) * config.energy.memory_nj;
  return energy;
}

std::vector<EnergyStat> energy_stats(const Energy& energy) {
  constexpr std::string_view kNames[kEnergyParts] = {"L1 caches",   "L2 caches", "LLC slices",
                                                     "directories", "filters",   "links and routers"};
  std::vector<EnergyStat> stats;
  for (unsigned p = 0; p < kEnergyParts; ++p) {
    const auto part = static_cast<EnergyPart>(p);
    stats.push_back({fmt::format("energy.{}.dynamic", name_of(part)), "nJ",
                     fmt::format("energy of what {} did", kNames[p]), energy.dynamic[p]});
    stats.push_back({fmt::format("energy.{}.leakage", name_of(part)), "nJ",
                     fmt::format("energy that {} took over time", kNames[p]), energy.leakage[p]});
  }
  stats.push_back({"energy.total", "nJ", "energy of the memory hierarchy on the chip", energy.total()});
  stats.push_back({"energy.edp", "nJ s", "energy.total x simulated time", energy.edp()});
  stats.push_back({"energy.memory", "nJ", "energy of lines read from memory and written to it, off the chip",
                   energy.memory});
  return stats;
}

}  // namespace rubato::chip
