// SPDX-License-Identifier: MIT
#include "chip/coherence/filter/d_left_filter.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.hpp"

namespace rubato::chip {

namespace {
// Odd, so that multiplying by one is a bijection modulo any power of two; apart from that arbitrary.
constexpr std::array<std::uint32_t, DLeftFilter::kMaxSubTables> kMultipliers = {
    1, 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5};

/// Modulo 2^32, and so modulo any smaller power of two: an odd number is its own inverse modulo 8, and each
/// step doubles the bits that are right.
constexpr std::uint32_t inverse_of(std::uint32_t odd) {
  std::uint32_t inverse = odd;
  for (int step = 0; step < 4; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}
}  // namespace

DLeftFilter::DLeftFilter(std::uint32_t sub_tables, std::uint32_t buckets, std::uint32_t maximum, Fault fault)
    : h3_(2, 65536),
      sub_tables_(sub_tables),
      buckets_(buckets),
      mask_((buckets << kRemainderBits) - 1),
      maximum_(static_cast<std::uint8_t>(maximum)),
      fault_(fault),
      table_(std::size_t{sub_tables} * buckets) {
  RUBATO_CHECK(sub_tables >= 1 && sub_tables <= kMaxSubTables);
  RUBATO_CHECK(std::has_single_bit(buckets) && buckets <= kMostBuckets);
  RUBATO_CHECK(maximum >= 1 && maximum <= 7);
}

std::uint32_t DLeftFilter::hash(LineAddr line) const {
  const BloomRows halves = h3_.rows(line);
  return (halves.at[0] | (halves.at[1] & 0xffff) << 16) & mask_;
}

DLeftFilter::Place DLeftFilter::place(std::uint32_t sub_table, std::uint32_t h) const {
  const std::uint32_t mapped = kMultipliers[sub_table] * h & mask_;
  return {sub_table * buckets_ + (mapped >> kRemainderBits),
          static_cast<std::uint16_t>(mapped & ((1U << kRemainderBits) - 1))};
}

std::uint32_t DLeftFilter::hash_at(std::uint32_t sub_table, const Place& at) const {
  const std::uint32_t mapped = (at.bucket - sub_table * buckets_) << kRemainderBits | at.remainder;
  return inverse_of(kMultipliers[sub_table]) * mapped & mask_;
}

const DLeftFilter::Cell* DLeftFilter::find(std::uint32_t h) const {
  for (std::uint32_t i = 0; i < tables(); ++i) {
    const Place at = place(i, h);
    for (const Cell& cell : table_[at.bucket].cells)
      if (cell.count > 0 && cell.remainder == at.remainder) return &cell;
  }
  return nullptr;
}

DLeftFilter::Cell* DLeftFilter::find(std::uint32_t h) {
  return const_cast<Cell*>(static_cast<const DLeftFilter*>(this)->find(h));
}

DLeftFilter::Cell* DLeftFilter::new_cell(std::uint32_t h) {
  // The bucket with the fewest used cells, the left of equals.
  Cell* cell = nullptr;
  std::ptrdiff_t most_free = 0;
  for (std::uint32_t i = 0; i < (fault_ == Fault::cell_in_leaving ? tables() : sub_tables_); ++i) {
    const Place at = place(i, h);
    auto& cells = table_[at.bucket].cells;
    const auto is_free = [](const Cell& c) { return c.count == 0; };
    const std::ptrdiff_t free = std::ranges::count_if(cells, is_free);
    if (free <= most_free) continue;
    most_free = free;
    cell = &*std::ranges::find_if(cells, is_free);
    cell->remainder = at.remainder;
  }
  return cell;
}

void DLeftFilter::insert(LineAddr line) {
  const std::uint32_t h = hash(line);
  rows_.read += tables();
  Cell* cell = find(h);
  if (cell == nullptr) cell = new_cell(h);
  if (cell == nullptr) return insert_overflow(h, 1);
  RUBATO_CHECK(cell->count < maximum_);
  ++cell->count;
  ++rows_.written;
}

void DLeftFilter::erase(LineAddr line) {
  const std::uint32_t h = hash(line);
  rows_.read += tables();
  if (Cell* cell = find(h)) {
    --cell->count;
    ++rows_.written;
  } else {
    erase_overflow(h);
  }
}

void DLeftFilter::insert_overflow(std::uint32_t h, std::uint8_t lines) {
  overflow_ += lines;
  if (fault_ == Fault::overflow_uncounted) return;
  for (std::uint32_t i = 0; i < sub_tables_; ++i) {
    const Place at = place(i, h);
    std::uint8_t& counter = table_[at.bucket].overflow[at.overflow_counter()];
    const std::uint32_t sum = counter + lines;
    counter = static_cast<std::uint8_t>(fault_ == Fault::overflow_wraps ? sum % (kOverflowMaximum + 1)
                                                                        : std::min(sum, kOverflowMaximum));
  }
  rows_.written += sub_tables_;
}

void DLeftFilter::erase_overflow(std::uint32_t h) {
  RUBATO_CHECK(overflow_ > 0);
  if (--overflow_ == 0 || fault_ == Fault::overflow_cleared) {
    // The only way for a counter that reached its maximum back to zero. One reset line clears all in
    // hardware.
    for (Bucket& bucket : table_) bucket.overflow.fill(0);
    return;
  }
  for (std::uint32_t i = 0; i < sub_tables_; ++i) {
    const Place at = place(i, h);
    std::uint8_t& counter = table_[at.bucket].overflow[at.overflow_counter()];
    RUBATO_CHECK(counter > 0);
    if (counter < kOverflowMaximum) --counter;  // at its maximum it has lost count
  }
  rows_.written += sub_tables_;
}

bool DLeftFilter::may_hold(LineAddr line) {
  const std::uint32_t h = hash(line);
  rows_.read += tables();  // all at once
  if (find(h) != nullptr) return true;
  if (overflow_ == 0) return false;
  for (std::uint32_t i = 0; i < sub_tables_; ++i) {
    const Place at = place(i, h);
    if (table_[at.bucket].overflow[at.overflow_counter()] == 0) return false;
  }
  return true;
}

bool DLeftFilter::is_saturated(LineAddr line) const {
  const Cell* cell = find(hash(line));
  return cell != nullptr && cell->count == maximum_;
}

void DLeftFilter::add_sub_table() {
  RUBATO_CHECK(sub_tables_ < kMaxSubTables && !is_leaving_);
  Bucket empty;
  if (overflow_ > 0 && fault_ != Fault::counters_clear) empty.overflow.fill(kOverflowMaximum);
  table_.insert(table_.end(), buckets_, empty);
  ++sub_tables_;
  rows_.written += buckets_;
}

void DLeftFilter::begin_leaving() {
  RUBATO_CHECK(sub_tables_ > 1 && !is_leaving_);
  --sub_tables_;
  is_leaving_ = true;
  next_bucket_ = 0;
}

std::uint32_t DLeftFilter::move_bucket() {
  RUBATO_CHECK(is_leaving_);
  const std::uint32_t leaving = sub_tables_, bucket = leaving * buckets_ + next_bucket_;
  std::uint32_t moved = 0;
  ++rows_.read;
  for (Cell& cell : table_[bucket].cells) {
    if (cell.count == 0) continue;
    const Cell old = fault_ == Fault::cell_kept ? cell : std::exchange(cell, Cell{});
    const std::uint32_t h = hash_at(leaving, {bucket, old.remainder});
    rows_.read += sub_tables_;
    if (Cell* const to = new_cell(h); to != nullptr) {
      to->count = old.count;
      ++rows_.written;
    } else {
      insert_overflow(h, old.count);
    }
    ++moved;
  }
  if (moved > 0) ++rows_.written;  // it is empty now
  if (++next_bucket_ == buckets_) {
    table_.resize(std::size_t{sub_tables_} * buckets_);
    is_leaving_ = false;
  }
  return moved;
}

}  // namespace rubato::chip
