// SPDX-License-Identifier: MIT
#include "chip/session/snapshot.hpp"

#include "base/check.hpp"

namespace rubato::chip {
namespace {

StatValue zero_of(const Stat& stat) {
  if (stat.histogram != nullptr) return Histogram{};
  if (stat.value) return 0.0;
  return std::uint64_t{0};
}

void add_difference(RegionRecorder::FunctionCycles& sum, const RegionRecorder::FunctionCycles& after,
                    const RegionRecorder::FunctionCycles& before) {
  for (const auto& [function, table] : after) {
    const auto earlier = before.find(function);
    CycleTable& row = sum[function];
    for (unsigned c = 0; c < kCycleClasses; ++c) {
      for (unsigned p = 0; p < kCycleParts; ++p) {
        row.cells[c][p] += table.cells[c][p] - (earlier == before.end() ? 0 : earlier->second.cells[c][p]);
      }
    }
  }
}

}  // namespace

StatValue read_stat(const Stat& stat) {
  if (stat.counter != nullptr) return *stat.counter;
  if (stat.total) return stat.total();
  if (stat.value) return stat.value();
  return *stat.histogram;
}

StatValues read_stats(const StatRegistry& registry) {
  StatValues values;
  values.reserve(registry.stats().size());
  for (const Stat& stat : registry.stats()) values.push_back(read_stat(stat));
  return values;
}

void add_difference(StatValue& sum, const StatValue& after, const StatValue& before) {
  if (auto* count = std::get_if<std::uint64_t>(&sum)) {
    *count += std::get<std::uint64_t>(after) - std::get<std::uint64_t>(before);
  } else if (auto* histogram = std::get_if<Histogram>(&sum)) {
    histogram->add_difference(std::get<Histogram>(after), std::get<Histogram>(before));
  } else {
    sum = after;
  }
}

void add_difference(StatValues& sum, const StatValues& after, const StatValues& before) {
  RUBATO_CHECK(sum.size() == after.size() && sum.size() == before.size(), "statistics were registered late");
  for (std::size_t i = 0; i < sum.size(); ++i) add_difference(sum[i], after[i], before[i]);
}

RegionRecorder::RegionRecorder(const StatRegistry& registry, const CycleAccount& cycles)
    : registry_(registry), cycles_(cycles) {}

void RegionRecorder::begin() {
  RUBATO_CHECK(!inside_, "a region of interest began inside another");
  inside_ = true;
  ++regions_;
  before_ = read_stats(registry_);
  functions_before_ = cycles_.by_function();
  if (sum_.empty()) {
    for (const Stat& stat : registry_.stats()) sum_.push_back(zero_of(stat));
  }
}

void RegionRecorder::end() {
  RUBATO_CHECK(inside_, "a region of interest ended that had not begun");
  sum_ = values();
  functions_sum_ = function_cycles();
  inside_ = false;
}

StatValues RegionRecorder::values() const {
  StatValues sum = sum_;
  if (sum.empty()) {
    for (const Stat& stat : registry_.stats()) sum.push_back(zero_of(stat));
  }
  if (inside_) add_difference(sum, read_stats(registry_), before_);
  return sum;
}

RegionRecorder::FunctionCycles RegionRecorder::function_cycles() const {
  FunctionCycles sum = functions_sum_;
  if (inside_) add_difference(sum, cycles_.by_function(), functions_before_);
  return sum;
}

}  // namespace rubato::chip
