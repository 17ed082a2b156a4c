// Who hears of an actor's end, and who decides about its failures. Rule A14.
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

enum class Reason : std::uint8_t { stopped, killed, failed };

/// Comes to who watches an actor.
struct Down {
  actor<> who;
  Reason reason;
};

/// What a parent's `Directive on_failure(const Failure&)` decides about its child's failure.
enum class Directive : std::uint8_t {
  escalate,  ///< the parent fails in turn
  resume,    ///< the child goes on with its next message
  restart,   ///< the child is made anew from the arguments kept at spawn: `static constexpr bool restarts =
             ///< true`
  stop,      ///< the child stops
};
struct Failure {
  actor<> who;
  std::string_view behavior, message;  ///< the names of their types
  std::exception_ptr error;
  unsigned restarts;  ///< of it in the last 10 s
};

namespace engine {

struct Watch {
  std::uint64_t watcher, watched;
  void run_in_turn() { extras_of(*cell_of(current_actor())).watchers.push_back(watcher); }
  void fail(AskError) { post(watcher, make_node<Down>(Down{actor<>::of(watched), Reason::stopped})); }
};
struct Unwatch {
  std::uint64_t watcher;
  void run_in_turn() {
    std::vector<std::uint64_t>& all = extras_of(*cell_of(current_actor())).watchers;
    all.erase(std::remove(all.begin(), all.end(), watcher), all.end());
  }
};

}  // namespace engine
}  // namespace rubato::inline v0
