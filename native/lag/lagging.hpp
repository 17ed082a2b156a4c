// Speculative lagging [L] (Fig. 3): before something is given up, wait a little for what would make it
// unnecessary, if samples say that this pays. No clock and no engine: the caller brings the waiting, and
// random numbers. A40 to A43.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "native/lag/record.hpp"

namespace rubato::inline v0::native::lag {

struct Events {
  std::uint64_t samples = 0, sample_hits = 0, lags = 0, hits = 0, decisions = 0, drops = 0;
};

/// Decides for many that give up, each of which has a record of its own.
/// @tparam Random  double operator()(): evenly in (0, 1]
template <class Random>
class Decider {
 public:
  Decider(const Rules& rules, Random random) : rules_(rules), random_(random) {}

  /// How many giving-ups there are until the first sample of a record that does not exist yet.
  std::uint64_t first_gap() { return draw_gap({}); }

  /// @param wait  unsigned (unsigned delays): waits for so many L-th of c, and returns at which of them
  /// something
  ///              was there, from 1; 0: nothing came
  /// @returns whether something came, so that there is nothing to give up
  template <class Wait>
  bool give_up(Record& record, Wait&& wait) {
    if (--record.until_sample == 0) {
      if (!rules_.is_as_published)
        record.account =
            std::min(1.0, record.account + rules_.initial_rate * static_cast<double>(record.gap));
      const bool may_sample = rules_.is_as_published || record.account >= 0;
      bool has_come = false;
      if (may_sample) has_come = sample(record, wait(rules_.delays));
      record.until_sample = record.gap = draw_gap(record);
      // A sample stands in place of a lag: after it only what the lag has missed would be seen (E7).
      if (may_sample) return has_come;
    }
    if (record.delay == 0) return false;
    const unsigned found_at = wait(record.delay);
    ++events_.lags;
    events_.hits += found_at != 0;
    if (!rules_.is_as_published) watch(record, found_at);
    return found_at != 0;
  }

  const Events& events() const { return events_; }

 private:
  double fraction(unsigned delays) const { return static_cast<double>(delays) / rules_.delays; }

  bool sample(Record& record, unsigned found_at) {
    record.note(found_at);
    record.account += found_at != 0 ? 1 - fraction(found_at) : -1;
    ++events_.samples;
    events_.sample_hits += found_at != 0;
    if (record.samples >= rules_.samples) {
      record.delay = decide(rules_, record);
      record.watched = 0;
      record.gain = 0;
      record.begin_phase();
      ++events_.decisions;
    }
    return found_at != 0;
  }

  /// Every lag is a sample for nothing: what has ceased to pay ends before the next decision.
  void watch(Record& record, unsigned found_at) {
    record.gain += found_at != 0 ? 1 - fraction(found_at) : -fraction(record.delay);
    if (++record.watched < kWindow) return;
    if (record.gain < kLeastGain) {
      record.delay = 0;
      record.begin_phase();
      ++events_.drops;
    }
    record.watched = 0;
    record.gain = 0;
  }

  /// To the next sample, as if each giving-up were one with the probability of the rate (Definition 2).
  std::uint64_t draw_gap(const Record& record) {
    const double phi = rate(rules_, record);
    if (phi >= 1) return 1;
    const double gap = std::ceil(std::log(random_()) / std::log1p(-phi));
    return gap < 1 ? 1 : static_cast<std::uint64_t>(std::min(gap, 1e15));
  }

  static constexpr unsigned kWindow = 64;
  static constexpr double kLeastGain = -4;

  Rules rules_;
  Random random_;
  Events events_;
};

/// The same for a single one.
template <class Random>
class Lagging {
 public:
  Lagging(const Rules& rules, Random random) : decider_(rules, random) {
    record_.until_sample = record_.gap = decider_.first_gap();
  }
  template <class Wait>
  bool give_up(Wait&& wait) {
    return decider_.give_up(record_, std::forward<Wait>(wait));
  }
  const Events& events() const { return decider_.events(); }
  const Record& record() const { return record_; }

 private:
  Decider<Random> decider_;
  Record record_;
};

}  // namespace rubato::inline v0::native::lag
