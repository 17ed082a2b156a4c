// SPDX-License-Identifier: MIT
#include "chip/coherence/filter/counting_filter.hpp"

#include "base/check.hpp"
#include "base/rng.hpp"

namespace rubato::chip {

CountingFilter::CountingFilter(std::uint32_t sub_tables, std::uint32_t rows, std::uint32_t maximum)
    : h3_(sub_tables, rows * kCountersARow),
      maximum_(static_cast<std::uint8_t>(maximum)),
      counters_(std::size_t{sub_tables} * rows * kCountersARow) {
  RUBATO_CHECK(maximum >= 1 && maximum <= 15 && rows >= 1 && rows <= kMostRows);
}

void CountingFilter::insert(LineAddr line) {
  const BloomRows at = h3_.rows(line);
  for (std::uint32_t i = 0; i < h3_.ways(); ++i) {
    std::uint8_t& counter = counters_[at.at[i]];
    RUBATO_CHECK(counter < maximum_);
    ++counter;
  }
  rows_.read += h3_.ways();
  rows_.written += h3_.ways();
}

void CountingFilter::erase(LineAddr line) {
  const BloomRows at = h3_.rows(line);
  for (std::uint32_t i = 0; i < h3_.ways(); ++i) {
    std::uint8_t& counter = counters_[at.at[i]];
    RUBATO_CHECK(counter > 0);
    --counter;
  }
  rows_.read += h3_.ways();
  rows_.written += h3_.ways();
}

bool CountingFilter::may_hold(LineAddr line) {
  rows_.read += h3_.ways();  // all sub-tables at once
  const BloomRows at = h3_.rows(line);
  for (std::uint32_t i = 0; i < h3_.ways(); ++i)
    if (counters_[at.at[i]] == 0) return false;
  return true;
}

bool CountingFilter::is_saturated(LineAddr line) const {
  const BloomRows at = h3_.rows(line);
  for (std::uint32_t i = 0; i < h3_.ways(); ++i)
    if (counters_[at.at[i]] == maximum_) return true;
  return false;
}

std::uint64_t CountingFilter::key(LineAddr line) const {
  const BloomRows at = h3_.rows(line);
  std::uint64_t key = 0;
  for (std::uint32_t i = 0; i < h3_.ways(); ++i) key = mix64(key ^ at.at[i]);
  return key;
}

}  // namespace rubato::chip
