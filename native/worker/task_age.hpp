// How long a worker's running task has taken, as the watch sees it (watch.hpp): by looks at which the same
// task ran, and, of an actor's turn, by its worker's last look at the clock. While another worker is idle a
// worker looks at the clock between short tasks; the time since then is the running task's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/perturbation.hpp"
#include "native/clock.hpp"
#include "native/policy.hpp"

namespace rubato::inline v0::native {

/// Age of one worker's task.
class TaskAge {
 public:
  enum class Age : std::uint8_t {
    young,
    waited_for,  ///< others may wait for what it has sent
    lengthy,     ///< others like it may follow
    old          ///< it publishes from here on
  };
  /// The worker, as a look sees it.
  struct Sight {
    bool is_in_task;
    std::uint64_t ended;            ///< its tasks so far
    std::uint64_t looked_at_clock;  ///< in ticks: Worth::began()
    bool has_actors;                ///< the task may be a turn
  };

  /// A look.
  Age look(const Sight& sight, std::uint64_t now) { return age_ = age_of(sight, now); }
  /// Whether the last look saw the task of the one before, or none.
  bool is_same() const { return looks_ != 0 || !seen_.is_in_task; }
  /// Whether the task may be a turn that does not publish yet what it sends.
  bool may_hold_back() const { return seen_.is_in_task && seen_.has_actors && age_ != Age::old; }
  /// The messages that the task had sent waited, and were handed over.
  void note_handed_over() { has_handed_over_ = true; }
  /// Whether it is one of those that others like it may follow. Once for each.
  bool is_found() {
    if (!has_handed_over_ || is_found_ || !seen_.has_actors || age_ < Age::lengthy) return false;
    return is_found_ = true;
  }

 private:
  Age age_of(const Sight& sight, std::uint64_t now) {
    const bool is_same = sight.ended == seen_.ended && sight.is_in_task;
    // Else it has run tasks without a look: the last one says nothing.
    const bool is_fresh = sight.looked_at_clock != seen_.looked_at_clock || is_same;
    looks_ = is_same ? looks_ + 1 : 0;
    if (!is_same) has_handed_over_ = is_found_ = false;
    if (!is_same || first_seen_ == 0) first_seen_ = now;
    seen_ = sight;
    if (!sight.is_in_task) return Age::young;
    const bool is_long = looks_ >= threshold(2u, 1u);
    if (is_long && now - first_seen_ >= ticks_of(policy::kPublishingMicroseconds)) return Age::old;
    if (sight.has_actors && is_fresh && now > sight.looked_at_clock) {
      const std::uint64_t age = now - sight.looked_at_clock;
      if (age >= ticks_of(policy::kLengthyMicroseconds)) return Age::lengthy;
      if (age >= ticks_of(policy::kWaitedMicroseconds)) return Age::waited_for;
    }
    return is_long ? Age::waited_for : Age::young;
  }

  Sight seen_{};
  Age age_ = Age::young;
  bool has_handed_over_ = false, is_found_ = false;
  unsigned looks_ = 0;            // in a row at which the same task ran
  std::uint64_t first_seen_ = 0;  // at the look before these
};

}  // namespace rubato::inline v0::native
