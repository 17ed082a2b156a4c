// Memory of a core for the abort handlers of its capsule calls (P44): records of one line each, in simulated
// memory that no guest reaches. A record is in use from the registration of a handler until its attempt has
// committed, or the handler has been read to be run. Records given back last are used first: they are likely
// to be in the L1.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class HandlerArea {
 public:
  /// The areas of all cores lie one behind the other, right behind all else of simulated memory: a cache of
  /// few sets has tags for no longer addresses.
  static constexpr Addr kBase = (Addr{1} << 39) + (Addr{1} << 34);
  static constexpr std::uint32_t kMostRecords = 1 << 16;
  static CoreId core_of(LineAddr record) {
    return CoreId{static_cast<std::uint32_t>((record.value - line_of(kBase).value) / kMostRecords)};
  }

  /// With so many records, at most kMostRecords, all free.
  HandlerArea(CoreId core, std::uint32_t records)
      : next_(line_of(kBase).value + std::uint64_t{core.value} * kMostRecords), left_(records) {}

  /// But those that are promised.
  std::uint32_t left() const { return left_ - promised_; }
  /// Records for a call that leaves the core and may register so many handlers more (P44, P50).
  void promise(std::uint32_t records) { promised_ += records; }
  /// So many are taken, or not needed any longer.
  void redeem(std::uint32_t records) { promised_ -= records; }
  /// The record that take() would take. Precondition here and there: one is left.
  LineAddr front() const { return free_.empty() ? next_ : free_.back(); }
  LineAddr take() {
    const LineAddr record = front();
    if (free_.empty()) {
      ++next_.value;
    } else {
      free_.pop_back();
    }
    --left_;
    return record;
  }
  void give_back(LineAddr record) {
    free_.push_back(record);
    ++left_;
  }

 private:
  std::vector<LineAddr> free_;  // the last one goes first
  LineAddr next_;               // never used so far
  std::uint32_t left_;
  std::uint32_t promised_ = 0;
};

}  // namespace rubato::chip
