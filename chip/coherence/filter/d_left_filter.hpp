// A d-left counting filter (K50): sub-tables of buckets, each a row of 128 bits with 8 cells (a remainder of
// 9 bits and a counter of 3) and, in the 32 bits left, 10 overflow counters of 3 bits. A line's hash h is
// mapped by a bijection of each sub-table to a bucket and a remainder, so equal remainders in equal buckets
// mean equal h: cells never confuse two hashes. A line without a free cell is counted by an overflow counter
// in each of its buckets.
//
// Lines of equal h are interchangeable: one may be erased from the cell that another has taken, and then the
// other lives on in overflow. Therefore all that a line touches, its overflow counters too, is a function of
// h alone.
//
// Sub-tables come and go while lines are counted, the last one each time (K57, K58). One that leaves takes no
// new cells, and its overflow counters are not looked at any longer; bucket by bucket its cells are rolled
// back to h and put elsewhere. In a sub-table that comes, lines in overflow have touched no counter: all
// counters say "maybe" until no such line is left.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/faults.hpp"
#include "chip/coherence/filter/line_filter.hpp"
#include "chip/conflict/h3.hpp"

namespace rubato::chip {

// Bugs for tests.
// clang-format off
#define RUBATO_D_LEFT_FAULTS(X) \
  X(overflow_uncounted) /* of a line in overflow */ \
  X(overflow_cleared)   /* while lines are in overflow */ \
  X(overflow_wraps)     /* a counter beyond its maximum */ \
  X(cell_kept)          /* moved, and still in the sub-table that leaves */ \
  X(cell_in_leaving)    /* a new one, in a sub-table that leaves */ \
  X(counters_clear)     /* of a sub-table that comes while lines are in overflow */
// clang-format on
RUBATO_DEFINE_FAULTS(DLeftFault, kDLeftFaultNames, RUBATO_D_LEFT_FAULTS)

class DLeftFilter final : public LineFilter {
 public:
  static constexpr std::uint32_t kMaxSubTables = 8, kMostBuckets = 65536;
  static constexpr std::uint32_t kCells = 8;
  static constexpr std::uint32_t kRemainderBits = 9;
  static constexpr std::uint32_t kOverflowCounters = 10;
  static constexpr std::uint32_t kOverflowMaximum = 7;

  using Fault = DLeftFault;

  /// sub_tables: 1 to 8; buckets: a sub-table's, a power of two up to kMostBuckets; maximum: of a cell's
  /// counter, 1 to 7.
  DLeftFilter(std::uint32_t sub_tables, std::uint32_t buckets, std::uint32_t maximum = 7,
              Fault fault = Fault::none);

  void insert(LineAddr line) override;
  void erase(LineAddr line) override;
  bool may_hold(LineAddr line) override;
  bool is_saturated(LineAddr line) const override;
  std::uint64_t key(LineAddr line) const override { return hash(line); }

  /// Sub-tables that take new cells.
  std::uint32_t sub_tables() const { return sub_tables_; }
  bool is_leaving() const { return is_leaving_; }
  /// Adds an empty sub-table, up to kMaxSubTables. Precondition: no sub-table is leaving.
  void add_sub_table();
  /// The last of two or more sub-tables begins to leave.
  void begin_leaving();
  /// Moves what the next bucket of the leaving sub-table has; with the last one it is gone. @returns cells
  /// moved.
  std::uint32_t move_bucket();

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
  /// The place of hash h in a sub-table.
  struct Place {
    std::uint32_t bucket;  // of all sub-tables, numbered through
    std::uint16_t remainder;
    std::uint32_t overflow_counter() const { return remainder * kOverflowCounters >> kRemainderBits; }
  };

  /// With the leaving one.
  std::uint32_t tables() const { return sub_tables_ + (is_leaving_ ? 1 : 0); }
  Place place(std::uint32_t sub_table, std::uint32_t h) const;
  /// The h of which a sub-table's place this is.
  std::uint32_t hash_at(std::uint32_t sub_table, const Place& at) const;
  /// The cell that counts h; null if none does.
  Cell* find(std::uint32_t h);
  const Cell* find(std::uint32_t h) const;
  /// A new cell for h, which has none, in the bucket with the fewest used ones; null if all are full.
  Cell* new_cell(std::uint32_t h);
  void insert_overflow(std::uint32_t h, std::uint8_t lines);
  void erase_overflow(std::uint32_t h);

  H3 h3_;
  std::uint32_t sub_tables_;
  std::uint32_t buckets_;
  std::uint32_t mask_;  // of h
  std::uint8_t maximum_;
  Fault fault_;
  bool is_leaving_ = false;
  std::uint32_t next_bucket_ = 0;  // of the leaving sub-table
  std::uint64_t overflow_ = 0;
  std::vector<Bucket> table_;
};

}  // namespace rubato::chip
