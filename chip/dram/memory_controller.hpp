// A port to DRAM at the chip's edge: fixed latency, limited bandwidth (C20). A line holds
// the controller for 64 / bytes_per_cycle cycles; fractions are carried from line to line, so the mean is
// exact. Lines are interleaved over the controllers by a hash of their address.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "base/rng.hpp"
#include "chip/noc/calendar.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class StatRegistry;

class MemoryController {
 public:
  /// latency in cycles; bytes_per_cycle from 0.02 to 64 (checked with the configuration).
  struct Params {
    std::uint32_t latency;
    double bytes_per_cycle;
    std::uint32_t perturb = 0;  ///< at most so many cycles more for a read
    std::uint64_t seed = 0;     ///< which draws them
  };
  explicit MemoryController(Params params);

  /// A line is read: the cycle at which it is back at the controller's tile.
  Cycle read(Cycle now) {
    ++reads_;
    return book(now) + latency_ + (perturb_ == 0 ? 0 : rng_.below(std::uint64_t{perturb_} + 1));
  }
  /// Writes a line; no core waits for it.
  void write(Cycle now) {
    ++writes_;
    book(now);
  }

  std::uint64_t reads() const { return reads_; }
  std::uint64_t writes() const { return writes_; }
  /// Cycles that requests waited for the controller, summed over requests.
  std::uint64_t queue_cycles() const { return queue_cycles_; }
  /// Registers `prefix`.reads, .writes and .queue_cycles.
  void register_stats(StatRegistry& registry, const std::string& prefix) const;

 private:
  static constexpr std::uint32_t kFraction = 1U << 16;  // occupancy is kept in 1/kFraction cycles
  Cycle book(Cycle now) {
    carry_ += occupancy_;
    const auto length = static_cast<std::uint32_t>(carry_ / kFraction);
    carry_ %= kFraction;
    const Cycle start = length == 0 ? now : calendar_.book(0, now, RunLength{length});
    queue_cycles_ += start - now;
    return start;
  }

  std::uint32_t latency_, perturb_;
  Rng rng_;
  std::uint64_t occupancy_;
  std::uint64_t carry_ = 0;
  std::uint64_t reads_ = 0, writes_ = 0, queue_cycles_ = 0;
  /// Longer than the queue of 1024 cores with 16 loads and 16 stores each on four controllers.
  static constexpr std::uint64_t kWindow = 65536;
  BasicCalendars<kWindow> calendar_{1};
};

}  // namespace rubato::chip
