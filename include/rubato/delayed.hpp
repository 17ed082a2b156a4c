// Delayed tasks: they start when their time has come. Host engines only. Not part of rubato.hpp: include it
// where it is used.
//
//   rubato::DelayedTask timeout = rubato::create_later<nonspec>(5ms, give_up, {.on = request}, request);
//   ...
//   timeout.cancel();  // the answer is here
//
//   - The task is created at once: it is a member of its .group, and run() returns only when it has ended.
//     An algorithm outside tasks waits for it, too.
//   - It starts when its time has come, never before, and when a worker is free. Natively a thread of the
//     engine waits for the time; no worker does. On the serial engine time is virtual (task_clock.hpp).
//   - A timestamp is the task's place in the program's order, as with every task: later timestamps wait until
//     it has run.
//   - A task that was cancelled, itself or with its GuardedGroup, does not run. Its function is destroyed and
//     its group left, for cancel() at once, for the group when its time has come.
//   - If a run fails its delayed tasks are dropped: cancel() finds nothing to cancel any more.
//   - While a manual_clock (actor/manual_clock.hpp) lives there are none.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__riscv)

#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// Refused where a guest program uses it.
template <TaskType type, class When, class F, class... Args>
void create_later(When, F, Annotations, Args...) {
  static_assert(engine::is_never<F>,
                "create_later() is for host engines: the chip has no timers for tasks; give the task a later "
                "timestamp (.at), which is its place in the order");
}
/// Refused likewise.
template <TaskType type, class When, class F, class... Args>
void create_later(When when, F function, PlacedAnnotations placed, Args... args) {
  create_later<type>(when, function, placed.annotations(), args...);
}

}  // namespace rubato::inline v0

#else

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "rubato/duration.hpp"
#include "rubato/errors.hpp"
#include "rubato/group.hpp"
#include "rubato/outside_event.hpp"
#include "rubato/task.hpp"
#include "rubato/task_clock.hpp"

namespace rubato::inline v0 {

namespace engine {

/// The time that a task waits for: a group whose only member is an OutsideEvent, which the clock sets. It
/// belongs to the task, its timer, its event and the program's DelayedTask.
class Delay : public std::enable_shared_from_this<Delay> {
 public:
  explicit Delay(std::uint64_t at) : at_(at) {}
  Delay(const Delay&) = delete;
  Delay& operator=(const Delay&) = delete;

  /// For `.after`.
  TaskGroup* due() { return &due_; }
  /// Makes the event. Errors: TaskError as for every OutsideEvent, and while a manual_clock lives.
  void begin();
  /// Starts the timer.
  void start();
  /// The timer is not needed any more: the event is set, or its run has failed.
  void end_timer() noexcept;
  /// There is no task after all.
  void withdraw();
  /// Its time has come.
  void set_due() {
    timer_.store(kNoTimer);
    event_.try_set();
  }
  /// The task begins. False: it was cancelled. It may begin again, as a reader that has lost.
  bool begin_task() {
    State seen = State::waiting;
    return state_.compare_exchange_strong(seen, State::begun) || seen == State::begun;
  }
  /// The task is destroyed. If it has not begun it never will: it was dropped, or its group is cancelled.
  void end_task() noexcept {
    State seen = State::waiting;
    state_.compare_exchange_strong(seen, State::over);
  }
  /// False: the task has begun, was cancelled before, or is destroyed.
  bool cancel();

 private:
  enum class State : std::uint8_t { waiting, begun, over };
  static constexpr std::uint64_t kNoTimer = ~std::uint64_t{0};

  const std::uint64_t at_;  // nanoseconds of the clock
  std::atomic<State> state_{State::waiting};
  std::atomic<std::uint64_t> timer_{0};  // 0: not started yet; kNoTimer: none, or none any more
  TaskGroup due_;
  OutsideEvent event_;
};

/// Nanoseconds of the clock. Errors: TaskError if the time never comes.
std::uint64_t time_of(Duration delay);
std::uint64_t time_of(TaskClock::time_point when);

/// A task's part in its delay.
class TaskOfDelay {
 public:
  explicit TaskOfDelay(std::shared_ptr<Delay> delay) : delay_(std::move(delay)) {}
  TaskOfDelay(TaskOfDelay&&) noexcept = default;
  TaskOfDelay& operator=(TaskOfDelay&&) = delete;
  ~TaskOfDelay() {
    if (delay_ != nullptr) delay_->end_task();
  }
  Delay* operator->() const { return delay_.get(); }

 private:
  std::shared_ptr<Delay> delay_;
};

/// The function of a delayed task.
template <class F>
struct DelayedCall {
  using TaskName = name_type<F>;

  template <class... Args>
    requires std::is_invocable_v<const F&, Args...>
  void operator()(Args... args) const {
    if (delay->begin_task()) function(args...);
  }
  template <class... Args>
    requires(!std::is_invocable_v<const F&, Args...>)
  void operator()(Args... args) {
    if (delay->begin_task()) function(args...);
  }

  TaskOfDelay delay;
  F function;
};

}  // namespace engine

/// The handle of a delayed task. Dropping it changes nothing.
class DelayedTask {
 public:
  /// The handle of no task.
  DelayedTask() = default;
  /// For the runtime.
  explicit DelayedTask(std::shared_ptr<engine::Delay> delay) : delay_(std::move(delay)) {}
  /// From any thread: the task does not run, and leaves its group. @returns false if it has begun already,
  /// has been cancelled before, was dropped with a run that failed, or there is none
  bool cancel() { return delay_ != nullptr && delay_->cancel(); }

 private:
  std::shared_ptr<engine::Delay> delay_;
};

namespace engine {

template <TaskType type, class F, class... Args>
DelayedTask create_delayed(std::uint64_t at, F function, Annotations annotations, Args... args) {
  check_task<F, Args...>();
  if (annotations.after != nullptr) misuse(errors::later_and_after());
  const auto delay = std::make_shared<Delay>(at);
  delay->begin();
  annotations.after = delay->due();
  try {
    delay->start();  // first: if it throws there is no task yet
    rubato::create<type>(DelayedCall<F>{TaskOfDelay(delay), std::move(function)}, annotations, args...);
  } catch (...) {
    delay->withdraw();
    throw;
  }
  return DelayedTask(delay);
}

}  // namespace engine

/// Creates a task that calls function(args...) when `delay` has passed; 0 or less: at once. Otherwise as
/// create(). Errors: those of create(); TaskError for .after, and for a delay that never ends.
template <TaskType type, class F, class... Args>
DelayedTask create_later(AnyDuration delay, F function, Annotations annotations, Args... args) {
  return engine::create_delayed<type>(engine::time_of(delay), std::move(function), annotations, args...);
}
/// The same at a point in time; one that has passed: at once.
template <TaskType type, class F, class... Args>
DelayedTask create_later(TaskClock::time_point when, F function, Annotations annotations, Args... args) {
  return engine::create_delayed<type>(engine::time_of(when), std::move(function), annotations, args...);
}
/// Likewise, a task with a place: create_later<nonspec>(5ms, give_up, at_place(2), request).
template <TaskType type, class When, class F, class... Args>
DelayedTask create_later(When when, F function, PlacedAnnotations placed, Args... args) {
  return rubato::create_later<type>(when, std::move(function), placed.annotations(), args...);
}

/// Creation without a task type: refused with a sentence.
template <class When, class F, class... Args>
void create_later(When, F, Annotations, Args...) {
  engine::refuse_without_type<F>();
}
/// The same with a place.
template <class When, class F, class... Args>
void create_later(When, F, PlacedAnnotations, Args...) {
  engine::refuse_without_type<F>();
}

}  // namespace rubato::inline v0

#endif
