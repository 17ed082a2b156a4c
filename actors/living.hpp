// Engine-independent lists of living actors, and a run's report on those that still wait at its end.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <typeinfo>

#include "rubato/engine/actor_cell.hpp"

namespace rubato::inline v0 {
namespace errors {
inline const char* shutdown_in_a_task() {
  return "shutdown() is called in a task, or in what a run calls, which it would wait for: call it on a "
         "thread outside, or after run()";
}
inline const char* shutdown_beside_a_task() {
  return "shutdown() could not list the living actors within its deadline: a task goes on, and no list is "
         "made before it ends";
}
inline const char* listed_in_a_task() {
  return "living actors are listed in a task, or in what a run or drop_pending() calls, which would wait for "
         "itself: do it on a thread outside, or after run()";
}
}  // namespace errors

namespace engine {

/// The engine's. Calls `use(cell, waiting)` for each actor that lives while no task runs and no actor
/// changes; `waiting`: messages of the program in its mailbox. False: not before that time of
/// actor_nanoseconds(), since a task goes on. Errors: TaskError in a task.
bool for_each_actor_until(std::uint64_t time,
                          const std::function<void(const Cell&, std::uint64_t waiting)>& use);
/// The engine's. Whether another thread runs tasks. Then the caller's hold keeps that run open while `wait()`
/// is called again and again until it returns true.
bool wait_in_run(const std::function<bool()>& wait);
/// The engine's. From now on `answer()` is called soon after each signal, by a thread that may wait.
/// Errors: TaskError.
void answer_signal(int signal, void (*answer)());

/// In a turn: keeps the actor's longest handler, for lists. Without memory it is not kept.
void note_long_handler(Cell& cell, std::uint64_t nanoseconds, const std::type_info& message) noexcept;

/// "1 ask has", "2 asks have".
std::string counted(std::int64_t count, const char* one, const char* many);

/// Asks that have neither an answer nor an error, and messages that are stashed, now.
struct Unfinished {
  std::int64_t asks = 0, stashed = 0;
};
Unfinished unfinished();

/// When a run has ended without failure and nothing runs: says in one sentence on standard error that asks or
/// stashed messages are left, if there are more than at the end of the run before.
/// @param for_each  calls its argument for each living actor
void say_what_is_left(const std::function<void(const std::function<void(const Cell&)>&)>& for_each);
/// Messages that this actor has put aside.
std::uint64_t stashed_by(const Cell& cell);

}  // namespace engine
}  // namespace rubato::inline v0
