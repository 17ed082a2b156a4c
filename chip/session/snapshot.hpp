// Values of all statistics at one time, and over regions (C24): roots `roi` and `run` of stats.json.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "chip/stats/cycle_account.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

/// The value of a counter or total, a gauge or ratio, or a histogram.
using StatValue = std::variant<std::uint64_t, double, Histogram>;

/// The values of a registry's statistics, in its order.
using StatValues = std::vector<StatValue>;

StatValue read_stat(const Stat& stat);
StatValues read_stats(const StatRegistry& registry);

/// sum += after - before; gauges are replaced by their value in `after`.
void add_difference(StatValue& sum, const StatValue& after, const StatValue& before);
void add_difference(StatValues& sum, const StatValues& after, const StatValues& before);

/// Collects what happened between begin() and end(), over any number of regions.
class RegionRecorder {
 public:
  using FunctionCycles = std::map<Addr, CycleTable>;

  /// Both must outlive the recorder; all statistics must be registered before the first begin().
  RegionRecorder(const StatRegistry& registry, const CycleAccount& cycles);

  void begin();
  void end();
  bool is_inside() const { return inside_; }
  std::uint64_t regions() const { return regions_; }

  /// Over all regions, a region that has not ended included.
  StatValues values() const;
  FunctionCycles function_cycles() const;

 private:
  const StatRegistry& registry_;
  const CycleAccount& cycles_;
  bool inside_ = false;
  std::uint64_t regions_ = 0;
  StatValues before_, sum_;
  FunctionCycles functions_before_, functions_sum_;
};

}  // namespace rubato::chip
