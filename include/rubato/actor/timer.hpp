// Messages that come later, once or again and again (A13). Never early, and never after cancel().
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "rubato/actor/actor.hpp"

namespace rubato::inline v0 {

/// Comes to an actor that has handled no message for as long as it said by idle_after().
struct Idle {};

namespace engine {

/// Sets the idle time-out of a living actor; kForever ends it. Errors: TaskError if the period is not above
/// 0.
void set_idle_timeout(std::uint64_t actor, Duration period);
/// The running actor, if there is one, has handled a message.
void note_activity();

/// Delayed work of the runtime, such as to end an ask. The engine calls it where tasks may be created.
struct TimerCall {
  virtual ~TimerCall() = default;
  virtual void call() = 0;
};
/// A message that an actor sends to itself later. A timer that is due sends a Due; the message itself is made
/// in the actor's turn, so that an exception of its copy is a failure of that actor.
struct TimedMessage {
  using MakeDue = MessageNode* (*)(std::uint64_t number);
  explicit TimedMessage(MakeDue due) : make_due(due) {}
  virtual ~TimedMessage() = default;
  /// Makes the message that says that this timer is due; called by the engine's timers.
  const MakeDue make_due;
  /// Makes the message itself, in the actor's turn. Errors: the exception of the message's copy.
  virtual MessageNode* make() = 0;
};

/// A timer belongs to the running actor, if there is one: it is cancelled when that actor ends. Timers keep
/// run() open. @returns its number; 0: it will never be due.
std::uint64_t add_timer(Duration delay, std::unique_ptr<TimerCall> call);
/// `period`: 0 for once. It is also cancelled when the actor is made again.
std::uint64_t add_timer(Duration delay, Duration period, std::shared_ptr<TimedMessage> message);
/// Nothing happens if it is over, or was cancelled before.
void cancel_timer(std::uint64_t number);
/// Handles the message of this timer, in the actor's turn. @returns false if it was cancelled.
bool handle_due(std::uint64_t number);
/// The message of this timer is not handled. @returns false if it was cancelled.
bool withdraw_due(std::uint64_t number);
/// Errors: TaskError if it is not above 0.
void check_period(Duration period);

template <class F>
std::uint64_t call_after(Duration delay, F f) {
  struct Once final : TimerCall {
    explicit Once(F&& function) : f(std::move(function)) {}
    void call() override { f(); }
    F f;
  };
  return add_timer(delay, std::make_unique<Once>(std::move(f)));
}

template <class M>
struct Due {
  using shown_message = M;
  std::uint64_t number;
  bool run_in_turn() { return handle_due(number); }
  bool withdraw() { return withdraw_due(number); }
};
template <class M>
MessageNode* make_due_of(std::uint64_t number) {
  return make_node<Due<M>>(Due<M>{number});
}
template <class M>
struct SendLater final : TimedMessage {
  explicit SendLater(M m) : TimedMessage(make_due_of<M>), message(std::move(m)) {}
  MessageNode* make() override { return make_node<M>(std::move(message)); }
  M message;
};
template <class M>
struct SendAgain final : TimedMessage {
  explicit SendAgain(M m) : TimedMessage(make_due_of<M>), message(std::move(m)) {}
  MessageNode* make() override { return make_node<M>(std::as_const(message)); }
  M message;
};

}  // namespace engine

/// A timer of an actor, as behavior::after() and every() return it. Dropping it changes nothing.
class timer {
 public:
  timer() = default;
  /// For the runtime.
  explicit timer(std::uint64_t number) : number_(number) {}
  /// Cancels the timer: its message is not handled any more, also if it waits in the mailbox already. If the
  /// timer is over, cancel() does nothing.
  void cancel() {
    if (number_ != 0) engine::cancel_timer(number_);
    number_ = 0;
  }

 private:
  std::uint64_t number_ = 0;
};

}  // namespace rubato::inline v0
