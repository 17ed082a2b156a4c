// Messages that are not handled: nothing disappears silently (A16).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <typeinfo>
#include <utility>

#include "rubato/actor/actor.hpp"

namespace rubato::inline v0 {

/// A message that no actor has handled.
struct DeadLetter {
  /// Why: its actor had stopped or was killed, its mailbox was full or sealed, or run() ended with an error.
  enum class Cause : std::uint8_t { stopped, killed, full, sealed, run_failed };
  actor<> to;                  ///< the actor it was sent to
  std::uint64_t from;          ///< tells senders apart; 0: no actor
  const std::type_info* type;  ///< of the message
  Cause cause;                 ///< why it was not handled
};

/// Handle of a listener: ends the listening when it is destroyed or cancelled.
class subscription {
 public:
  subscription() = default;
  /// Calls `end` once.
  explicit subscription(std::function<void()> end) : end_(std::move(end)) {}
  /// The other stands for nothing then.
  subscription(subscription&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  /// Ends the listening that this handle stood for.
  subscription& operator=(subscription&& other) noexcept {
    cancel();
    end_ = std::exchange(other.end_, nullptr);
    return *this;
  }
  ~subscription() { cancel(); }
  /// Ends it now.
  void cancel() {
    if (const auto end = std::exchange(end_, nullptr)) end();
  }

 private:
  std::function<void()> end_;
};

/// Called for each, by the thread that drops it, one at a time.
[[nodiscard]] subscription on_dead_letter(std::function<void(const DeadLetter&)> f);

/// Counts since the program started, of messages and not of turns.
struct ActorCounters {
  std::uint64_t messages_handled = 0;    ///< by handlers
  std::uint64_t messages_allocated = 0;  ///< too large for a node
  std::uint64_t spawned = 0;             ///< actors
  std::uint64_t stopped = 0;             ///< actors, killed and failed ones too
  std::uint64_t dead_letters[5] = {};    ///< by DeadLetter::Cause
};
/// The counts as they are now.
ActorCounters actor_counters();

}  // namespace rubato::inline v0
