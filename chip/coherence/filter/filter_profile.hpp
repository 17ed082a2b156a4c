// Profile of a home's filter (K84). An exact record of the lines that the filter counts says which "maybe" is
// in vain, and why. It takes no cycles and changes nothing.
//
// - Alike: lines of one key (LineFilter). Their counters are the same, so the filter cannot tell them apart.
// - In vain: "maybe" of a line that is not counted. A counted line is alike, or else only counters that the
//   line shares with lines of other keys, such as those of overflow, say so.
// - Regular: hashes are linear, so lines that differ in the same bits are all alike or none is. Two regions
//   of memory can thus collide line by line.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/check.hpp"
#include "chip/coherence/filter/line_filter.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class FilterProfile {
 public:
  /// `filter` outlives this.
  explicit FilterProfile(const LineFilter& filter) : filter_(&filter) {}

  void insert(LineAddr line) {
    std::vector<std::uint64_t>& alike = counted_[filter_->key(line)];
    RUBATO_CHECK(std::ranges::find(alike, line.value) == alike.end());
    alike.push_back(line.value);
  }
  void erase(LineAddr line) {
    const auto found = counted_.find(filter_->key(line));
    RUBATO_CHECK(found != counted_.end() && std::erase(found->second, line.value) == 1);
    if (found->second.empty()) counted_.erase(found);
  }
  /// The filter says "maybe" of `line`, not while warming.
  void on_maybe(LineAddr line) {
    const auto found = counted_.find(filter_->key(line));
    if (found == counted_.end()) {
      ++shared_;
      return;
    }
    const std::vector<std::uint64_t>& alike = found->second;
    if (std::ranges::find(alike, line.value) != alike.end()) return;  // right
    ++alike_;
    regular_ = std::max(regular_, ++differences_[line.value ^ alike.back()]);
  }

  void register_stats(StatRegistry& registry, std::uint32_t tile) const {
    const auto counter = [&](const char* name, const char* description, const std::uint64_t* value) {
      registry.counter(fmt::format("tile.{}.filter.{}", tile, name), "accesses", description, value);
    };
    counter("vain_alike", "\"maybe\" in vain, because a line of the same hash was counted", &alike_);
    counter("vain_regular", "of these, the most whose two lines differ in the same bits", &regular_);
    counter("vain_shared", "\"maybe\" in vain, by counters shared with lines of other hashes", &shared_);
  }

 private:
  const LineFilter* filter_;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> counted_;  // lines by key; looked up only
  std::unordered_map<std::uint64_t, std::uint64_t> differences_;           // times; looked up only
  std::uint64_t alike_ = 0, regular_ = 0, shared_ = 0;
};

}  // namespace rubato::chip
