// SPDX-License-Identifier: MIT
#include "chip/stats/registry.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

void Histogram::add(std::uint64_t value, std::uint64_t weight) {
  const auto bucket = std::min<unsigned>(static_cast<unsigned>(std::bit_width(value)), kBuckets - 1);
  buckets_[bucket] += weight;
  samples_ += weight;
  sum_ += value * weight;
}

void Histogram::add_difference(const Histogram& after, const Histogram& before) {
  for (unsigned i = 0; i < kBuckets; ++i) buckets_[i] += after.buckets_[i] - before.buckets_[i];
  samples_ += after.samples_ - before.samples_;
  sum_ += after.sum_ - before.sum_;
}

void StatRegistry::add(Stat stat) {
  RUBATO_CHECK(!stat.name.empty() && !stat.description.empty(), "a statistic needs a name and a description");
  const bool is_new = by_name_.emplace(stat.name, stats_.size()).second;
  RUBATO_CHECK(is_new, "two statistics of one name");
  stat.is_shown = is_shown_;
  stats_.push_back(std::move(stat));
}

void StatRegistry::counter(std::string name, std::string unit, std::string description,
                           const std::uint64_t* counter) {
  RUBATO_CHECK(counter != nullptr);
  add({std::move(name), std::move(unit), std::move(description), counter, {}, {}, nullptr});
}

void StatRegistry::total(std::string name, std::string unit, std::string description,
                         std::function<std::uint64_t()> total) {
  RUBATO_CHECK(static_cast<bool>(total));
  add({std::move(name), std::move(unit), std::move(description), nullptr, std::move(total), {}, nullptr});
}

void StatRegistry::value(std::string name, std::string unit, std::string description,
                         std::function<double()> value) {
  RUBATO_CHECK(static_cast<bool>(value));
  add({std::move(name), std::move(unit), std::move(description), nullptr, {}, std::move(value), nullptr});
}

void StatRegistry::histogram(std::string name, std::string unit, std::string description,
                             const Histogram* histogram) {
  RUBATO_CHECK(histogram != nullptr);
  add({std::move(name), std::move(unit), std::move(description), nullptr, {}, {}, histogram});
}

const Stat* StatRegistry::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &stats_[it->second];
}

}  // namespace rubato::chip
