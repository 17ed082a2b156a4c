// GuardedGroup: a TaskGroup that keeps the exceptions of its tasks and can be cancelled. Host engines only: a
// guest program has no exceptions. Tasks of other groups, or of none, do not pay for it.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__riscv)

namespace rubato::inline v0 {

namespace engine {
/// False, but only where something is instantiated.
template <class>
inline constexpr bool has_guarded_groups = false;
}  // namespace engine

/// Refused where a guest program uses it.
template <class T = void>
class GuardedGroup {
  static_assert(engine::has_guarded_groups<T>,
                "GuardedGroup is for host engines: a program of the chip has no exceptions; use TaskGroup");
};

}  // namespace rubato::inline v0

#else

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>

#include "rubato/errors.hpp"
#include "rubato/group.hpp"

namespace rubato::inline v0 {

/// Effect of an exception on the other tasks of its GuardedGroup.
enum class OnFailure : std::uint8_t {
  cancel,  ///< it cancels the group
  go_on,   ///< nothing: they run
};

namespace engine {

/// Name of a function or callable, see base/function_names.hpp.
std::string function_name(const void* address, const std::type_info& type);

/// A GuardedGroup, as engines and algorithms see it. Functions may be called by several threads at once.
class Guard {
 public:
  explicit Guard(OnFailure on_failure) : on_failure_(on_failure) {}

  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_acquire); }
  void cancel() { is_cancelled_.store(true, std::memory_order_release); }
  /// `error` left a member, whose function or callable `address` and `type` name.
  void add(const std::exception_ptr& error, const void* address, const std::type_info& type,
           std::optional<std::uint64_t> at) noexcept {
    if (failures_.fetch_add(1, std::memory_order_relaxed) == 0) {
      first_ = error;
      address_ = address;
      type_ = &type;
      at_ = at;
      has_first_.store(true, std::memory_order_release);
    }
    if (on_failure_ == OnFailure::cancel) cancel();
  }
  std::uint64_t failures() const { return failures_.load(std::memory_order_relaxed); }
  std::exception_ptr first() const {
    return has_first_.load(std::memory_order_acquire) ? first_ : std::exception_ptr();
  }
  std::string sentence() const {
    if (!has_first_.load(std::memory_order_acquire)) return {};
    const std::string name = function_name(address_, *type_);
    const errors::Task task{name, at_};
    const auto further = [this](std::string text) {
      return errors::and_further(std::move(text), failures() - 1);
    };
    try {
      std::rethrow_exception(first_);
    } catch (const TaskError& e) {
      return further(e.function().empty() ? errors::in_task(task, e.what()) : e.what());
    } catch (const std::exception& e) {
      return further(errors::task_threw(task, e.what()));
    } catch (...) {
      return further(errors::task_threw(task, "of an unknown type"));
    }
  }
  void reset() {
    is_cancelled_.store(false, std::memory_order_relaxed);
    has_first_.store(false, std::memory_order_relaxed);
    failures_.store(0, std::memory_order_relaxed);
    first_ = nullptr;
  }

 private:
  const OnFailure on_failure_;
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> has_first_{false};  // what follows is written
  std::exception_ptr first_;
  const void* address_ = nullptr;
  const std::type_info* type_ = nullptr;
  std::optional<std::uint64_t> at_;
  std::atomic<std::uint64_t> failures_{0};
};

/// The guard of the running task's group, or null. Each engine has it.
const Guard* running_guard();

}  // namespace engine

/// A TaskGroup whose failures are its own: an exception that leaves one of its tasks is kept here and does
/// not end the run. Its tasks can be cancelled: from then on no task of it starts. Running tasks go on, and
/// may ask is_cancelled(). A cancelled task leaves the group as one that has run, so that tasks with `.after`
/// of this group start in any case; they look here at how it went.
///   - Tasks that have a timestamp: all that are later than the task that cancels, or that fails, do not run.
///     Tasks that nothing orders may have run before. On the engine serial the seed chooses.
///   - Membership is not inherited. An algorithm whose then() has this group belongs to it with all its
///     parts.
///   - A broken rule of the task model in one of its tasks is an exception like others. Errors of the run
///     itself still end the run.
///
///   auto* request = new Request;  // has a GuardedGroup, `tasks`
///   create<nonspec>(serve, {.group = &request->tasks}, request);
///   create<nonspec>(answer, {.after = &request->tasks}, request);  // looks at request->tasks.exception()
class GuardedGroup : public TaskGroup {
 public:
  /// `on_failure`: whether the first exception cancels the other tasks.
  explicit GuardedGroup(OnFailure on_failure = OnFailure::cancel) : state_(on_failure) { guard_ = &state_; }
  /// The group is complete. Standard error says so if its exceptions were never looked at.
  ~GuardedGroup() {
    if (state_.failures() != 0 && !is_seen_.load(std::memory_order_relaxed)) say_unseen();
  }

  /// Cancels the group, from any thread and task. A member that has not started never runs.
  void cancel() { state_.cancel(); }
  /// cancel() was called, or a task has failed with OnFailure::cancel.
  bool is_cancelled() const { return state_.is_cancelled(); }
  /// How many of its tasks have ended with an exception.
  std::uint64_t failures() const { return see().failures(); }
  /// The first exception, as the task threw it; null: there is none.
  std::exception_ptr exception() const { return see().first(); }
  /// Throws it, if there is one.
  void rethrow_if_failed() const {
    if (const std::exception_ptr first = exception()) std::rethrow_exception(first);
  }
  /// The first exception in a sentence that names the task; empty: there is none.
  std::string error() const { return see().sentence(); }
  /// Makes the group new: neither cancelled nor failed. Errors: TaskError if the group is not complete.
  void reset() {
    if (!is_complete()) engine::misuse(errors::reset_of_incomplete_group());
    state_.reset();
    is_seen_.store(false, std::memory_order_relaxed);
  }

 private:
  const engine::Guard& see() const {
    is_seen_.store(true, std::memory_order_relaxed);
    return state_;
  }
  [[gnu::cold, gnu::noinline]] void say_unseen() const noexcept {
    try {
      std::fprintf(stderr, "rubato: a GuardedGroup ends whose exceptions were not looked at: %s\n",
                   state_.sentence().c_str());
    } catch (...) {  // no memory for the sentence
      std::fputs("rubato: a GuardedGroup ends whose exceptions were not looked at\n", stderr);
    }
  }

  engine::Guard state_;
  mutable std::atomic<bool> is_seen_{false};
};

/// Whether the running task's GuardedGroup is cancelled, so that its work is not needed any more. False for
/// tasks of other groups or of none.
inline bool is_cancelled() {
  const engine::Guard* const guard = engine::running_guard();
  return guard != nullptr && guard->is_cancelled();
}

}  // namespace rubato::inline v0

#endif
