// The two ends between which real filters lie (K49): one that is never wrong, and one that knows nothing.
// Neither has storage whose accesses would count.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <unordered_set>

#include "base/check.hpp"
#include "chip/coherence/filter/line_filter.hpp"

namespace rubato::chip {

class ExactFilter final : public LineFilter {
 public:
  void insert(LineAddr line) override {
    const bool is_new = lines_.insert(line.value).second;
    RUBATO_CHECK(is_new);
  }
  void erase(LineAddr line) override {
    const bool was_there = lines_.erase(line.value) == 1;
    RUBATO_CHECK(was_there);
  }
  bool may_hold(LineAddr line) override { return lines_.contains(line.value); }
  bool is_saturated(LineAddr) const override { return false; }
  std::uint64_t key(LineAddr line) const override { return line.value; }

 private:
  std::unordered_set<std::uint64_t> lines_;  // looked up, never walked
};

class NoFilter final : public LineFilter {
 public:
  void insert(LineAddr) override {}
  void erase(LineAddr) override {}
  bool may_hold(LineAddr) override { return true; }
  bool is_saturated(LineAddr) const override { return false; }
  std::uint64_t key(LineAddr line) const override { return line.value; }
};

}  // namespace rubato::chip
