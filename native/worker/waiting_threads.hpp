// Threads outside that wait for actors: for an answer, or for room in a full mailbox. A run that ends has
// them go on, since nothing they wait for comes any more.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::native {

class WaitingThreads {
 public:
  WaitingThreads() = default;
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

  /// False: `may_wait` says so. A run that ends after that question finds the thread in the list. `now` says
  /// when it is, in order: twice the number of the current run, and 1 more while it goes on.
  bool begin(engine::WaitsForRun& waiting, auto may_wait, auto now) {
    const std::lock_guard lock(mutex_);
    waiting.since = now();  // first: if its run ends before may_wait(), it is not taken for the next one's
    if (!may_wait()) return false;
    waiting.next = first_;
    waiting.place = &first_;
    if (first_ != nullptr) first_->place = &waiting.next;
    first_ = &waiting;
    return true;
  }
  void end(engine::WaitsForRun& waiting) {
    const std::lock_guard lock(mutex_);
    *waiting.place = waiting.next;
    if (waiting.next != nullptr) waiting.next->place = waiting.place;
  }
  /// The run has ended: threads that have waited for it go on, not those that wait for the next one.
  void end_run(std::uint64_t run) {
    const std::lock_guard lock(mutex_);
    for (engine::WaitsForRun* w = first_; w != nullptr; w = w->next)
      if (w->since != 2 * run) w->interrupt(w->argument);
  }
  /// The last hold is closed. They go on unless they may wait now: meanwhile another one was opened, or a run
  /// has begun.
  void end_hold(auto may_wait) {
    const std::lock_guard lock(mutex_);
    if (may_wait()) return;
    for (engine::WaitsForRun* w = first_; w != nullptr; w = w->next) w->interrupt(w->argument);
  }

 private:
  std::mutex mutex_;
  engine::WaitsForRun* first_ = nullptr;
};

/// A thread outside that waits for room in a mailbox, whose list of muted senders has it by its word().
class WaitsForRoom {
 public:
  using Clock = std::chrono::steady_clock;
  std::uint64_t word() const { return reinterpret_cast<std::uint64_t>(this) | 1; }
  /// Resumes the waiter with this word; it may be gone afterwards.
  static void resume(std::uint64_t word) {
    auto& waiter = *reinterpret_cast<WaitsForRoom*>(word & ~std::uint64_t{1});
    const std::lock_guard lock(mutex());
    waiter.is_resumed_ = true;
    changed().notify_all();
  }
  /// Its run has ended.
  void interrupt() {
    const std::lock_guard lock(mutex());
    is_interrupted_ = true;
    changed().notify_all();
  }
  /// Until it is resumed or interrupted, or that time has come. @returns whether it was resumed.
  bool wait_until(Clock::time_point until) {
    std::unique_lock lock(mutex());
    const auto is_over = [this] { return is_resumed_ || is_interrupted_; };
    if (until == Clock::time_point::max()) {
      changed().wait(lock, is_over);
    } else {
      changed().wait_until(lock, until, is_over);
    }
    return is_resumed_;
  }
  /// Its resume() is on its way.
  void wait_for_resume() {
    std::unique_lock lock(mutex());
    changed().wait(lock, [this] { return is_resumed_; });
  }

 private:
  // Shared by all waiters, never destroyed: a resuming thread touches no part of the waiter that may be gone.
  static std::mutex& mutex() {
    static std::mutex& instance = *new std::mutex;
    return instance;
  }
  static std::condition_variable& changed() {
    static std::condition_variable& instance = *new std::condition_variable;
    return instance;
  }
  bool is_resumed_ = false, is_interrupted_ = false;
};

}  // namespace rubato::inline v0::native
