// Messages that come later, once or again and again (rule A13). Never early.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "rubato/actor/actor.hpp"

namespace rubato::inline v0 {

namespace engine {

/// What a timer does when its time has come: called by the engine where tasks may be created, one after
/// another.
struct TimerCall {
  virtual ~TimerCall() = default;
  /// @returns whether it is to be called again after its period.
  virtual bool call() = 0;
};
/// `period`: 0 for once. It keeps run() open. @returns its number, never 0.
std::uint64_t add_timer(Duration delay, Duration period, std::unique_ptr<TimerCall> call);
/// Nothing happens if it has been called, or was cancelled before.
void cancel_timer(std::uint64_t number);

template <class F>
std::uint64_t call_after(Duration delay, F f) {
  struct Once final : TimerCall {
    explicit Once(F&& function) : f(std::move(function)) {}
    bool call() override {
      f();
      return false;
    }
    F f;
  };
  return add_timer(delay, Duration::zero(), std::make_unique<Once>(std::move(f)));
}

}  // namespace engine

/// A timer of an actor, as behavior::after() and every() return it. Dropping it changes nothing.
class timer {
 public:
  timer() = default;
  /// For the runtime.
  explicit timer(std::uint64_t number) : number_(number) {}
  /// Of one that is over it does nothing.
  void cancel() {
    if (number_ != 0) engine::cancel_timer(number_);
    number_ = 0;
  }

 private:
  std::uint64_t number_ = 0;
};

}  // namespace rubato::inline v0
