// Choice of the algorithm that suits the program now: a pure function of windows of time in which commits
// were counted (T50). With one thread at work it is the serial one, and nothing is tried. With more
// threads it is hardware, if there is some, until each candidate has run for a window. The best stays, until
// its rate changes for good or a while has passed. A challenger has to win by 5 % and twice, since on a busy
// machine one window says little. It has to win by more if a window has few commits.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "tm/thread/algorithm.hpp"

namespace rubato::tm {

/// Counts between two moments.
struct Window {
  std::uint64_t nanoseconds, commits;
  unsigned threads;  ///< at work
};

class Chooser {
 public:
  static constexpr std::uint64_t kWindow = 2'000'000, kFewestCommits = 64;  ///< both, unless it takes long
  static constexpr std::uint64_t kLongestWindow = 16'000'000;
  static constexpr std::uint64_t kHopelessWindow = kWindow / 4, kLosingWindow = kWindow / 2;
  bool is_over(const Window& window) const {
    return is_lost(window) || (window.nanoseconds >= kWindow &&
                               (window.commits >= kFewestCommits || window.nanoseconds >= kLongestWindow));
  }
  /// No window of now() is over before.
  std::uint64_t shortest_window() const { return is_challenged() ? kHopelessWindow : kWindow; }

  /// `candidates`: bits by AlgorithmId. The serial algorithm is always one.
  constexpr explicit Chooser(std::uint32_t candidates = 1)
      : candidates_(candidates | 1), best_(first_of(candidates)) {}

  /// The window of algorithm now() has ended. @returns what runs next.
  AlgorithmId next(const Window& window);

  std::uint32_t candidates() const { return candidates_; }
  AlgorithmId now() const { return now_; }
  bool is_trying() const { return state_ != State::alone && state_ != State::settled; }
  std::uint64_t changes() const { return changes_; }  ///< of the best
  std::uint64_t windows(AlgorithmId id) const { return windows_[static_cast<std::size_t>(id)]; }
  static constexpr std::uint32_t bit(AlgorithmId id) { return 1u << static_cast<unsigned>(id); }

 private:
  enum class State : std::uint8_t {
    alone,       ///< one thread at work
    settled,     ///< the best runs
    trying,      ///< the candidates that are left have their window
    confirming,  ///< the best so far once more, then the challenger
    challenging
  };
  // A round costs about a millisecond, since a window that is lost ends early: programs of some 20 ms do not
  // get that back, those of 40 ms get back more.
  static constexpr std::uint64_t kFirstPause = 5'000'000, kShortestPause = 25'000'000,
                                 kLongestPause = 8'000'000'000;
  static constexpr unsigned kStrangeWindows = 3;  ///< after so many the candidates are tried again
  static constexpr unsigned kSingleWindows = 3;   ///< after so many one thread is alone
  static constexpr unsigned kShareOfTrying = 50;  ///< one fiftieth of the time, and at first a little more:
  static constexpr std::uint64_t kTryingAtFirst = 20'000'000;
  static constexpr std::uint64_t kLongWindowsAtFirst = 40;  ///< before any is given to another
  static constexpr std::uint8_t kLossesToSitOut = 2;

  /// The algorithm that several threads run before any other was tried.
  static constexpr AlgorithmId first_of(std::uint32_t candidates) {
    return (candidates & bit(AlgorithmId::rtm)) != 0 ? AlgorithmId::rtm : AlgorithmId::serial;
  }
  double& score(AlgorithmId id) { return scores_[static_cast<std::size_t>(id)]; }
  double score(AlgorithmId id) const { return scores_[static_cast<std::size_t>(id)]; }
  /// Another than the best runs, to be compared with it.
  bool is_challenged() const { return state_ == State::trying || state_ == State::challenging; }
  /// Is now() so much slower than the best that the rest of its window would only cost time?
  bool is_lost(const Window& window) const;
  void note(AlgorithmId id, double rate, std::uint64_t commits);
  /// Is it better than the best so far by more than the hysteresis and what chance explains?
  bool wins(AlgorithmId challenger);

  AlgorithmId start_round(double rate, std::uint64_t commits);
  AlgorithmId try_next();
  AlgorithmId end_round();
  AlgorithmId settle(AlgorithmId best);
  AlgorithmId stay(double rate, const Window& window);
  bool is_time_to_try(const Window& window, bool has_changed) const;

  std::uint32_t candidates_, left_ = 0, tried_ = 0;
  State state_ = State::alone;
  AlgorithmId now_ = AlgorithmId::serial;
  AlgorithmId best_, challenger_ = AlgorithmId::serial;
  double scores_[kAlgorithmCount]{};
  std::uint64_t commits_[kAlgorithmCount]{};  ///< in the window of the score
  double rate_ = 0;                           ///< of the settled best; 0: it had no window yet
  std::uint8_t losses_[kAlgorithmCount]{};
  unsigned strange_ = 0, single_ = 0;         ///< windows in a row
  std::uint64_t time_ = 0, trying_time_ = 0;  ///< with several threads
  std::uint64_t pause_ = kShortestPause, next_round_ = 0;
  std::uint64_t changes_ = 0, windows_[kAlgorithmCount]{};
};

}  // namespace rubato::tm
