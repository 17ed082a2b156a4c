// For tests: a clock of actors that the test moves by hand, on every engine. An hour of timers takes no time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "rubato/actor/actor.hpp"

namespace rubato::inline v0 {

namespace engine {

/// The engine's. From now on its clock for actors stands still, or goes on. Errors: TaskError in a task,
/// while a run goes on, and if it is as asked already.
void stop_clock(bool is_stopped);
/// The clock that stands goes on to the next timer that is due by then, which is fired. False: there is none,
/// and it has gone on to that time.
bool fire_until(std::uint64_t time);

}  // namespace engine

/// While it lives, time of actors stands still between two calls of advance(): timers, time limits of asks
/// and time-outs for idleness. Pending timers do not keep run() open then. Made and used outside tasks, by
/// the thread that calls run(). One at a time.
class manual_clock {
 public:
  /// Errors: TaskError in a task, while a run goes on, and if there is one already.
  manual_clock() { engine::stop_clock(true); }
  ~manual_clock() {
    try {
      engine::stop_clock(false);
    } catch (...) {
      // A run goes on: time stays still. This thread cannot be told by an exception of a destructor.
    }
  }
  manual_clock(const manual_clock&) = delete;
  manual_clock& operator=(const manual_clock&) = delete;

  /// Runs what there is to run, moves the clock to each timer that is due within `time`, one after the other,
  /// and runs what comes of it. Errors: those of run().
  void advance(AnyDuration time) {
    const std::uint64_t until = engine::actor_nanoseconds() + static_cast<std::uint64_t>(time.count());
    do {
      engine::run();
    } while (engine::fire_until(until));
    engine::run();
  }
  /// The time since a fixed moment.
  Duration now() const { return Duration(static_cast<std::int64_t>(engine::actor_nanoseconds())); }
};

}  // namespace rubato::inline v0
