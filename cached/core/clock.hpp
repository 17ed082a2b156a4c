// Time in whole seconds since start, as items store it (T77). One timer advances it; all read it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ctime>
#include <mutex>

#include "cached/core/pure.hpp"

namespace rubato::cached {

class Clock {
 public:
  /// Seconds since start begin above 0, since 0 means "never" and 1 "expired already".
  static constexpr std::uint32_t kOffset = 62;

  Clock() : started_wall_(std::time(nullptr) - kOffset), started_(monotonic() - kOffset) { tick(); }
  /// Follows the monotonic clock: a jump of the wall clock changes no expiry.
  void tick() { tick_by(0); }
  /// Goes on as the clock of an earlier process, so that its times keep their meaning. Before other threads
  /// read the clock.
  void go_on_from(std::uint32_t seconds) {
    started_wall_ = std::time(nullptr) - seconds, started_ = monotonic() - seconds;
    tick();
  }
  /// For tests: moves this clock by so many seconds, at once.
  void move(std::int64_t seconds) { tick_by(seconds); }
  /// For tests: stops the clock, or lets it go on.
  void pause(bool paused) {
    std::lock_guard guard(mutex_);
    paused_ = paused;
  }
  RUBATO_CACHED_PURE std::uint32_t now() const { return __atomic_load_n(&now_, __ATOMIC_RELAXED); }
  /// For those that read it in another way.
  const std::uint32_t& word() const { return now_; }
  std::uint32_t uptime() const { return now() - kOffset; }
  std::int64_t wall(std::uint32_t seconds) const { return started_wall_ + seconds; }

  /// The expiry that a client asks for: 0 never, negative at once, up to 30 days from now, else an absolute
  /// time.
  std::uint32_t expiry(std::int64_t asked) const {
    constexpr std::int64_t kMonth = 60 * 60 * 24 * 30;
    if (asked == 0) return 0;
    if (asked < 0) return 1;
    if (asked <= kMonth) return now() + static_cast<std::uint32_t>(asked);
    if (asked <= started_wall_) return 1;
    return static_cast<std::uint32_t>(asked - started_wall_);
  }

 private:
  static std::int64_t monotonic() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
  }
  void tick_by(std::int64_t seconds) {
    std::lock_guard guard(mutex_);
    moved_ += seconds;
    const std::int64_t now = paused_ ? now_ + seconds : monotonic() - started_ + moved_;
    __atomic_store_n(&now_, static_cast<std::uint32_t>(now), __ATOMIC_RELAXED);
  }
  std::int64_t started_wall_, started_;
  std::mutex mutex_;  ///< of those that change it
  std::int64_t moved_ = 0;
  bool paused_ = false;
  std::uint32_t now_ = 0;  ///< accessed atomically
};

}  // namespace rubato::cached
