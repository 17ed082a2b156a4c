// The task model's functions: create, run, timestamp, on_commit (M1 to M3 and M6).
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "rubato/annotations.hpp"
#include "rubato/engine/select.hpp"
#include "rubato/group.hpp"
#include "rubato/task_type.hpp"

#if defined(RUBATO_ENGINE_CHIP)
#include "rubato/engine/chip.hpp"
#elif defined(RUBATO_ENGINE_NATIVE)
#include "rubato/engine/native.hpp"
#else
#include "rubato/engine/serial.hpp"
#endif
#if !defined(RUBATO_ENGINE_NATIVE)
#include "rubato/engine/no_native.hpp"
#endif
#include "rubato/guarded_group.hpp"

namespace rubato::inline v0 {

/// Creates a task that will call function(args...). Inside a task (its parent) or, before run(), outside.
///   function  a function pointer or a callable. On the chip its state is trivially copyable, and travels in
///             the words that arguments leave of 5; host engines take any callable
///   args      at most 5, each trivially copyable and at most 8 bytes
/// Errors: a timestamp earlier than the creating task's; a timestamp from a task without one.
template <TaskType type, class F, class... Args>
inline void create(F function, Annotations annotations, Args... args) {
  engine::check_task<F, Args...>();
  engine::create<type>(std::move(function), annotations, args...);
}

/// Likewise, a task with a place: create<spec>(visit, at_place(core, {.at = 7}), vertex).
template <TaskType type, class F, class... Args>
inline void create(F function, PlacedAnnotations placed, Args... args) {
  engine::check_task<F, Args...>();
#if defined(RUBATO_ENGINE_CHIP)
  engine::create<type>(std::move(function), placed, args...);
#else
  engine::create<type>(std::move(function), placed.annotations(), args...);
#endif
}

/// Creation without a task type: refused with a sentence.
template <class F, class... Args>
inline void create(F, Annotations, Args...) {
  engine::refuse_without_type<F>();
}
/// The same with a place.
template <class F, class... Args>
inline void create(F, PlacedAnnotations, Args...) {
  engine::refuse_without_type<F>();
}

/// Runs all tasks, those created before and their descendants; returns when every one is done. Outside tasks
/// only: a task that wants to go on after others uses a TaskGroup and .after. May be called again and again.
inline void run() { engine::run(); }

/// The running task's own timestamp; 0 for a task without one and outside tasks.
inline Timestamp timestamp() { return engine::timestamp(); }

/// Makes the rest of the running task non-speculative: a speculative attempt begins anew when no earlier task
/// is left. No effect in other tasks, outside tasks, and on host engines, which do not speculate.
inline void serialize() {
#if defined(RUBATO_ENGINE_CHIP)
  engine::serialize();
#endif
}

/// Calls function(args...) once the running task can no longer be undone: the way out for results that are
/// not tracked data (output, for example). Runs as a non-speculative task without timestamp and locale.
template <class F, class... Args>
inline void on_commit(F function, Args... args) {
  engine::check_task<F, Args...>();
#if defined(RUBATO_ENGINE_NATIVE)
  engine::create_on_commit(std::move(function), args...);
#else
  engine::create<TaskType::nonspec>(std::move(function), Annotations{}, args...);
#endif
}

}  // namespace rubato::inline v0
