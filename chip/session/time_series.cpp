// SPDX-License-Identifier: MIT
#include "chip/session/time_series.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace rubato::chip {
namespace {

bool matches(const std::string& glob, const std::string& name) {
  return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

/// The change between two values: of a count the difference, of a histogram the mean of its new samples.
double difference(const StatValue& after, const StatValue& before) {
  if (const auto* count = std::get_if<std::uint64_t>(&after)) {
    return static_cast<double>(*count - std::get<std::uint64_t>(before));
  }
  if (const auto* number = std::get_if<double>(&after)) return *number;
  Histogram h;
  h.add_difference(std::get<Histogram>(after), std::get<Histogram>(before));
  return h.samples() == 0 ? std::numeric_limits<double>::quiet_NaN()
                          : static_cast<double>(h.sum()) / static_cast<double>(h.samples());
}

}  // namespace

const std::vector<std::string>& TimeSeries::default_globs() {
  static const std::vector<std::string> globs = {"chip.*", "tasks.*", "net.bytes.*"};
  return globs;
}

TimeSeries::TimeSeries(const StatRegistry& registry, Latency interval, const std::vector<std::string>& globs)
    : interval_(interval) {
  const auto matching = [&](const std::string& glob) {
    return std::any_of(registry.stats().begin(), registry.stats().end(),
                       [&](const Stat& stat) { return matches(glob, stat.name); });
  };
  for (const std::string& glob : globs) {
    if (!matching(glob)) throw UsageError("--series {}: no statistic of this chip has such a name", glob);
  }
  const auto& chosen = globs.empty() ? default_globs() : globs;
  for (const Stat& stat : registry.stats()) {
    if (std::any_of(chosen.begin(), chosen.end(),
                    [&](const std::string& g) { return matches(g, stat.name); })) {
      series_.push_back({&stat, read_stat(stat), {}});
    }
  }
}

void TimeSeries::sample(Cycle now) {
  if (now == last_) return;
  last_ = now;
  cycles_.push_back(now.value);
  for (Series& series : series_) {
    StatValue after = read_stat(*series.stat);
    series.values.push_back(difference(after, series.before));
    series.before = std::move(after);
  }
}

std::string TimeSeries::json() const {
  nlohmann::json all = nlohmann::json::object();
  for (const Series& series : series_) {
    auto values = nlohmann::json::array();
    for (const double v : series.values) {
      // Counts stay integers; intervals without samples are null.
      const bool is_count = series.stat->counter != nullptr || static_cast<bool>(series.stat->total);
      if (is_count) {
        values.push_back(static_cast<std::uint64_t>(v));
      } else if (std::isfinite(v)) {
        values.push_back(v);
      } else {
        values.push_back(nullptr);
      }
    }
    all[series.stat->name + (series.stat->histogram != nullptr ? ".mean" : "")] = std::move(values);
  }
  return nlohmann::json{{"interval", interval_}, {"cycles", cycles_}, {"series", std::move(all)}}.dump() +
         "\n";
}

}  // namespace rubato::chip
