// Messages of the token protocols, on their way or waiting at a home. Each has the time and the parts of the
// access that it is made for (C23). Entries are used again, those freed last first, and do not move: a
// message is handled where it lies.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
  static constexpr std::uint32_t kNone = ~0U;

  std::uint32_t add(const Flight& flight) {
    if (free_ == kNone) grow();
    const std::uint32_t index = free_;
    Flight& here = (*this)[index];
    free_ = here.next;
    here = flight;
    return index;
  }
  /// The entry is free again.
  void release(std::uint32_t index) {
    (*this)[index].next = free_;
    free_ = index;
  }
  Flight& operator[](std::uint32_t index) { return (*chunks_[index / kChunk])[index % kChunk]; }

 private:
  static constexpr std::uint32_t kChunk = 64;

  [[gnu::noinline]] void grow() {
    const auto first = static_cast<std::uint32_t>(chunks_.size()) * kChunk;
    chunks_.push_back(std::make_unique<std::array<Flight, kChunk>>());
    for (std::uint32_t index = first + kChunk; index-- > first;) release(index);
  }

  std::vector<std::unique_ptr<std::array<Flight, kChunk>>> chunks_;
  std::uint32_t free_ = kNone;
};

}  // namespace rubato::chip
