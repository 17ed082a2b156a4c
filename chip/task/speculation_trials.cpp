// The trials of speculation_trials.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/speculation_trials.hpp"

#include <algorithm>

namespace rubato::chip {

void SpeculationTrials::begin_region(Cycle now) {
  best_ = SpeculationReach::limited;
  choices_ = {};
  is_after_trial_ = false;
  gvt_ = 0;
  since_ = now;
  begin(best_, now);
}

void SpeculationTrials::register_stats(StatRegistry& registry) const {
  registry.counter("arbiter.trials", "epochs",
                   "epochs in which MAYSPEC tasks speculated otherwise, to see whether tasks commit faster",
                   &trials_);
  registry.counter("arbiter.trials_won", "epochs", "trials in which they did", &trials_won_);
  const auto count = [&](const char* name, const char* description, SpeculationReach reach) {
    registry.counter(name, "cycles", description, &cycles_[static_cast<std::size_t>(reach)]);
  };
  count("arbiter.speculation.free", "in which MAYSPEC tasks might speculate freely", SpeculationReach::free);
  count("arbiter.speculation.limited", "in which MAYSPEC tasks might speculate within learned limits",
        SpeculationReach::limited);
  count("arbiter.speculation.none", "in which no MAYSPEC task might begin to speculate",
        SpeculationReach::none);
}

void SpeculationTrials::begin(SpeculationReach reach, Cycle now) {
  begin_counting(now);
  current_ = reach;
}

void SpeculationTrials::begin_counting(Cycle now) {
  cycles_[static_cast<std::size_t>(current_)] += now - since_;
  is_waiting_ = false;
  since_ = now;
  first_tie_ = tie_breaker(now, CoreId{0});
  commits_ = own_commits_ = aborts_ = 0;
}

bool SpeculationTrials::is_over(std::uint64_t commits, Latency elapsed, bool is_new_timestamp) const {
  const std::uint64_t length = is_wider() ? kWider : 1;
  if (elapsed >= length * (commits < kCommits ? kMost : kLongestStep)) return true;
  if (!is_trial() && commits_ == 0 && aborts_ >= kManyAborts) return true;
  return is_new_timestamp && elapsed >= length * kLeast && commits >= length * kCommits;
}

void SpeculationTrials::found(Timestamp gvt, Cycle now) {
  const bool is_new = gvt != gvt_;
  gvt_ = gvt;
  const Latency elapsed = now - since_;
  if (is_waiting_) {
    if (elapsed >= (current_ == SpeculationReach::none ? kLongestWait : kRamp)) begin_counting(now);
    return;
  }
  if (elapsed < kLeast) return;
  const std::uint64_t commits = is_narrower() ? own_commits_ : commits_;
  const double rate = static_cast<double>(commits) / static_cast<double>(elapsed);
  const bool is_over = this->is_over(commits, elapsed, is_new);
  if (!is_trial()) {
    if (is_over) end_epoch(rate, now);
    return;
  }
  // With one commit more than there were.
  const double hoped = static_cast<double>(commits + 1) / static_cast<double>(elapsed);
  const bool is_beaten = is_new && (!is_wider() || elapsed >= kWider * kLeast) && 2 * hoped < of(best_).rate;
  if (is_over || is_beaten) end_trial(rate, now);
}

void SpeculationTrials::end_trial(double rate, Cycle now) {
  Choice& tried = of(current_);
  const bool is_chance = is_wider() && commits_ < kCommits;
  if (rate > of(best_).rate && !is_chance) {
    ++trials_won_;
    of(best_).wait = of(best_).pause = kFirstPause;
    best_ = current_;
    tried.rate = rate;
    tried.is_known = true;
  } else {
    tried.wait = tried.pause;
    tried.pause = std::min(4 * tried.pause, kLongestPause);
  }
  is_after_trial_ = true;
  begin(best_, now);
}

// What commits while few attempts are aborted, such as a tree of tasks that create others, says nothing of
// what follows.
void SpeculationTrials::end_epoch(double rate, Cycle now) {
  Choice& best = of(best_);
  const bool is_wasteful = best_ == SpeculationReach::none || 2 * aborts_ >= kWaste * commits_;
  if (!is_after_trial_) {
    best.rate = best.is_known && is_wasteful ? (best.rate + rate) / 2 : rate;
    best.is_known = is_wasteful;
  }
  const bool may_try = !is_after_trial_ && is_wasteful;
  is_after_trial_ = false;
  const SpeculationReach next = next_trial(commits_ < kCommits);
  if (!may_try || next == best_) return begin(best_, now);
  ++trials_;
  begin(next, now);
  is_waiting_ = true;
}

// The best, if no other one has waited long enough. @param is_stuck  hardly a task commits: then attempts may
// be what keeps others from it, and limits would hold those back only that have not begun.
SpeculationReach SpeculationTrials::next_trial(bool is_stuck) {
  SpeculationReach next = best_;
  const auto consider = [&](SpeculationReach other) {
    Choice& choice = of(other);
    if (choice.wait != 0) {
      --choice.wait;
    } else if (next == best_) {
      next = other;
    }
  };
  if (best_ != SpeculationReach::limited) {
    consider(SpeculationReach::limited);
    if (best_ == SpeculationReach::free && is_stuck) consider(SpeculationReach::none);
  } else {
    consider(SpeculationReach::none);
    consider(SpeculationReach::free);
  }
  return next;
}

}  // namespace rubato::chip
