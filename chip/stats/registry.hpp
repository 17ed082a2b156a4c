// Statistics: registered once with name, unit and description; stats.json and the documents are made from
// here. Components keep plain counters and register pointers to them: counting costs one increment, nothing
// else. Names are paths in the project's vocabulary: `tile.12.task_unit.aborts.conflict`. One name, one
// meaning. Every registered value is cumulative over detailed simulation; the registry subtracts snapshots
// for the region of interest and for intervals (C24, C27).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::chip {

/// Counts of samples in buckets of powers of two: bucket 0 holds value 0, bucket i values in [2^(i-1), 2^i).
class Histogram {
 public:
  static constexpr unsigned kBuckets = 40;
  void add(std::uint64_t value, std::uint64_t weight = 1);
  std::uint64_t bucket(unsigned i) const { return buckets_[i]; }
  std::uint64_t samples() const { return samples_; }
  std::uint64_t sum() const { return sum_; }
  /// Adds what `after` has more than `before`, an earlier state of the same histogram.
  void add_difference(const Histogram& after, const Histogram& before);

 private:
  std::uint64_t buckets_[kBuckets] = {};
  std::uint64_t samples_ = 0, sum_ = 0;
};

/// A registered statistic. Exactly one of counter, total, value, histogram is set.
struct Stat {
  std::string name, unit, description;
  const std::uint64_t* counter = nullptr;
  std::function<std::uint64_t()> total;  ///< a cumulative count that is computed, such as a sum over tiles
  std::function<double()> value;         ///< derived, read when a snapshot is taken (gauges and ratios)
  const Histogram* histogram = nullptr;
  const bool* is_shown = nullptr;  ///< null: always

  bool is_hidden() const { return is_shown != nullptr && !*is_shown; }
};

class StatRegistry {
 public:
  /// `*counter` must outlive the registry. Names are unique (checked).
  void counter(std::string name, std::string unit, std::string description, const std::uint64_t* counter);
  /// A count that is computed when a snapshot is taken; like a counter it never decreases, and is subtracted.
  void total(std::string name, std::string unit, std::string description,
             std::function<std::uint64_t()> total);
  /// A gauge or ratio: not subtracted; a region of interest shows it as it is at the region's end.
  void value(std::string name, std::string unit, std::string description, std::function<double()> value);
  void histogram(std::string name, std::string unit, std::string description, const Histogram* histogram);
  /// Statistics from here to end_optional() are of a part that most runs do without: files leave them out
  /// while
  /// `*is_used`, which outlives the registry, is false.
  void begin_optional(const bool* is_used) { is_shown_ = is_used; }
  void end_optional() { is_shown_ = nullptr; }
  const std::vector<Stat>& stats() const { return stats_; }
  /// The statistic called `name`, or null.
  const Stat* find(std::string_view name) const;

 private:
  void add(Stat stat);
  std::vector<Stat> stats_;                                  // in order of registration
  std::map<std::string, std::size_t, std::less<>> by_name_;  // index into stats_
  const bool* is_shown_ = nullptr;                           // of what is registered now
};

}  // namespace rubato::chip
