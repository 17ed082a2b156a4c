// Clocks: children of a member with timers, which fail and are made again, cancel what is due already, and
// end in all ways with timers of an hour pending. No message of a former life or of a cancelled timer may
// come.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "tests/actor_programs/actors.hpp"

namespace actor_programs {

struct ClockFailed : std::runtime_error {
  ClockFailed() : std::runtime_error("a clock fails") {}
};
struct Beat {
  std::uint32_t life;
};
/// Comes after a timer has been cancelled.
struct Quiet {};

struct Clock : behavior<Beat, Quiet> {
  static constexpr bool restarts = true;
  static constexpr std::uint32_t kMostLives = 4;

  Clock(std::uint64_t key, const std::shared_ptr<std::uint32_t>& lives, bool is_counted)
      : random_(mix64(key + *lives)),
        life_(++*lives),
        is_last_(life_ == 1 + key % kMostLives),
        is_counted_(is_counted) {
    beats_ = every(std::chrono::nanoseconds(1 + random_.below(20'000)), Beat{life_});
    static_cast<void>(every(std::chrono::hours(1), Beat{0}));
    static_cast<void>(after(std::chrono::hours(1), Beat{0}));
    static_cast<void>(after(kForever, Beat{0}));
    once_ = after(std::chrono::microseconds(random_.below(20)), Beat{life_});
  }
  void on(Beat beat) {
    const Alone::Scope scope(alone_);
    if (beat.life != life_) state->violate("a timer of another life, or of an hour, comes");
    if (is_quiet_) state->violate("a timer comes though it was cancelled");
    if (++seen_ < 2 + random_.below(3)) return;
    if (!is_last_) throw ClockFailed();
    beats_.cancel();
    once_.cancel();
    is_quiet_ = true;
    after(std::chrono::microseconds(random_.below(2)), Beat{0}).cancel();
    static_cast<void>(after(std::chrono::microseconds(random_.below(40)), Quiet{}));
  }
  void on(Quiet) {
    const Alone::Scope scope(alone_);
    if (is_over_) return;
    is_over_ = true;
    if (is_counted_) ++state->ended_clocks;
    if (random_.below(2) == 0) return stop();
    self().kill();
  }

 private:
  Counted counted_;
  Alone alone_;
  Rng random_;
  const std::uint32_t life_;
  const bool is_last_, is_counted_;
  timer beats_, once_;
  std::uint32_t seen_ = 0;
  bool is_quiet_ = false, is_over_ = false;
};

/// By a member.
inline void spawn_clock(std::uint64_t key) {
  Rng random(key);
  const auto capacity = static_cast<std::uint32_t>(random.below(3));
  const bool is_counted = random.below(4) != 0;
  const auto clock = spawn<Clock>({.mailbox = {.capacity = capacity}, .urgent = random.below(4) == 0}, key,
                                  std::make_shared<std::uint32_t>(0), is_counted);
  if (is_counted) {
    ++state->clocks;
  } else if (random.below(2) == 0) {
    clock.kill();
  } else {
    clock.stop();
  }
}

}  // namespace actor_programs
