// Errors that programs can make with the task model, and the one sentence that every engine says about each.
// Serial and native throw it as a TaskError. The simulator prints it and ends the run with exit code 3 (4 if
// no task can run). M1 to M6 and section "Errors" of the task model.
// SPDX-License-Identifier: MIT
#pragma once

#if __cplusplus < 202002L
#error "Rubato needs C++20: compile with -std=c++20 or a later one"
#endif

#if !defined(__riscv) && (!defined(__cpp_exceptions) || !defined(__cpp_rtti))
#error \
    "Rubato's host engines need C++ exceptions and run-time type information: leave -fno-exceptions and -fno-rtti out"
#endif

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#if defined(__riscv)
#include "rubato/engine/chip_instructions.hpp"

/// Ends the program after an error of its own. The simulator knows this function by its name: it ends the run
/// with `sentence`, in which it puts names for the addresses of functions.
extern "C" [[noreturn, gnu::cold, gnu::noinline]] inline void rubato_misuse(const char* sentence) {
  register const char* a0 asm("a0") = sentence;
  asm volatile("ebreak" : : "r"(a0) : "memory");
  __builtin_unreachable();
}
#endif

namespace rubato::inline v0 {

/// A rule of the task model was broken, or a task ended with an exception (then nested in this one). Visible,
/// so that a program compiled with hidden visibility catches what the shared library throws.
class [[gnu::visibility("default")]] TaskError : public std::runtime_error {
 public:
  /// Error outside tasks.
  explicit TaskError(const std::string& sentence) : std::runtime_error(sentence) {}
  /// Error inside a task.
  TaskError(const std::string& sentence, std::string function, std::optional<std::uint64_t> timestamp)
      : std::runtime_error(sentence), function_(std::move(function)), timestamp_(timestamp) {}

  /// The task at fault; empty if the error happened outside tasks.
  const std::string& function() const { return function_; }
  /// The task's timestamp, if it has one.
  std::optional<std::uint64_t> timestamp() const { return timestamp_; }

 private:
  std::string function_;
  std::optional<std::uint64_t> timestamp_;
};

#if !defined(__riscv)
/// Throws the exception that a task threw, which the TaskError of run() has nested in it; the TaskError
/// itself if there is none. Algorithms throw what their bodies throw.
///
///   try {
///     run();
///   } catch (const TaskError& error) {
///     rethrow_original(error);
///   }
[[noreturn]] inline void rethrow_original(const TaskError& error) {
  const auto* const outer = dynamic_cast<const std::nested_exception*>(&error);
  if (outer != nullptr && outer->nested_ptr() != nullptr) {
    try {
      outer->rethrow_nested();
    } catch (const TaskError& inner) {
      rethrow_original(inner);
    }
  }
  throw error;
}
#endif

/// The sentences. `function` is a name for a person ("visit(Vertex*)"); on the chip an address, which the
/// simulator's report turns into one.
namespace errors {

struct Task {
  std::string_view function;
  std::optional<std::uint64_t> timestamp;
};

inline std::string when(std::optional<std::uint64_t> timestamp) {
  return timestamp ? "at timestamp " + std::to_string(*timestamp) : std::string("without a timestamp");
}

/// "task visit(Vertex*) at timestamp 7".
inline std::string describe(const Task& task) {
  return "task " + std::string(task.function) + " " + when(task.timestamp);
}

/// M2: a creator's timestamp bounds its children's from below.
inline std::string earlier_timestamp(const Task& creator, const Task& child) {
  return describe(creator) + " creates " + describe(child) +
         ": a child's timestamp must not be earlier than its creator's";
}

/// M2: an untimestamped task creates no timestamped one.
inline std::string timestamp_from_untimestamped(const Task& creator, const Task& child) {
  return describe(creator) + " creates " + describe(child) +
         ": only a task with a timestamp may create tasks with timestamps";
}

/// M3: run() inside a task.
inline std::string nested_run(const Task& task) {
  return describe(task) +
         " calls run(), which only code outside tasks may do: to go on after other tasks, put them into a "
         "TaskGroup (.group) and create the task that follows with .after";
}

/// M3: an algorithm without a continuation inside a task.
inline std::string algorithm_in_task(std::string_view algorithm) {
  return std::string(algorithm) +
         " calls run(), which only code outside tasks may do: in a task give it what comes afterwards as its "
         "last argument, then(...)";
}

/// By the thread that runs tasks, outside every task: a run cannot wait for itself.
inline std::string run_in_destructor() {
  return "run() or an algorithm is called by the destructor of a removed resource, or of a task that never "
         "ran, and the run that destroys it has not ended: call it after that run()";
}

/// On an actor's own thread: it would wait for a run, and the end of this one waits for its handler; or for a
/// worker, which waits for the end of the thread.
inline std::string beyond_the_run(const std::string& what) {
  return what +
         " is called on an actor's own thread, and its run or its actor, which has ended, waits for that "
         "thread: let the handler return, and call it in a handler of the next run";
}

/// An algorithm that had joined another thread's run().
inline std::string joined_run_failed() {
  return "the run() that this algorithm had joined ended with an exception of another task before all of the "
         "algorithm's tasks had run";
}

/// run() while another thread's run() goes on.
inline std::string concurrent_run() {
  return "run() is called while another thread's run() goes on: call it from one thread at a time; others "
         "may create tasks meanwhile if a native::hold() is open";
}

inline std::string task_threw(const Task& task, std::string_view what) {
  return describe(task) + " ended with an exception: " + std::string(what);
}

/// The sentence of the first exception, if others followed.
inline std::string and_further(std::string sentence, std::uint64_t further) {
  if (further == 0) return sentence;
  return std::move(sentence) + " (and " + std::to_string(further) +
         (further == 1 ? " further exception)" : " further exceptions)");
}

/// A rule about one call, broken inside a task.
inline std::string in_task(const Task& task, std::string_view sentence) {
  return describe(task) + ": " + std::string(sentence);
}

/// Another thread than the one that calls run().
inline std::string foreign_thread(std::string_view function) {
  return "task " + std::string(function) +
         " is created by another thread than the one that calls run(): create tasks before run() or inside "
         "tasks";
}

/// For the destructor of a removed resource, or of the arguments of a task that never ran: both have no place
/// in the order.
inline std::string timestamp_from_destructor(std::string_view function) {
  return "task " + std::string(function) +
         " has a timestamp and is created by a destructor, outside every task: create it in a task";
}

inline std::string negative(std::string_view what, long long value) {
  return "a " + std::string(what) + " must not be negative, but " + std::to_string(value) + " was given";
}

/// `after` waits for a group that cannot complete, because its tasks wait in turn.
inline std::string blocked_groups(std::uint64_t tasks, const Task& first) {
  return "no task can run: " + std::to_string(tasks) +
         (tasks == 1 ? " task waits for a TaskGroup that" : " tasks wait for TaskGroups that") +
         " cannot complete, the first is " + describe(first);
}

inline std::string reset_of_incomplete_group() {
  return "reset() is called for a GuardedGroup with unfinished tasks: call it when is_complete()";
}

inline std::string drop_in_run() {
  return "drop_pending() is called in a task or while a run goes on: call it outside tasks, between two runs";
}

inline std::string configured_in_run() {
  return "configure() is called in a task or while a run goes on: call it outside tasks, between two runs";
}
inline std::string configured_beside_tasks() {
  return "configure() is called while there are tasks: call it before the first create(), or after run()";
}
inline std::string configured_beside_hold() {
  return "configure() is called while a native::hold() is open or a timer of an actor is pending, which may "
         "create tasks meanwhile: close the hold or stop the actor before, and open the hold afterwards";
}
inline std::string configured_beside_event() {
  return "configure() is called while an OutsideEvent is not set, or a delayed task waits for its time: call "
         "configure() before they are made, or after run()";
}

/// A loop whose step is below 1.
inline std::string step_not_positive(long long step) {
  return "parallel_for() is called with step " + std::to_string(step) +
         ", but its steps go up: pass 1 or more";
}

inline std::string no_memory() { return "the system has no memory left for tasks"; }

/// Too few threads for a run.
inline std::string no_thread(unsigned started, unsigned workers, std::string_view why) {
  return "only " + std::to_string(started) + " of " + std::to_string(workers) +
         " worker threads could be started (" + std::string(why) +
         "): ask for fewer workers, or raise the limit of processes or memory";
}

/// Two tasks touch one address, one of them writes, and nothing orders them or keeps them apart.
inline std::string tie(const Task& first, bool first_writes, const Task& second, bool second_writes,
                       std::uint64_t address) {
  const char* const what = first_writes && second_writes ? "both write"
                           : first_writes                ? "the first writes and the second reads"
                                                         : "the first reads and the second writes";
  char hexadecimal[24];
  std::snprintf(hexadecimal, sizeof hexadecimal, "%#llx", static_cast<unsigned long long>(address));
  return describe(first) + " and " + describe(second) + " are not ordered, and " + what + " address " +
         hexadecimal +
         ": the result depends on which runs first. Give them different timestamps, or one locale, or make "
         "both spec";
}

/// M3, of OutsideEvents.
inline std::string event_set_twice() {
  return "set() is called for an OutsideEvent that is set already, or was moved elsewhere: set each once, or "
         "call try_set() where several threads may";
}
inline std::string event_abandoned(const char* file, unsigned line) {
  return "the OutsideEvent made at " + std::string(file) + ":" + std::to_string(line) +
         " was destroyed before set(), so that nothing ends the wait for its TaskGroup: keep it until it is "
         "set";
}
inline std::string event_in_reader() {
  return "an OutsideEvent or a delayed task is made in a task that only reads a resource, and that may run "
         "twice: make it by on_commit(), or in a task that writes";
}
/// Rules of create_later().
inline std::string later_and_after() {
  return "create_later() is called with .after: a delayed task waits for its time only; let it create the "
         "task that waits for a group";
}
inline std::string never_later() {
  return "create_later() is called with a time that never comes: run() would not end";
}
inline std::string limit_of_none() {
  return "at_most() is called with 0 workers: an algorithm needs 1 or more";
}
inline std::string later_on_stopped_clock() {
  return "create_later() is called while a manual_clock stops the time: its task could never run";
}

inline std::string removed_nothing() { return "remove() was called with an empty resource handle"; }
inline std::string removed_twice() { return "remove() was called twice for one resource"; }

}  // namespace errors

namespace engine {

#if defined(__riscv)
/// The running task's function: its address, for the simulator to name.
inline std::string running_function() {
  char text[24];
  std::snprintf(text, sizeof(text), "%#lx", instruction::read<instruction::kFunction>());
  return text;
}
inline std::optional<std::uint64_t> running_timestamp() {
  if (instruction::read<instruction::kIsTimestamped>() == 0) return std::nullopt;
  return instruction::read<instruction::kTimestamp>();
}

/// A broken rule, of the running task if there is one.
[[noreturn, gnu::noinline]] inline void misuse(const std::string& sentence) {
  if (instruction::read<instruction::kIsTask>() == 0) rubato_misuse(sentence.c_str());
  rubato_misuse(errors::in_task({running_function(), running_timestamp()}, sentence).c_str());
}
#else
/// A broken rule; the engine adds the task if one ends with it.
[[noreturn]] inline void misuse(const std::string& sentence) { throw TaskError(sentence); }
#endif

/// Out of line: the check before it stays two instructions.
[[noreturn, gnu::cold, gnu::noinline]] inline void reject_negative(const char* what, long long value) {
  misuse(errors::negative(what, value));
}

}  // namespace engine
}  // namespace rubato::inline v0
