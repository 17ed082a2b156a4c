// For tests: actors handle one message at a time, and the test looks in between, on every engine.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "rubato/actor/actor.hpp"

namespace rubato::inline v0 {

/// A message that an actor has handled.
struct HandledMessage {
  actor<> who;           ///< the actor
  std::string behavior;  ///< the name of its type
  std::string message;   ///< and of the message's
};

namespace engine {

/// The engine's. From now on actors handle messages by steps, or freely again. Errors: TaskError in a task,
/// while a run goes on, and if it is as asked already.
void set_single_steps(bool is_on);
/// The next run() has one message handled, of those that wait.
void allow_step();
/// The message that was handled since. Nothing: none.
std::optional<HandledMessage> take_step();
/// Whether an actor was put aside, which may have messages.
bool has_put_aside();

}  // namespace engine

/// While it lives, actors handle messages in step() alone, and not in run(). Made and used outside tasks, by
/// the thread that calls run(). One at a time. If actors have timers, a manual_clock beside it keeps these
/// from running on.
class single_steps {
 public:
  /// Errors: TaskError in a task, while a run goes on, and if there is one already.
  single_steps() { engine::set_single_steps(true); }
  ~single_steps() {
    try {
      engine::set_single_steps(false);
    } catch (...) {
      // A run goes on. This thread cannot be told by an exception of a destructor.
    }
  }
  single_steps(const single_steps&) = delete;
  single_steps& operator=(const single_steps&) = delete;

  /// Has one waiting message handled; the order among actors is as free as in every run. Answers, stops and
  /// ends of actors, which need no handler of a message, happen along with it, as do tasks. @returns what was
  /// handled; nothing: no message waits. Errors: those of run().
  std::optional<HandledMessage> step() {
    do {
      engine::allow_step();
      engine::run();
      if (std::optional<HandledMessage> handled = engine::take_step()) return handled;
    } while (engine::has_put_aside());
    return std::nullopt;
  }
};

}  // namespace rubato::inline v0
