// Statistics of a window core (K70): how full its reorder buffer is, how many misses overlap, and the cost of
// squashes and full buffers.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "chip/stats/registry.hpp"

namespace rubato::chip {

class WindowStats {
 public:
  std::uint64_t squashes = 0, squashed = 0, stalls_rob = 0, stalls_lsq = 0;

  /// An entry was in the reorder buffer for so long.
  void entry(std::uint64_t cycles) { entry_cycles_ += cycles; }
  void misses_begin_at(std::uint64_t at) {
    if (under_way_ != 0 || at <= busy_until_) return;
    busy_ += busy_until_ - busy_from_;
    busy_from_ = busy_until_ = at;
  }
  /// A miss that was asked for at `at`, in order of time, is done at `done`.
  void miss(std::uint64_t at, std::uint64_t done) {
    misses_begin_at(at);
    end_miss(at, done);
  }
  /// A miss with an unknown end begins; then its end, or the end of the wait for it.
  void begin_miss(std::uint64_t at) {
    misses_begin_at(at);
    ++under_way_;
  }
  void end_waiting_miss(std::uint64_t at, std::uint64_t done) {
    --under_way_;
    end_miss(at, done);
  }
  std::uint64_t busy() const { return busy_ + (busy_until_ - busy_from_); }
  std::uint64_t miss_cycles() const { return miss_cycles_; }

  void register_stats(StatRegistry& registry, const std::string& prefix) const {
    registry.counter(prefix + "occupancy", "entry-cycles",
                     "Cycles that instructions were in the reorder buffer: by cycles, its mean occupancy.",
                     &entry_cycles_);
    registry.value(
        prefix + "mlp", "misses", "Loads that had missed the L1, while there were any: the mean.", [this] {
          return busy() == 0 ? 0.0 : static_cast<double>(miss_cycles_) / static_cast<double>(busy());
        });
    registry.counter(prefix + "squashes", "squashes",
                     "Loads that found another value than execution had gone on with.", &squashes);
    registry.counter(prefix + "squashed", "instructions", "Instructions that were executed for nothing.",
                     &squashed);
    registry.counter(prefix + "stalls_rob", "cycles", "Cycles without dispatch: the reorder buffer was full.",
                     &stalls_rob);
    registry.counter(prefix + "stalls_lsq", "cycles",
                     "Cycles without dispatch: the load or the store queue was full.", &stalls_lsq);
  }

 private:
  void end_miss(std::uint64_t at, std::uint64_t done) {
    miss_cycles_ += done - at;
    busy_until_ = std::max(busy_until_, done);
  }

  std::uint64_t entry_cycles_ = 0, miss_cycles_ = 0;
  std::uint64_t busy_ = 0, busy_from_ = 0,
                busy_until_ = 0;  // cycles with a miss: all but the last stretch, it
  std::uint64_t under_way_ = 0;   // misses whose end is not known
};

}  // namespace rubato::chip
