// A conventional counting Bloom filter (K51): sub-tables of rows of 32 counters of 4 bits, in each of which
// an H3 hash of its own gives a line one counter.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/coherence/filter/line_filter.hpp"
#include "chip/conflict/h3.hpp"

namespace rubato::chip {

class CountingFilter final : public LineFilter {
 public:
  static constexpr std::uint32_t kCountersARow = 32, kMostRows = 2048;
  /// sub_tables: 1 to kMaxBloomWays; rows: a sub-table's, 1 to kMostRows; maximum: of a counter, less in
  /// tests.
  CountingFilter(std::uint32_t sub_tables, std::uint32_t rows, std::uint32_t maximum = 15);

  void insert(LineAddr line) override;
  void erase(LineAddr line) override;
  bool may_hold(LineAddr line) override;
  bool is_saturated(LineAddr line) const override;
  std::uint64_t key(LineAddr line) const override;

 private:
  H3 h3_;
  std::uint8_t maximum_;
  std::vector<std::uint8_t> counters_;  // sub-table by sub-table
};

}  // namespace rubato::chip
