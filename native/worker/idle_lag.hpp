// Speculative lagging (native/lag) of a worker that has found nothing: its clock and its random numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "native/lag/waiting.hpp"
#include "native/pool/atomics.hpp"
#include "native/worker/clock.hpp"

namespace rubato::runtime {

struct LagClock {
  static std::uint64_t now() { return ticks(); }
  static void pause() { StdAtomics::pause(); }
};

/// Marsaglia's xorshift64 (2003).
class LagRandom {
 public:
  explicit LagRandom(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u | 1) {}
  double operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (static_cast<double>(state_ >> 11) + 1) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

struct IdleLag : lag::Waiting<LagClock, LagRandom> {
  using Waiting::Waiting;
};

}  // namespace rubato::runtime
