// Time series of chosen statistics (C27): how much of each counter fell into each interval, gauges as they
// were at its end, histograms as the mean of the interval's samples. series.json of the run directory.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chip/session/snapshot.hpp"

namespace rubato::chip {

class TimeSeries {
 public:
  /// The statistics that are recorded if no --series is given.
  static const std::vector<std::string>& default_globs();

  /// Records the statistics that match one of `globs` ("*" and "?" match dots too).
  /// @throws UsageError for a glob that no statistic matches.
  TimeSeries(const StatRegistry& registry, Latency interval, const std::vector<std::string>& globs);

  Latency interval() const { return interval_; }
  /// Ends an interval at `now`. A second call at the same cycle changes nothing.
  void sample(Cycle now);
  std::string json() const;

 private:
  struct Series {
    const Stat* stat;
    StatValue before;
    std::vector<double> values;
  };
  Latency interval_;
  Cycle last_{};
  std::vector<std::uint64_t> cycles_;
  std::vector<Series> series_;
};

}  // namespace rubato::chip
