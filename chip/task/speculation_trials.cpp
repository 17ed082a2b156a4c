// The trials of speculation_trials.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/speculation_trials.hpp"

#include <algorithm>

namespace rubato::chip {

void SpeculationTrials::begin_region(Cycle now) {
  best_ = SpeculationReach::limited;
  choices_ = {};
  has_tried_ = is_after_trial_ = false;
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
  const Latency most = commits >= kCommits ? kLongestStep : is_narrower() ? kPatience : kMost;
  if (elapsed >= length * most) return true;
  if (!is_trial() && is_swamped()) return true;
  if (!is_new_timestamp || commits < kCommits) return false;
  return elapsed >= length * kMost || (elapsed >= length * kLeast && commits >= length * kCommits);
}

void SpeculationTrials::end_wait(Cycle now) {
  trial_commits_ += commits_;
  begin_counting(now);
}

void SpeculationTrials::found(Timestamp gvt, Cycle now) {
  const bool is_new = gvt != gvt_;
  gvt_ = gvt;
  const Latency elapsed = now - since_;
  if (is_waiting_) {
    const bool is_none = current_ == SpeculationReach::none;
    if (elapsed >= (is_none ? kLongestWait : kRamp) || (is_none && own_commits_ >= kCommits)) end_wait(now);
    return;
  }
  if (elapsed < kLeast && (is_trial() || !is_swamped())) return;
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
  const bool is_chance = is_wider() && commits_ < kCommits;
  trial_commits_ += commits_;
  is_after_trial_ = true;
  if (rate > of(best_).rate && !is_chance) {
    ++trials_won_;
    of(best_).not_before = now + std::min(kRematch * (now - trial_since_), kLongestRematch);
    of(best_).defeats = 0;
    best_ = current_;
    of(best_).rate = rate;
    of(best_).samples = 1;
    return begin(best_, now);
  }
  begin(best_, now);
  is_waiting_ = best_ == SpeculationReach::none;
}

// Epochs with few aborts, such as a tree of tasks that create others, predict nothing about later ones, so
// their rate is not learned.
void SpeculationTrials::end_epoch(double rate, Cycle now) {
  const bool is_wasteful = best_ == SpeculationReach::none || 2 * aborts_ >= kWaste * commits_;
  const bool may_try = !is_after_trial_ && is_wasteful;
  if (is_after_trial_) {
    if (tried_ != best_) settle_trial(now);
    is_after_trial_ = false;
  } else if (is_wasteful) {
    learn(rate);
  }
  const bool is_sure = !has_tried_ || of(best_).samples >= kFew;
  const SpeculationReach next = next_trial(commits_ < kCommits, now);
  if (!may_try || !is_sure || next == best_) return begin(best_, now);
  ++trials_;
  has_tried_ = true;
  tried_ = next;
  trial_since_ = now;
  trial_commits_ = 0;
  begin(next, now);
  is_waiting_ = true;
}

void SpeculationTrials::learn(double rate) {
  Choice& best = of(best_);
  best.samples = std::min(best.samples + 1, kAverage);
  best.rate += (rate - best.rate) / best.samples;
}

// Settles a lost trial. Its cost includes the attempts that it had begun and left to the epoch after it.
void SpeculationTrials::settle_trial(Cycle now) {
  Choice& tried = of(tried_);
  const double rate = of(best_).rate;
  const auto elapsed = static_cast<double>(now - trial_since_);
  const double gained = rate > 0 ? static_cast<double>(trial_commits_ + commits_) / rate : elapsed;
  const auto lost = static_cast<Latency>(std::max(elapsed - gained, static_cast<double>(kLeastLoss)));
  tried.not_before = now + (lost * kShare << tried.defeats);
  tried.defeats = std::min(tried.defeats + 1, kMostDefeats);
}

// The best, if no other one may be tried yet. @param is_stuck  hardly a task commits. Attempts may then keep
// others from committing, and limits would only hold back attempts that have not begun.
SpeculationReach SpeculationTrials::next_trial(bool is_stuck, Cycle now) const {
  const auto may_be_tried = [&](SpeculationReach reach) {
    return now >= choices_[static_cast<std::size_t>(reach)].not_before;
  };
  if (best_ == SpeculationReach::limited) {
    if (may_be_tried(SpeculationReach::none)) return SpeculationReach::none;
    if (may_be_tried(SpeculationReach::free)) return SpeculationReach::free;
    return best_;
  }
  if (may_be_tried(SpeculationReach::limited)) return SpeculationReach::limited;
  if (best_ == SpeculationReach::free && is_stuck && may_be_tried(SpeculationReach::none))
    return SpeculationReach::none;
  return best_;
}

}  // namespace rubato::chip
