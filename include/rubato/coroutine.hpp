// Coroutines as tasks: a function that waits in its middle, and keeps no worker meanwhile. Host engines only.
// Not part of rubato.hpp: include it where it is used.
//
//   rubato::Coroutine serve(Connection* connection) {
//     for (;;) {
//       rubato::TaskGroup arrived;
//       rubato::OutsideEvent event(arrived);
//       connection->read_later([&event] { event.set(); });   // by a thread of the library
//       co_await rubato::completed(arrived);                  // the worker runs other tasks
//       if (!connection->answer()) co_return;
//       co_await rubato::passed(5ms);
//     }
//   }
//   create<nonspec>(serve(connection), {.group = &connections});
//
//   - From one wait to the next a coroutine is a nonspec task with the annotations that it was created with.
//     So it stays in its group from its beginning to its end, and has its timestamp and locale. Between two
//     parts other tasks of the locale may run. The next part may run on another worker: no lock and no
//     thread_local data may be held across a co_await.
//   - An exception that leaves it is that of a task: its GuardedGroup's, or the run's.
//   - If it is dropped with a run that fails, or cancelled with its GuardedGroup, its local variables are
//     destroyed. Threads outside must not use them then: let both share what such a thread sets.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__riscv)

#include <coroutine>

#include "rubato/task_type.hpp"

namespace rubato::inline v0 {

/// Refused where a guest program uses it.
class Coroutine {
 public:
  /// For the compiler.
  struct promise_type {
    /// Refuses.
    template <class T = void>
    Coroutine get_return_object() {
      static_assert(engine::is_never<T>,
                    "Coroutine is for host engines: on the chip create the task that goes on with .after");
      return {};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }  ///< for the compiler
    std::suspend_always final_suspend() const noexcept { return {}; }    ///< for the compiler
    void return_void() const noexcept {}                                 ///< for the compiler
    void unhandled_exception() const noexcept {}                         ///< for the compiler
  };
};

}  // namespace rubato::inline v0

#else

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>

#include "rubato/delayed.hpp"
#include "rubato/group.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// The return type of a coroutine that create<nonspec>() makes a task of. Without that it never starts.
class [[nodiscard]] Coroutine {
 public:
  struct promise_type;                                 ///< for the compiler
  using Handle = std::coroutine_handle<promise_type>;  ///< for the compiler

  /// For the compiler.
  explicit Coroutine(Handle handle) : handle_(handle) {}
  /// `other` is empty then.
  Coroutine(Coroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Coroutine& operator=(Coroutine&&) = delete;
  ~Coroutine() {
    if (handle_) handle_.destroy();
  }
  /// For the runtime: the caller destroys the coroutine.
  Handle release() { return std::exchange(handle_, nullptr); }

 private:
  Handle handle_;
};

namespace engine {

/// A part of a coroutine, from one wait to the next, on the stack of its task.
struct CoroutinePart {
  bool is_last = false;
  std::exception_ptr error;  ///< has left the coroutine
};

/// The function of the task that resumes a coroutine. Destroyed unrun it destroys the coroutine, if that
/// waits.
class ResumeCoroutine {
 public:
  using TaskName = Coroutine;

  explicit ResumeCoroutine(Coroutine::Handle handle) : handle_(handle) {}
  ResumeCoroutine(ResumeCoroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ResumeCoroutine& operator=(ResumeCoroutine&&) = delete;
  inline ~ResumeCoroutine();
  inline void operator()();

 private:
  Coroutine::Handle handle_;
};

}  // namespace engine

/// For the compiler.
struct Coroutine::promise_type {
  /// The end; the task that has resumed the coroutine destroys it.
  struct Ends {
    /// For the compiler.
    bool await_ready() const noexcept { return false; }
    /// For the compiler.
    void await_suspend(Handle handle) const noexcept { handle.promise().part->is_last = true; }
    /// For the compiler.
    void await_resume() const noexcept {}
  };

  /// For the compiler.
  Coroutine get_return_object() noexcept { return Coroutine(Handle::from_promise(*this)); }
  /// For the compiler.
  std::suspend_always initial_suspend() const noexcept { return {}; }
  /// For the compiler.
  Ends final_suspend() const noexcept { return {}; }
  /// For the compiler.
  void return_void() const noexcept {}
  /// For the compiler.
  void unhandled_exception() noexcept { part->error = std::current_exception(); }

  /// The coroutine goes on by a task that create_next(function, annotations) makes, with `.after`: that does
  /// not begin before the running task has ended. If it throws the coroutine goes on at once.
  template <class CreateNext>
  void wait(CreateNext create_next) {
    create_next(engine::ResumeCoroutine(Handle::from_promise(*this)), annotations);
    is_waiting = true;
  }

  Annotations annotations;                ///< of the tasks that it is
  engine::CoroutinePart* part = nullptr;  ///< the one that runs
  bool is_waiting = false;                ///< belongs to the task that resumes it
};

namespace engine {

ResumeCoroutine::~ResumeCoroutine() {
  if (handle_ && handle_.promise().is_waiting) handle_.destroy();
}

void ResumeCoroutine::operator()() {
  const Coroutine::Handle handle = std::exchange(handle_, nullptr);
  CoroutinePart part;
  handle.promise().is_waiting = false;
  handle.promise().part = &part;
  handle.resume();
  if (!part.is_last) return;  // it waits, and is another task's
  handle.destroy();
  if (part.error != nullptr) std::rethrow_exception(part.error);
}

/// See completed().
struct Completed {
  bool await_ready() const { return group->is_complete(); }
  void await_suspend(Coroutine::Handle handle) const {
    handle.promise().wait([after = group](ResumeCoroutine resume, Annotations annotations) {
      annotations.after = after;
      rubato::create<TaskType::nonspec>(std::move(resume), annotations);
    });
  }
  void await_resume() const noexcept {}

  TaskGroup* group;
};

/// See passed().
struct Passed {
  bool await_ready() const noexcept { return false; }
  void await_suspend(Coroutine::Handle handle) const {
    handle.promise().wait([at = time](ResumeCoroutine resume, const Annotations& annotations) {
      static_cast<void>(create_delayed<TaskType::nonspec>(at, std::move(resume), annotations));
    });
  }
  void await_resume() const noexcept {}

  std::uint64_t time;
};

}  // namespace engine

/// Creates a task that runs the coroutine to its first wait; what follows it creates itself. `.after` counts
/// for the beginning only. Errors: as those of other tasks.
template <TaskType type>
void create(Coroutine coroutine, Annotations annotations) {
  static_assert(type == TaskType::nonspec,
                "a coroutine is a nonspec task: what it does between two waits is not undone, and not atomic "
                "with what it does before and behind them");
  const Coroutine::Handle handle = coroutine.release();
  handle.promise().annotations = annotations;
  handle.promise().annotations.after = nullptr;
  handle.promise().is_waiting = true;
  rubato::create<type>(engine::ResumeCoroutine(handle), annotations);
}

/// The same with a place.
template <TaskType type>
void create(Coroutine coroutine, PlacedAnnotations placed) {
  rubato::create<type>(std::move(coroutine), placed.annotations());
}

/// For co_await in a Coroutine: goes on when the group is complete, at once if it is.
inline engine::Completed completed(TaskGroup& group) { return {&group}; }
/// For co_await in a Coroutine: goes on when the delay has passed, or at that time. Errors: as those of
/// create_later().
inline engine::Passed passed(AnyDuration delay) { return {engine::time_of(delay)}; }
/// The same at a point in time.
inline engine::Passed passed(TaskClock::time_point when) { return {engine::time_of(when)}; }

}  // namespace rubato::inline v0

#endif
