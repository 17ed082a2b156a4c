// The serial engine's interface to serial/actors.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0::engine {

struct ActorHooks {
  bool (*when_idle)() = nullptr;  ///< nothing is left to run: @returns whether there is now
  void (*clear)() = nullptr;      ///< the run has failed: tasks are dropped
};
extern ActorHooks actor_hooks;

/// Orders the running task's earlier actions before the later actions of other tasks that call this: no ties
/// between them are looked for (serial/tie_check.hpp).
void order_with_others();
/// Tells running tasks apart; 0 outside.
std::uint64_t running_number();
bool is_running();
/// Errors: TaskError if this is another thread than the one that calls run().
void check_thread(const char* what);

}  // namespace rubato::inline v0::engine
