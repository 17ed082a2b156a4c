// Chip-wide trials: do tasks commit faster if MAYSPEC tasks speculate freely, within the limits that tiles
// have learned (speculation_throttle.hpp), or not at all? Not in Espresso.
//
// No count of aborts answers that. With four aborts a commit 64 cores may still be 20 times as fast as one;
// with as many, tasks that wait for each other's lock in capsules are slower than one after another. So
// commits a cycle are measured, in epochs of simulated time.
//
// MAYSPEC tasks speculate within limits at first, which is freely while few attempts are aborted. While that
// is so nothing is tried. Else one epoch without speculation follows, and one without limits; the best goes
// on. From there the next narrower or wider reach is tried again after some epochs, after four times as many
// with each defeat.
//
// An epoch lasts kLeast cycles or more, and ends with the kCommits-th commit or later when the GVT has a new
// timestamp: so a program of rounds is compared round by round. Where fewer tasks commit it ends after kMost
// cycles, or with kManyAborts aborts before the first commit.
//
// Attempts that finished before a trial of a narrower reach commit in it, so it counts only tasks that were
// dispatched in it. One without speculation counts from when no attempt runs any more. One of a wider reach
// counts from kRamp cycles on and is kWider times as long: its attempts have to finish first. A trial ends
// early where it is much slower. Fewer than kCommits commits never win one of a wider reach.
//
// In hardware the arbiter does this: reports carry commits and aborts since the last one, each broadcast of
// the GVT two bits more. Both fit into the words that these messages have.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "chip/stats/registry.hpp"
#include "chip/task/dispatch_rule.hpp"
#include "chip/vocabulary/types.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

class SpeculationTrials {
 public:
  static constexpr Latency kLeast = 1000, kMost = 4096, kLongestStep = 65536;  ///< cycles of an epoch
  static constexpr Latency kLongestWait = 16384, kRamp = 2000;  ///< cycles before a trial counts
  static constexpr std::uint64_t kCommits = 8, kManyAborts = 32, kWider = 4;
  /// So many attempts aborted for two tasks that commit are a reason to try something else.
  static constexpr std::uint64_t kWaste = 3;
  static constexpr std::uint32_t kFirstPause = 8, kLongestPause = 512;  ///< epochs between trials

  void begin_region(Cycle now);
  void register_stats(StatRegistry& registry) const;

  /// A timestamped task commits, dispatched with this virtual time.
  void committed(VirtualTime time) {
    ++commits_;
    if (time.tie_breaker >= first_tie_) ++own_commits_;
  }
  /// An attempt of a MAYSPEC task met another task in memory, or had used data of one that did.
  void aborted() { ++aborts_; }
  /// The arbiter has found a GVT with this timestamp.
  void found(Timestamp gvt, Cycle now);
  /// A trial waits until no attempt runs.
  bool is_waiting() const { return is_waiting_; }
  void no_attempt_runs(Cycle now) {
    if (current_ == SpeculationReach::none) begin_counting(now);
  }
  /// How far MAYSPEC tasks may speculate from the broadcast of that GVT on.
  SpeculationReach reach() const { return current_; }

 private:
  struct Choice {
    double rate = 0;  ///< commits a cycle, of the best: in its last epochs that were a reason to try others
    bool is_known = false;
    std::uint32_t wait = 0;  ///< epochs until it may be tried
    std::uint32_t pause = kFirstPause;
  };
  Choice& of(SpeculationReach reach) { return choices_[static_cast<std::size_t>(reach)]; }
  bool is_trial() const { return current_ != best_; }
  bool is_wider() const { return current_ < best_; }
  bool is_narrower() const { return current_ > best_; }
  bool is_over(std::uint64_t commits, Latency elapsed, bool is_new_timestamp) const;
  void end_trial(double rate, Cycle now);
  void end_epoch(double rate, Cycle now);
  SpeculationReach next_trial(bool is_stuck);
  void begin(SpeculationReach reach, Cycle now);
  void begin_counting(Cycle now);

  SpeculationReach best_ = SpeculationReach::limited, current_ = SpeculationReach::limited;
  std::array<Choice, 3> choices_{};  // by reach
  Cycle since_{};                    // the epoch began
  std::uint64_t first_tie_ = 0;      // of tasks that are dispatched in it
  std::uint64_t commits_ = 0, own_commits_ = 0, aborts_ = 0;
  Timestamp gvt_ = 0;
  bool is_waiting_ = false;
  bool is_after_trial_ = false;  // the epoch is: it measures nothing
  std::uint64_t trials_ = 0, trials_won_ = 0;
  std::array<std::uint64_t, 3> cycles_{};  // by reach
};

}  // namespace rubato::chip
