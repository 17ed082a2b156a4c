// The distance that a core may run ahead of the chip's clock. Strict actions (misses, atomics, traps) are
// visible to others and happen before any other event does. Register work and L1 hits may run ahead of that
// by the look-ahead. Times are cycles.
//
// Invariant: strict_end() is later than the clock: what is to happen now may.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LookaheadWindow {
 public:
  explicit LookaheadWindow(std::uint32_t lookahead) : lookahead_(lookahead) {}

  /// The chip's clock is at `now`; the earliest event of others is at `next_other`. The core is to stop soon
  /// after `pause_at`, if that changes no result.
  void begin(Cycle now, Cycle next_other, Cycle pause_at) {
    constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max() / 2;
    strict_end_ = std::max(std::min(next_other.value, kForever), now.value + 1);
    // A pause while the core runs ahead of others would change what it finds: it stops only where nothing
    // else happens before it goes on, however long the block it is in stalls.
    constexpr std::uint64_t kLongestBlock = 1 << 14;
    const std::uint64_t pause = std::max(pause_at.value, now.value + 1);
    run_end_ = strict_end_ > pause && strict_end_ - pause > kLongestBlock ? pause : strict_end_ + lookahead_;
    clock_ = now.value;
  }
  /// The core's last action gave others an event at `next`, if none was earlier.
  void narrow(Cycle next) {
    strict_end_ = std::min(strict_end_, std::max(next.value, clock_ + 1));
    run_end_ = std::min(run_end_, strict_end_ + lookahead_);
  }

  bool is_strict(std::uint64_t at) const { return at < strict_end_; }
  std::uint64_t strict_end() const { return strict_end_; }
  std::uint64_t run_end() const { return run_end_; }

 private:
  std::uint64_t clock_ = 0, strict_end_ = 0, run_end_ = 0;
  std::uint32_t lookahead_;
};

}  // namespace rubato::chip
