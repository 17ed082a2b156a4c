// SPDX-License-Identifier: MIT
#include "chip/coherence/filter/d_left_filter.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace rubato::chip {

namespace {
// Odd, so that multiplying by one is a bijection modulo any power of two; apart from that arbitrary.
constexpr std::array<std::uint32_t, DLeftFilter::kMaxSubTables> kMultipliers = {
    1, 0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5};
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
  RUBATO_CHECK(std::has_single_bit(buckets) && buckets <= 65536);
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

const DLeftFilter::Cell* DLeftFilter::find(std::uint32_t h) const {
  for (std::uint32_t i = 0; i < sub_tables_; ++i) {
    const Place at = place(i, h);
    for (const Cell& cell : table_[at.bucket].cells)
      if (cell.count > 0 && cell.remainder == at.remainder) return &cell;
  }
  return nullptr;
}

DLeftFilter::Cell* DLeftFilter::find(std::uint32_t h) {
  return const_cast<Cell*>(static_cast<const DLeftFilter*>(this)->find(h));
}

void DLeftFilter::insert(LineAddr line) {
  const std::uint32_t h = hash(line);
  rows_.read += sub_tables_;
  Cell* cell = find(h);
  if (cell == nullptr) {
    // The bucket with the fewest used cells, the left of equals.
    std::ptrdiff_t most_free = 0;
    for (std::uint32_t i = 0; i < sub_tables_; ++i) {
      const Place at = place(i, h);
      auto& cells = table_[at.bucket].cells;
      const auto is_free = [](const Cell& c) { return c.count == 0; };
      const std::ptrdiff_t free = std::ranges::count_if(cells, is_free);
      if (free <= most_free) continue;
      most_free = free;
      cell = &*std::ranges::find_if(cells, is_free);
      cell->remainder = at.remainder;
    }
    if (cell == nullptr) {
      insert_overflow(h);
      return;
    }
  }
  RUBATO_CHECK(cell->count < maximum_);
  ++cell->count;
  ++rows_.written;
}

void DLeftFilter::erase(LineAddr line) {
  const std::uint32_t h = hash(line);
  rows_.read += sub_tables_;
  if (Cell* cell = find(h)) {
    --cell->count;
    ++rows_.written;
  } else {
    erase_overflow(h);
  }
}

void DLeftFilter::insert_overflow(std::uint32_t h) {
  ++overflow_;
  if (fault_ == Fault::overflow_uncounted) return;
  for (std::uint32_t i = 0; i < sub_tables_; ++i) {
    const Place at = place(i, h);
    std::uint8_t& counter = table_[at.bucket].overflow[at.overflow_counter()];
    if (counter < kOverflowMaximum) ++counter;
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
  rows_.read += sub_tables_;  // all at once
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

}  // namespace rubato::chip
