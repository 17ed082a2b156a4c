// Speculative lagging [L] (Fig. 3): before something is given up, wait a little for what would make it
// unnecessary, where samples say that this pays. No clock and no engine: who gives up brings the waiting, and
// random numbers. Rules A40 to A43.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "native/lag/record.hpp"

namespace rubato::runtime::lag {

struct Events {
  std::uint64_t samples = 0, sample_hits = 0, lags = 0, hits = 0, decisions = 0, drops = 0;
};

/// @tparam Random  double operator()(): evenly in (0, 1]
template <class Random>
class Lagging {
 public:
  Lagging(const Rules& rules, Random random) : rules_(rules), random_(random) {
    record_.until_sample = record_.gap = draw_gap();
  }

  /// @param wait  unsigned (unsigned delays): waits for so many L-th of c, and returns at which of them
  /// something
  ///              was there, from 1; 0: nothing came
  /// @returns whether something came, so that there is nothing to give up
  template <class Wait>
  bool give_up(Wait&& wait) {
    if (--record_.until_sample == 0) {
      if (!rules_.is_as_published)
        record_.account =
            std::min(1.0, record_.account + rules_.initial_rate * static_cast<double>(record_.gap));
      const bool may_sample = rules_.is_as_published || record_.account >= 0;
      bool has_come = false;
      if (may_sample) has_come = sample(wait(rules_.delays));
      record_.until_sample = record_.gap = draw_gap();
      // A sample stands in place of a lag: after it only what the lag has missed would be seen (E7).
      if (may_sample) return has_come;
    }
    if (record_.delay == 0) return false;
    const unsigned found_at = wait(record_.delay);
    ++events_.lags;
    events_.hits += found_at != 0;
    if (!rules_.is_as_published) watch(found_at);
    return found_at != 0;
  }

  const Events& events() const { return events_; }
  const Record& record() const { return record_; }

 private:
  double fraction(unsigned delays) const { return static_cast<double>(delays) / rules_.delays; }

  bool sample(unsigned found_at) {
    record_.note(found_at);
    record_.account += found_at != 0 ? 1 - fraction(found_at) : -1;
    ++events_.samples;
    events_.sample_hits += found_at != 0;
    if (record_.samples >= rules_.samples) {
      record_.delay = decide(rules_, record_);
      record_.watched = 0;
      record_.gain = 0;
      record_.begin_phase();
      ++events_.decisions;
    }
    return found_at != 0;
  }

  /// Every lag is a sample for nothing: what has ceased to pay ends before the next decision.
  void watch(unsigned found_at) {
    record_.gain += found_at != 0 ? 1 - fraction(found_at) : -fraction(record_.delay);
    if (++record_.watched < kWindow) return;
    if (record_.gain < kLeastGain) {
      record_.delay = 0;
      record_.begin_phase();
      ++events_.drops;
    }
    record_.watched = 0;
    record_.gain = 0;
  }

  /// To the next sample, as if each giving-up were one with the probability of the rate (Definition 2).
  std::uint64_t draw_gap() {
    const double phi = rate(rules_, record_);
    if (phi >= 1) return 1;
    const double gap = std::ceil(std::log(random_()) / std::log1p(-phi));
    return gap < 1 ? 1 : static_cast<std::uint64_t>(std::min(gap, 1e15));
  }

  static constexpr unsigned kWindow = 64;
  static constexpr double kLeastGain = -4;

  Rules rules_;
  Random random_;
  Record record_;
  Events events_;
};

}  // namespace rubato::runtime::lag
