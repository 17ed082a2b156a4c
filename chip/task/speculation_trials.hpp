// Chip-wide trials: do tasks commit faster if MAYSPEC tasks speculate freely, within the limits that tiles
// have learned (speculation_throttle.hpp), or not at all? Not in Espresso.
//
// No count of aborts answers that. With four aborts a commit 64 cores may still be 20 times as fast as one;
// with as many, tasks that wait for each other's lock in capsules are slower than one after another. So
// commits a cycle are measured, in epochs of simulated time.
//
// MAYSPEC tasks speculate within limits at first, which is freely while few attempts are aborted. In that
// state nothing is tried. Otherwise one epoch without speculation follows, and one without limits. The best
// reach goes on, and from there the next narrower or wider reach is tried again.
//
// The loss of a trial, in commits that the best would have had meanwhile, decides when it may be repeated:
// when the best has gone on for kShare times the time that it needs for those commits. So trials cost
// 1/kShare of the time each, and less with each defeat. A reach that was the best until then is tried again
// after kRematch times as long as the trial took, and kLongestRematch cycles at most: it may have been judged
// by its first thousand cycles, and limits are learned only while they hold. The rate of the best is an
// average of kAverage epochs, since commits come in bursts; kFew of them are needed before another reach is
// tried.
//
// An epoch lasts kLeast cycles or more, and ends with the kCommits-th commit or later when the GVT has a new
// timestamp: so a program of rounds is compared round by round. If fewer tasks commit, it ends after kMost
// cycles. It ends at once if kManyAborts attempts are aborted, kSwamped for each task that commits.
//
// Attempts that finished before a trial of a narrower reach commit in it, so it counts only tasks that were
// dispatched in it, and lasts up to kPatience cycles. One without speculation counts from when no attempt
// runs any more, or kCommits of its own tasks have committed: attempts in capsules that wait for one lock
// take tens of thousands of cycles to end. Going back to no speculation waits in the same way. A trial of a
// wider reach counts from kRamp cycles on and is kWider times as long: its attempts have to finish first. A
// trial ends early if it is much slower. Fewer than kCommits commits never win one of a wider reach.
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
  static constexpr Latency kPatience = 16384;                   ///< of a trial of a narrower reach
  static constexpr Latency kLongestWait = 65536, kRamp = 2000;  ///< cycles before a trial counts
  static constexpr std::uint64_t kCommits = 8, kManyAborts = 32, kSwamped = 2, kWider = 4;
  /// So many attempts aborted for two tasks that commit are a reason to try something else.
  static constexpr std::uint64_t kWaste = 3;
  static constexpr std::uint32_t kAverage = 8, kFew = 4;  ///< epochs
  static constexpr std::uint32_t kShare = 8, kRematch = 4, kMostDefeats = 4;
  static constexpr Latency kLongestRematch = 32768;
  static constexpr Latency kLeastLoss = 1000;  ///< cycles, of a trial that was about as good as the best

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
    if (current_ == SpeculationReach::none) end_wait(now);
  }
  /// How far MAYSPEC tasks may speculate from the broadcast of that GVT on.
  SpeculationReach reach() const { return current_; }

 private:
  struct Choice {
    double rate =
        0;  ///< commits a cycle, of the best: the average of epochs that were a reason to try others
    std::uint32_t samples = 0;  ///< epochs in the average, up to kAverage; 0: it is not known
    std::uint32_t defeats = 0;  ///< one after the other
    Cycle not_before{};         ///< it may be tried again
  };
  Choice& of(SpeculationReach reach) { return choices_[static_cast<std::size_t>(reach)]; }
  bool is_trial() const { return current_ != best_; }
  bool is_wider() const { return current_ < best_; }
  bool is_narrower() const { return current_ > best_; }
  bool is_over(std::uint64_t commits, Latency elapsed, bool is_new_timestamp) const;
  bool is_swamped() const { return aborts_ >= kManyAborts && aborts_ >= kSwamped * commits_; }
  void end_wait(Cycle now);
  void end_trial(double rate, Cycle now);
  void end_epoch(double rate, Cycle now);
  void learn(double rate);
  void settle_trial(Cycle now);
  SpeculationReach next_trial(bool is_stuck, Cycle now) const;
  void begin(SpeculationReach reach, Cycle now);
  void begin_counting(Cycle now);

  SpeculationReach best_ = SpeculationReach::limited, current_ = SpeculationReach::limited;
  std::array<Choice, 3> choices_{};  // by reach
  Cycle since_{};                    // the epoch began
  std::uint64_t first_tie_ = 0;      // of tasks that are dispatched in it
  std::uint64_t commits_ = 0, own_commits_ = 0, aborts_ = 0;
  Timestamp gvt_ = 0;
  bool is_waiting_ = false;
  bool has_tried_ = false;       // in this region
  bool is_after_trial_ = false;  // the epoch is: it measures only what the trial has cost
  SpeculationReach tried_ = SpeculationReach::limited;  // last
  Cycle trial_since_{};                                 // began, its wait included
  std::uint64_t trial_commits_ = 0;                     // since then, until the epoch
  std::uint64_t trials_ = 0, trials_won_ = 0;
  std::array<std::uint64_t, 3> cycles_{};  // by reach
};

}  // namespace rubato::chip
