// OutsideEvent: an event that a thread outside of the engine sets, such as an I/O thread or the callback of a
// library. Tasks wait for it by `.after` and keep no worker meanwhile. Host engines only. Not part of
// rubato.hpp: include it where it is used. It takes the place of oneTBB's task::suspend() and resume().
//
//   struct Read { rubato::TaskGroup arrived; rubato::OutsideEvent event{arrived}; Buffer data; };
//
//   void ask(Read* read) {                                        // a task
//     create<nonspec>(use, {.after = &read->arrived}, read);      // goes on when the data is there
//     disk.read_later(&read->data, [read] { read->event.set(); });  // called by a thread of the library
//   }
//
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__riscv)

#include "rubato/task_type.hpp"

namespace rubato::inline v0 {

class TaskGroup;

/// Refused where a guest program uses it.
template <class T = void>
class OutsideEvent {
  static_assert(engine::is_never<T>,
                "OutsideEvent is for host engines: on the chip no thread runs beside the tasks; let a task "
                "do the work, and wait for its TaskGroup by .after");

 public:
  explicit OutsideEvent(TaskGroup& group);  ///< refused
};

}  // namespace rubato::inline v0

#else

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "rubato/errors.hpp"
#include "rubato/group.hpp"

namespace rubato::inline v0 {

namespace engine {

/// An OutsideEvent that is not set; the engine's.
struct UnsetEvent;
/// The end of an OutsideEvent: set, destroyed without that, or taken back before a task waits for it.
enum class EventEnd : std::uint8_t { set, abandoned, withdrawn };
struct EventOrigin {
  const char* file;
  unsigned line;
  bool is_timed = false;  ///< the clock sets it
};
/// A member of the group from here on. `keeps`: lives until the event has left its group.
UnsetEvent* begin_event(TaskGroup& group, const EventOrigin& origin, std::shared_ptr<void> keeps);
/// From any thread. False: its run has failed, and nothing happens. The event is gone afterwards.
bool end_event(UnsetEvent* event, EventEnd end) noexcept;

}  // namespace engine

/// A member of a TaskGroup that is no task: it belongs to the group until set() is called. Tasks with
/// `.after` of this group start then, if it has no other members; they see all that the thread wrote before
/// set().
///   - run(), and an algorithm outside tasks, return only when each OutsideEvent is set.
///   - Made by a thread that may create tasks. While there is one, all threads may. set() may be called by
///     any thread at any time, before run(), too.
///   - The group must outlive the event and the tasks that wait for it. It can be shared with tasks and other
///     events: what waits starts when all have ended.
///   - An OutsideEvent that is destroyed before set() is an error of a task, named by the place where the
///     event was made: the run ends with it, or the GuardedGroup that it belongs to keeps it.
///   - If a run fails, its tasks are dropped, and its events with them: set() does nothing any more.
///   - A cancelled GuardedGroup sets no event. The tasks that wait end unrun when it is set.
///   - Not in a task that only reads a resource with Isolation::shared_reads, since it may run twice.
///   - Engine serial: what another thread sets comes when nothing else can run, in the order in which the
///     events were made. While such an event is not set, time passes as on the clock.
class OutsideEvent {
 public:
  /// Belongs to no group; another one can be moved here.
  OutsideEvent() = default;
  /// Joins the group; the other arguments name the place in error texts. Errors: TaskError if this thread may
  /// not create tasks now, or is in a task that may run twice.
  explicit OutsideEvent(TaskGroup& group, const char* file = __builtin_FILE(),
                        unsigned line = __builtin_LINE())
      : unset_(engine::begin_event(group, {file, line}, nullptr)) {}
  /// `other` is of no group then.
  OutsideEvent(OutsideEvent&& other) noexcept : unset_(other.unset_.exchange(nullptr)) {}
  /// The one that was here is destroyed; `other` is of no group then.
  OutsideEvent& operator=(OutsideEvent&& other) noexcept {
    if (this != &other) {
      end(engine::EventEnd::abandoned);
      unset_.store(other.unset_.exchange(nullptr));
    }
    return *this;
  }
  ~OutsideEvent() { end(engine::EventEnd::abandoned); }

  /// Leaves the group. Errors: TaskError if it was set before, or is of no group.
  void set() {
    if (end(engine::EventEnd::set) == End::was_over) engine::misuse(errors::event_set_twice());
  }
  /// The same for threads of which one may be late: several may call it at once. @returns whether this call
  /// has set the event; false, too, if its run has failed
  bool try_set() noexcept { return end(engine::EventEnd::set) == End::here; }

  /// For the runtime.
  explicit OutsideEvent(engine::UnsetEvent* unset) : unset_(unset) {}
  /// For the runtime: leaves the group, for which no task waits yet.
  void withdraw() noexcept { end(engine::EventEnd::withdrawn); }

 private:
  enum class End : std::uint8_t {
    here,      ///< by this call
    with_run,  ///< with its run, which has failed
    was_over,  ///< before, or there is none
  };
  End end(engine::EventEnd how) noexcept {
    engine::UnsetEvent* const unset = unset_.exchange(nullptr, std::memory_order_acq_rel);
    if (unset == nullptr) return End::was_over;
    return engine::end_event(unset, how) ? End::here : End::with_run;
  }

  std::atomic<engine::UnsetEvent*> unset_{nullptr};
};

}  // namespace rubato::inline v0

#endif
