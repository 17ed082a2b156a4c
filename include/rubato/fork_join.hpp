// fork_join: a task calls several functions, perhaps at once, and goes on when all have returned. The short
// way to a join: results stay on the stack, and a call costs some nanoseconds where no worker is idle. Not
// part of rubato.hpp: include it where it is used.
//
//   long fib(int n) {
//     if (n < 2) return n;
//     long a = 0, b = 0;
//     rubato::fork_join([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
//     return a + b;
//   }
//
// The native engine calls the first function and leaves the others where idle workers may take them. What
// none has taken is called in place. Meanwhile a worker whose function was taken runs only functions that
// belong to it. So a lock that a task holds across fork_join() is safe wherever one thread would be safe. The
// functions belong to the task: its group, timestamp() and is_cancelled() are theirs.
//
// The functions are called one after the other, in place:
//   - on the other engines;
//   - in a task with a timestamp or a resource, in a `spec` task, in an actor, and in a destructor;
//   - in the checked build, which knows one place for each task;
//   - below 256 forks of a worker that have not been joined.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "rubato/algorithms.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {
namespace engine {

#if defined(RUBATO_ENGINE_NATIVE)

/// Whether the running task's functions may run on several workers.
[[gnu::always_inline]] inline bool may_fork(const ThreadState* self) {
  if (check::kIsChecked || self == nullptr || self->forks == nullptr || self->running == nullptr)
    return false;
  constexpr std::uint64_t kInPlace = handle::kTimestamped | handle::kSpec | handle::kResource;
  return (self->running->handle & kInPlace) == 0 && self->actor == 0 && !self->forks->stack.is_full();
}

/// `first` has thrown: the fork is run no more, or joined.
[[gnu::cold, gnu::noinline]] inline void abandon(ThreadState& self, Fork& fork) {
  if (!self.forks->stack.pop()) join_stolen(self, fork, false);
}

template <class First, class Second>
[[gnu::always_inline]] inline void fork_and_join(ThreadState& self, Fork& fork, First& first,
                                                 Second& second) {
  try {
    first();
  } catch (...) {
    abandon(self, fork);
    throw;
  }
  if (self.forks->stack.pop()) [[likely]] {
    second();
  } else {
    join_stolen(self, fork, true);
  }
}

/// Whether the last outermost fork of these functions took so little that no worker is worth waking.
template <class First, class Second>
inline std::atomic<bool> is_brief_fork{false};

/// While a worker is idle, or was a moment ago.
template <class First, class Second>
[[gnu::noinline]] void fork_join_offered(ThreadState& self, First& first, Second& second) {
  const std::uint64_t begin = brief_ticks();
  std::atomic<bool>& is_brief = is_brief_fork<First, Second>;
  const bool is_outermost = self.forks->stack.size() == 0;
  ForkOf<Second> fork(second, self.running, self.forks->within);
  self.forks->stack.push(&fork);
  offer_fork(self, is_brief.load(std::memory_order_relaxed));
  fork_and_join(self, fork, first, second);
  if (is_outermost) is_brief.store(brief_ticks() - begin < kBriefTicks, std::memory_order_relaxed);
}

template <class First, class Second>
inline void fork_two(First& first, Second& second) {
  ThreadState* const self = current_thread;
  if (!may_fork(self)) {
    first();
    return second();
  }
  if (self->forks->is_wanted.load(std::memory_order_relaxed)) [[unlikely]]
    return fork_join_offered(*self, first, second);
  ForkOf<Second> fork(second, self->running, self->forks->within);
  self->forks->stack.push(&fork);
  fork_and_join(*self, fork, first, second);
}

/// Whether the caller is neither in a task nor in a destructor that a worker calls.
inline bool is_outside() { return current_thread == nullptr || !current_thread->is_worker; }

#else

template <class First, class Second>
inline void fork_two(First& first, Second& second) {
  first();
  second();
}
inline bool is_outside() { return false; }

#endif

/// The names of tasks that fork_join() makes outside tasks.
namespace task_names {
template <class... Functions>
struct fork_join {};
}  // namespace task_names

template <class Whole, class... Functions>
struct ForkJoin {
  using TaskName = task_names::fork_join<Functions...>;
  static constexpr const char* kName = "fork_join()";
  void start(auto& work) { create_parts(work, 0, 1); }
  void run(std::uint64_t) const { whole(); }
  void finish() {}

  Whole& whole;
};

template <class First, class... Others>
inline void fork_join_all(First& first, Others&... others) {
  if constexpr (sizeof...(Others) == 0) {
    first();
  } else if constexpr (sizeof...(Others) == 1) {
    engine::fork_two(first, others...);
  } else {
    auto rest = [&others...] { fork_join_all(others...); };
    engine::fork_two(first, rest);
  }
}

}  // namespace engine

/// Calls all functions, at once if workers are idle, and returns when all have returned. In a task it keeps
/// the task's stack; outside tasks it is a run of its own, like an algorithm. If the first function throws,
/// functions that no worker has taken are not called. Throws what a function has thrown, of several that of
/// the earliest argument.
template <class... Functions>
  requires(sizeof...(Functions) != 0)
inline void fork_join(Functions&&... functions) {
  if (engine::is_outside()) [[unlikely]] {
    auto whole = [&functions...] { engine::fork_join_all(functions...); };
    return engine::run_to_end(engine::ForkJoin<decltype(whole), std::remove_cvref_t<Functions>...>{whole});
  }
  engine::fork_join_all(functions...);
}

}  // namespace rubato::inline v0
