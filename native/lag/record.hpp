// Lagging's knowledge about a waiter that gives up, and its conclusions: the delay to wait, and how often to
// sample. A38 to A43.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace rubato::inline v0::native::lag {

inline constexpr unsigned kMaxDelays = 32;

/// How lagging decides.
struct Rules {
  unsigned samples = 43;         ///< of a phase, at whose end the delay is chosen (A37)
  unsigned delays = kMaxDelays;  ///< L: the delays are i c / L, 2 to kMaxDelays
  double initial_rate = 0.002;   ///< phi0
  bool is_as_published = false;  ///< Corollary 2 alone, without the corrections A39, A42 and A43
};

struct Record {
  std::array<std::uint32_t, kMaxDelays + 1> found{};  ///< [i]: samples that found something at delay i
  unsigned samples = 0, hits = 0;                     ///< of this phase
  unsigned delay = 0;                                 ///< how many L-th of c to wait; 0: not at all
  std::uint64_t until_sample = 0, gap = 0;            ///< giving-ups
  double account = 0;                                 ///< A42, in units of c
  unsigned watched = 0;                               ///< A43: lags of this window
  double gain = 0;                                    ///< of them, in units of c

  /// Nothing is known any more but the delay in force. The sampling rate is then the initial one (E9).
  void begin_phase() {
    found.fill(0);
    samples = hits = 0;
  }
  /// `delay` of the first look that found something; 0: none did.
  void note(unsigned found_at) {
    ++samples;
    if (found_at == 0) return;
    ++hits;
    ++found[found_at];
  }
};

/// A38, A39: the delay that gains most by the samples, the first of equals; 0 if none gains.
unsigned decide(const Rules& rules, const Record& record);

/// A41: at which rate to sample.
double rate(const Rules& rules, const Record& record);

}  // namespace rubato::inline v0::native::lag
