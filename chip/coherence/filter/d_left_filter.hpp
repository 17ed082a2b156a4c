// A d-left counting filter (K50): sub-tables of buckets, each a row of 128 bits with 8 cells (a remainder of
// 9 bits and a counter of 3) and, in the 32 bits left, 10 overflow counters of 3 bits. A line's hash h is
// mapped by a bijection of each sub-table to a bucket and a remainder, so equal remainders in equal buckets
// mean equal h: cells never confuse two hashes. A line without a free cell is counted by an overflow counter
// in each of its buckets.
//
// Lines of equal h are interchangeable: one may be erased from the cell that another has taken, and then the
// other lives on in overflow. Therefore all that a line touches, its overflow counters too, is a function of
// h alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "chip/coherence/filter/line_filter.hpp"
#include "chip/conflict/h3.hpp"

namespace rubato::chip {

class DLeftFilter final : public LineFilter {
 public:
  static constexpr std::uint32_t kMaxSubTables = 8;
  static constexpr std::uint32_t kCells = 8;
  static constexpr std::uint32_t kRemainderBits = 9;
  static constexpr std::uint32_t kOverflowCounters = 10;
  static constexpr std::uint32_t kOverflowMaximum = 7;

  /// Bugs for tests: a line in overflow is not counted; counters are cleared while lines are in overflow.
  enum class Fault : std::uint8_t { none, overflow_uncounted, overflow_cleared };

  /// sub_tables: 1 to 8; buckets: a sub-table's, a power of two up to 65536; maximum: of a cell's counter, 1
  /// to 7.
  DLeftFilter(std::uint32_t sub_tables, std::uint32_t buckets, std::uint32_t maximum = 7,
              Fault fault = Fault::none);

  void insert(LineAddr line) override;
  void erase(LineAddr line) override;
  bool may_hold(LineAddr line) override;
  bool is_saturated(LineAddr line) const override;

  /// h of K50: log2(buckets) + 9 bits.
  std::uint32_t hash(LineAddr line) const;
  /// Lines counted outside cells.
  std::uint64_t overflow() const { return overflow_; }

 private:
  struct Cell {
    std::uint16_t remainder = 0;
    std::uint8_t count = 0;  // 0: free
  };
  struct Bucket {
    std::array<Cell, kCells> cells;
    std::array<std::uint8_t, kOverflowCounters> overflow{};
  };
  /// Where hash h lives in a sub-table.
  struct Place {
    std::uint32_t bucket;  // of all sub-tables, numbered through
    std::uint16_t remainder;
    std::uint32_t overflow_counter() const { return remainder * kOverflowCounters >> kRemainderBits; }
  };

  Place place(std::uint32_t sub_table, std::uint32_t h) const;
  /// The cell that counts h; null if none does.
  Cell* find(std::uint32_t h);
  const Cell* find(std::uint32_t h) const;
  void insert_overflow(std::uint32_t h);
  void erase_overflow(std::uint32_t h);

  H3 h3_;
  std::uint32_t sub_tables_;
  std::uint32_t buckets_;
  std::uint32_t mask_;  // of h
  std::uint8_t maximum_;
  Fault fault_;
  std::uint64_t overflow_ = 0;
  std::vector<Bucket> table_;
};

}  // namespace rubato::chip
