// Messages of the token protocols on their way or waiting at a home, each with the time and the parts of the
// access that it is made for (C23). Entries are used again, those freed last first.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/coherence/token/token_message.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct Flight {
  TokenMessage message{};
  LineAddr line{};
  Cycle at{};           ///< up to which `parts` account
  AccessParts parts{};  ///< since the access was made
  ServedBy served = ServedBy::llc;
  bool is_rollback = false;       ///< its traffic is aborts'
  std::uint64_t transaction = 0;  ///< of a run that is observed
  std::uint32_t next = ~0U;       ///< of the same queue

  /// Moves its clock to `until`, which counts as time spent in `part`.
  void spend(std::uint32_t AccessParts::*part, Cycle until) {
    if (until <= at) return;
    parts.*part += static_cast<std::uint32_t>(until - at);
    at = until;
  }
};

class FlightPool {
 public:
  std::uint32_t add(const Flight& flight) {
    if (free_ == kNone) {
      flights_.push_back(flight);
      return static_cast<std::uint32_t>(flights_.size() - 1);
    }
    const std::uint32_t index = free_;
    free_ = flights_[index].next;
    flights_[index] = flight;
    return index;
  }
  /// A copy, whose place is free again.
  Flight take(std::uint32_t index) {
    const Flight flight = flights_[index];
    flights_[index].next = free_;
    free_ = index;
    return flight;
  }
  Flight& operator[](std::uint32_t index) { return flights_[index]; }
  static constexpr std::uint32_t kNone = ~0U;

 private:
  std::vector<Flight> flights_;
  std::uint32_t free_ = kNone;
};

}  // namespace rubato::chip
