// Supervision: notices of an actor's end, and a parent's decisions about failures. A14.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string_view>
#include <vector>

#include "rubato/actor/actor.hpp"
#include "rubato/engine/actor_extras.hpp"

namespace rubato::inline v0 {

/// Why an actor is no more.
enum class Reason : std::uint8_t {
  stopped,  ///< by itself or by others; also if it ended so long ago that its memory is in use again
  killed,   ///< by kill()
  failed,   ///< with an exception, after which its parent had it stop
};

/// Message to an actor that watches another: that one has ended.
struct Down {
  actor<> who;    ///< the actor that was watched
  Reason reason;  ///< why it has stopped
};

/// Decision about a child's failure: the result of its parent's `Directive on_failure(const Failure&)`.
enum class Directive : std::uint8_t {
  escalate,  ///< the parent fails in turn
  resume,    ///< the child goes on with its next message
  restart,   ///< the child is made anew from the arguments kept at spawn: `static constexpr bool restarts =
             ///< true`
  stop,      ///< the child stops
  restart_all,  ///< as restart; and each other child of this parent is made anew after the messages that it
                ///< has got, or stops if it cannot be
};
/// An exception that has left a handler.
struct Failure {
  actor<> who;                ///< the child that failed
  std::string_view behavior;  ///< the name of its type
  std::string_view message;   ///< and of the message's, or "the answer to M"
  std::exception_ptr error;   ///< what its handler threw
  unsigned restarts;          ///< of it within the time of its limits
};

namespace engine {

/// Reason for which an actor has ended.
Reason end_of(std::uint64_t actor);

struct Watch {
  static constexpr bool while_stopping = true;
  std::uint64_t watcher, watched;
  void run_in_turn() { extras_of(*cell_of(current_actor())).watchers.push_back(watcher); }
  void fail(AskError) { post(watcher, make_node<Down>(Down{actor<>::of(watched), end_of(watched)})); }
};
struct Unwatch {
  static constexpr bool while_stopping = true;
  std::uint64_t watcher;
  void run_in_turn() {
    std::vector<std::uint64_t>& all = extras_of(*cell_of(current_actor())).watchers;
    all.erase(std::remove(all.begin(), all.end(), watcher), all.end());
  }
};

}  // namespace engine
}  // namespace rubato::inline v0
