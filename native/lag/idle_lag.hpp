// Speculative lagging (native/lag) of workers and turns: its rules, its clock and its random numbers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "native/clock.hpp"
#include "native/lag/formulas.hpp"
#include "native/lag/waiting.hpp"
#include "native/pool/atomics.hpp"
#include "rubato/engine/native_options.hpp"

namespace rubato::inline v0::native {

inline lag::Rules lag_rules(const Lagging& l) {
  return {.samples = lag::sample_size(l.confidence, l.error),
          .delays = l.delays,
          .initial_rate = l.initial_rate,
          .is_as_published = l.kind == Lagging::Kind::published};
}

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

}  // namespace rubato::inline v0::native
