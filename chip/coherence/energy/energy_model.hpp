// Energy of the memory hierarchy on the chip, and of memory (K77, K78; FLASK coherence, Sec. V and VI.A). A
// pure function of a configuration and of sums of statistics, asked when a run is over: nothing here is known
// to whatever takes time. python/rubato/results/energy.py is the same function, for reports.
//
//   access     L1: tag and data of 64 bits at once, as a cache is cited. L2, LLC: a look-up reads the tags of
//              a set; a line is read or written in one access of the data array
//   banks      an access of a slice, directory or filter is one of a bank's array: llc.banks of equal size
//   tags       32 bits a line, state and tokens among them; a look-up changes them for nothing more
//   directory  rows of 16 bytes, an array a way, and the filter's sub-tables so; a directory without entries
//   of
//              its own, as mesi's, has 8 bytes beside each tag of a slice
//   protocol   its statistics say what it has: rows of a directory (rows_read), entries there
//   (directory.hits),
//              rows of a filter. No name of a protocol is asked for
//   network    a flit on a link, router included, whatever it belongs to; its leakage is not known here
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chip/config/config.hpp"

namespace rubato::chip {

enum class EnergyPart : std::uint8_t { l1, l2, llc, directory, filter, network };
inline constexpr unsigned kEnergyParts = 6;
constexpr std::string_view name_of(EnergyPart p) {
  constexpr std::string_view names[] = {"l1", "l2", "llc", "directory", "filter", "network"};
  return names[static_cast<unsigned>(p)];
}

/// In nJ.
struct Energy {
  std::array<double, kEnergyParts> dynamic{}, leakage{};
  double memory = 0;   ///< not on the chip
  double seconds = 0;  ///< simulated

  double dynamic_of(EnergyPart p) const { return dynamic[static_cast<unsigned>(p)]; }
  double leakage_of(EnergyPart p) const { return leakage[static_cast<unsigned>(p)]; }
  /// Energy of the on-chip hierarchy.
  double total() const;
  /// Energy-delay product of the same, in nJ s.
  double edp() const { return total() * seconds; }
};

/// The sum of the statistics of a kind, such as "tile.*.l2.lookups"; nothing if no part has such a statistic.
using StatSums = std::function<std::optional<double>(std::string_view kind)>;

/// `config` is resolved.
Energy energy_of(const Config& config, const StatSums& sums);

/// As statistics: energy.PART.dynamic and .leakage, energy.total, energy.memory, energy.edp.
struct EnergyStat {
  std::string name, unit, description;
  double value;
};
std::vector<EnergyStat> energy_stats(const Energy& energy);

}  // namespace rubato::chip
