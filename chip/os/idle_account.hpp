// Why the cores of a program were idle: integrates over time how many cores had no thread, and for which
// reason. A thread that is blocked at a lock or another futex explains one idle core. If more threads are
// blocked than cores idle, each explains the same fraction. Idle cores that no blocked thread explains are
// counted by how many threads there are meanwhile that run or wait so: none, one alone, or a few. Waits for
// the end of threads, sleep, files and signals explain nothing: a program that does only those has too few
// threads.
//
// Invariant: for_waits() + none() + the sums of alone() and few() == idle core cycles between start and
// pause, without those during task regions, whose cores run tasks.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class IdleAccount {
 public:
  explicit IdleAccount(std::uint32_t cores) : cores_(cores) {}

  /// Counts up to `now` with the threads as they are; a time before the last call counts nothing.
  void advance(Cycle now);
  /// Counts up to `now`, and nothing more until the next advance().
  void pause(Cycle now);

  void add_running(int thread) {
    ++running_;
    running_ids_ += thread;
  }
  void remove_running(int thread) {
    --running_;
    running_ids_ -= thread;
  }
  void add_waiting() { ++waiting_; }
  void remove_waiting() { --waiting_; }
  /// The thread waits for a region of tasks.
  void add_in_region() { ++in_region_; }
  void remove_in_region() { --in_region_; }

  /// Idle core cycles that a thread explains that waits from the beginning on: the difference between the end
  /// and the begin of a wait is what that wait explains.
  double per_waiting() const { return per_waiting_; }
  /// Idle core cycles that all waiting threads explain.
  double for_waits() const { return for_waits_; }
  /// Idle core cycles that no wait explains: while no thread was there; one that ran, by thread; more, by
  /// number.
  std::uint64_t none() const { return none_; }
  const std::map<int, std::uint64_t>& alone() const { return alone_; }
  const std::map<int, std::uint64_t>& few() const { return few_; }

 private:
  const std::uint32_t cores_;
  bool is_counting_ = false;
  Cycle last_{};
  std::uint32_t running_ = 0, waiting_ = 0, in_region_ = 0;
  std::int64_t running_ids_ = 0;  // their sum: of one thread its number
  double per_waiting_ = 0, for_waits_ = 0;
  std::uint64_t none_ = 0;
  std::map<int, std::uint64_t> alone_, few_;
};

}  // namespace rubato::chip
