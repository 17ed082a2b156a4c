// The serial engine's interface to its actors and events.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "rubato/group.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0::engine {

/// Null until there are actors or timers.
struct ActorHooks {
  /// Nothing can run: virtual time goes on to the next timer. @returns whether there was one.
  bool (*fire_timer)() = nullptr;
  std::uint64_t (*until_timer)() = nullptr;  ///< nanoseconds until that; kNoLimit: there is none
  void (*pass)(std::uint64_t) = nullptr;     ///< so many nanoseconds have passed, while a thread waited
  void (*say_what_is_left)() = nullptr;      ///< the run ends
  void (*clear)() = nullptr;                 ///< the run has failed: messages are dropped
  void (*end_in_next_run)() = nullptr;       ///< the same, when all has been dropped
  void (*after_task)() = nullptr;            ///< null until there is a delayed task
};
extern ActorHooks actor_hooks;

/// A member that is no task leaves its group: a task that calls function() takes its place, so that the group
/// ends with the end of a task.
template <class F>
void leave_by_task(TaskGroup& group, F function) {
  engine::create<TaskType::nonspec>(std::move(function), Annotations{.group = &group});
  --GroupState::pending(group);
}

/// Orders the running task's earlier actions before the later actions of other tasks that call this: no ties
/// between them are looked for (serial/tie_check.hpp).
void order_with_others();
/// Tells running tasks apart; 0 outside.
std::uint64_t running_number();
bool is_running();
/// A run goes on, and this thread runs it.
bool runs_here();
/// Errors: TaskError if this is another thread than the one that calls run().
void check_thread(const char* what);

}  // namespace rubato::inline v0::engine
