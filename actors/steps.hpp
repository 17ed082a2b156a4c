// Steps of rubato/actor/single_steps.hpp: the permission to handle one message, and what was handled by it.
// Who is put aside for want of it is the engine's.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <typeinfo>
#include <utility>

#include "rubato/actor/single_steps.hpp"

namespace rubato::inline v0 {
namespace errors {
inline const char* steps_in_a_run() {
  return "single_steps begin or end in a task, or while a run goes on: do it before run() or after it";
}
inline const char* steps_twice() { return "single_steps are made while others live: one at a time"; }
}  // namespace errors

namespace engine {

class Steps {
 public:
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  void set(bool is_on) { is_on_.store(is_on, std::memory_order_relaxed); }

  void allow() {
    const std::lock_guard lock(mutex_);
    is_allowed_ = true;
    handled_.reset();
  }
  /// Before a message. False: the actor is put aside.
  bool claim() {
    const std::lock_guard lock(mutex_);
    return std::exchange(is_allowed_, false);
  }
  /// There was no message.
  void give_back() {
    const std::lock_guard lock(mutex_);
    is_allowed_ = true;
  }
  /// Before the handler, which may throw.
  void note(std::uint64_t actor, const std::type_info& behavior, const std::type_info& message);
  std::optional<HandledMessage> take() {
    const std::lock_guard lock(mutex_);
    is_allowed_ = false;
    return std::exchange(handled_, std::nullopt);
  }

 private:
  std::atomic<bool> is_on_{false};
  std::mutex mutex_;
  bool is_allowed_ = false;
  std::optional<HandledMessage> handled_;
};

/// Steps of this process.
Steps& steps();

}  // namespace engine
}  // namespace rubato::inline v0
