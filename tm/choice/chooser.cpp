// SPDX-License-Identifier: MIT
#include "tm/choice/chooser.hpp"

namespace rubato::tm {
namespace {

constexpr double kHysteresis = 1.05, kClearLoss = 0.5, kLoss = 0.8;
constexpr double kLowestUsualRate = 0.75, kHighestUsualRate = 1.25;
constexpr double kWeightOfOld = 0.875;  // of the settled rate, which follows slow changes

double rate_of(const Window& window) {
  if (window.nanoseconds == 0) return 0;
  return static_cast<double>(window.commits) / static_cast<double>(window.nanoseconds);
}

}  // namespace

AlgorithmId Chooser::next(const Window& window) {
  ++windows_[static_cast<std::size_t>(now_)];
  single_ = window.threads <= 1 ? single_ + 1 : 0;
  // While candidates are tried, threads that do not commit are what they are tried for.
  if (single_ != 0 && (state_ == State::alone || (state_ == State::settled && single_ >= kSingleWindows))) {
    state_ = State::alone;
    return now_ = AlgorithmId::serial;
  }
  const double rate = rate_of(window);
  time_ += window.nanoseconds;
  if (is_trying()) trying_time_ += window.nanoseconds;
  if (rate > score(now_)) note(now_, rate, window.commits);
  switch (state_) {
    case State::alone:
      // A program that is over sooner would not get back the time that trying costs.
      if (rate_ == 0) next_round_ = time_ + kFirstPause;
      // The algorithm that suited several threads before is likely to suit them again.
      state_ = State::settled;
      strange_ = 0;
      return now_ = best_;
    case State::settled:
      return stay(rate, window);
    case State::trying:
      return try_next();
    case State::confirming:
      state_ = State::challenging;
      return now_ = challenger_;
    case State::challenging:
      return settle(wins(challenger_) ? challenger_ : best_);
  }
  return now_;
}

/// `rate`: of the best, which has just had its window.
AlgorithmId Chooser::start_round(double rate, std::uint64_t commits) {
  for (double& each : scores_) each = 0;
  note(best_, rate, commits);
  left_ = candidates_ & ~bit(best_);
  for (std::uint32_t id = 0; id < kAlgorithmCount; ++id) {
    if (losses_[id] >= kLossesToSitOut) left_ &= ~(1u << id);
  }
  tried_ = left_;
  state_ = State::trying;
  return try_next();
}

AlgorithmId Chooser::try_next() {
  if (left_ == 0) return end_round();
  now_ = static_cast<AlgorithmId>(__builtin_ctz(left_));
  left_ &= left_ - 1;
  return now_;
}

AlgorithmId Chooser::end_round() {
  challenger_ = best_;
  for (std::uint32_t id = 0; id < kAlgorithmCount; ++id) {
    if (scores_[id] > score(challenger_)) challenger_ = static_cast<AlgorithmId>(id);
  }
  for (std::uint32_t id = 0; id < kAlgorithmCount; ++id) {
    if ((tried_ >> id & 1) == 0) continue;
    if (scores_[id] >= kClearLoss * score(challenger_)) {
      losses_[id] = 0;
    } else if (losses_[id] < kLossesToSitOut) {
      ++losses_[id];
    }
  }
  if (challenger_ == best_ || !wins(challenger_)) return settle(best_);
  state_ = State::confirming;
  return now_ = best_;
}

AlgorithmId Chooser::settle(AlgorithmId best) {
  if (best != best_) {
    ++changes_;
    pause_ = kShortestPause;
  } else {
    pause_ = 2 * pause_ < kLongestPause ? 2 * pause_ : kLongestPause;
  }
  best_ = best;
  rate_ = score(best);
  strange_ = 0;
  next_round_ = time_ + pause_;
  state_ = State::settled;
  return now_ = best;
}

bool Chooser::is_time_to_try(const Window& window, bool has_changed) const {
  if (trying_time_ > time_ / kShareOfTrying + kTryingAtFirst) return false;
  // With few commits windows are long and say little.
  if (window.commits < kFewestCommits && time_ < kLongWindowsAtFirst * window.nanoseconds) return false;
  return has_changed || time_ >= next_round_;
}

AlgorithmId Chooser::stay(double rate, const Window& window) {
  if (rate_ == 0) rate_ = rate;
  const bool is_usual = rate >= kLowestUsualRate * rate_ && rate <= kHighestUsualRate * rate_;
  strange_ = is_usual ? 0 : strange_ + 1;
  const bool has_changed = strange_ >= kStrangeWindows;
  if (is_usual) rate_ = kWeightOfOld * rate_ + (1 - kWeightOfOld) * rate;
  if (!is_time_to_try(window, has_changed)) return now_;
  if (has_changed) {  // another phase of the program: those that sit out may suit it
    for (std::uint8_t& each : losses_) each = 0;
    pause_ = kShortestPause;
  }
  return start_round(rate, window.commits);
}

void Chooser::note(AlgorithmId id, double rate, std::uint64_t commits) {
  score(id) = rate;
  commits_[static_cast<std::size_t>(id)] = commits;
}

bool Chooser::is_lost(const Window& window) const {
  if (!is_challenged() || window.commits < kFewestCommits) return false;
  const double share = score(best_) != 0 ? rate_of(window) / score(best_) : 1;
  return (window.nanoseconds >= kHopelessWindow && share < kClearLoss) ||
         (window.nanoseconds >= kLosingWindow && share < kLoss);
}

bool Chooser::wins(AlgorithmId challenger) {
  if (score(best_) == 0) return score(challenger) > 0;
  // A count of n is off by about the square root of n: so is the ratio, by the root of `chance`.
  const auto part = [this](AlgorithmId id) {
    const std::uint64_t commits = commits_[static_cast<std::size_t>(id)];
    return 1 / static_cast<double>(commits != 0 ? commits : 1);
  };
  const double chance = part(challenger) + part(best_);
  const double lead = score(challenger) / score(best_) - kHysteresis;
  return lead > 0 && lead * lead > chance;
}

}  // namespace rubato::tm
