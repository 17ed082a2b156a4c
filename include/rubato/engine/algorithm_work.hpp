// Common part of the algorithms of rubato/algorithms.hpp: their work, with the group of their tasks, and how
// it is run to its end outside tasks or before a continuation in one. Independent of their bodies.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "rubato/errors.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// Continuation of an algorithm that a task calls. See then().
template <class F>
struct Then {
  F function;        ///< is called with the result
  TaskGroup* group;  ///< that it belongs to; may be null
};
/// `function` gets the algorithm's result, if it has one, and belongs to `group`, if it is not null. If that
/// is a GuardedGroup the whole algorithm does: it keeps the exceptions of all parts, and cancels them.
template <class F>
Then<F> then(F function, TaskGroup* group = nullptr) {
  return {std::move(function), group};
}

namespace engine {

/// The names of algorithms' tasks in errors, traces and lists: "parallel_for(main::{lambda(int)#1})".
/// function_name() knows this namespace, and name_type (task_type.hpp) the member `TaskName`.
namespace task_names {
template <class Body>
struct parallel_for {};
template <class Body>
struct parallel_for_each {};
template <class Body>
struct parallel_reduce {};
template <class Body>
struct parallel_scan {};
template <class... Functions>
struct parallel_invoke {};
template <class Iterator, class Less>
struct parallel_sort {};
template <class Function>
struct then {};
}  // namespace task_names

#if defined(__riscv)
/// A guest program has no exceptions.
class PartFailures {
 public:
  PartFailures(bool, TaskGroup&) {}
  PartFailures(const TaskGroup*, TaskGroup&) {}
  template <class Part>
  void attempt(Part part) {
    part();
  }
  bool have_come() const { return false; }
  template <class Name>
  void rethrow() const {}
};
#else
/// A broken rule, which knows of no task yet: the one that `name` names.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_named(const TaskError& error,
                                                               const std::type_info& name) {
  const std::string function = function_name(nullptr, name);
  throw TaskError(errors::in_task({function, std::nullopt}, error.what()), function, std::nullopt);
}

/// Exceptions of an algorithm's parts. They are kept for the caller of an algorithm outside tasks. Exceptions
/// of an algorithm in a task are like those of all tasks: they are the GuardedGroup's of its then(), or end
/// the run.
class PartFailures {
 public:
  /// `parts`: their group, which has none yet.
  PartFailures(bool keeps, TaskGroup&) : keeps_(keeps) {}
  /// `group`: of the algorithm's then(), may be null.
  PartFailures(const TaskGroup* group, TaskGroup& parts) : guard_(GroupState::guard(group)) {
    GroupState::set_guard(parts, guard_);
  }
  /// Not called if another part has failed, or the guard is cancelled.
  template <class Part>
  void attempt(Part part) {
    if (!keeps_ && guard_ == nullptr) return part();
    if (have_come() || (guard_ != nullptr && guard_->is_cancelled())) return;
    try {
      part();
    } catch (...) {
      if (count_.fetch_add(1, std::memory_order_relaxed) == 0 && keeps_) first_ = std::current_exception();
      if (!keeps_) throw;
    }
  }
  bool have_come() const { return count_.load(std::memory_order_relaxed) != 0; }
  /// Throws the exception of the first part that failed, if exceptions are kept. All parts are done.
  template <class Name>
  void rethrow() const {
    if (!have_come()) return;
    try {
      std::rethrow_exception(first_);
    } catch (const TaskError& e) {
      if (!e.function().empty()) throw;
      throw_named(e, typeid(Name));
    }
  }

 private:
  Guard* const guard_ = nullptr;
  const bool keeps_ = false;
  std::atomic<std::uint64_t> count_{0};
  std::exception_ptr first_;
};
#endif

/// An algorithm at work: where its tasks find it, and the group to which they belong. `Algorithm` has
/// start(Work&), which creates the first task, or none, and finish(), whose result is the algorithm's.
template <class Algorithm>
struct Work {
  using TaskName = typename Algorithm::TaskName;

  /// `keeper`: of exceptions, see PartFailures.
  template <class Keeper, class... Args>
  explicit Work(Keeper keeper, Args&&... args)
      : failures(keeper, group), algorithm(std::forward<Args>(args)...) {
    if (is_timestamped()) at = engine::timestamp();
  }
  Annotations annotations() { return {.at = at, .group = &group}; }

  TaskGroup group;
#if defined(RUBATO_ENGINE_NATIVE)
  std::atomic<bool> is_brief{false};  ///< all parts together are not worth another worker: see SplitParts
#endif
  std::optional<Timestamp> at;
  PartFailures failures;
  Algorithm algorithm;
};

#if defined(RUBATO_ENGINE_CHIP)
/// Runs the tasks of an algorithm outside tasks: `start` creates one task or none, a member of the group;
/// returns when the group is complete.
inline void run_group(TaskGroup&, void (*start)(void*), void* work) {
  start(work);
  rubato::run();
}
#endif

/// Runs an algorithm outside tasks.
template <class Algorithm>
auto run_to_end(Algorithm algorithm) {
  if (is_in_task()) misuse(errors::algorithm_in_task(Algorithm::kName));
  using ThisWork = Work<Algorithm>;
  ThisWork work(true, std::move(algorithm));
  run_group(
      work.group,
      [](void* w) {
        auto& started = *static_cast<ThisWork*>(w);
        started.algorithm.start(started);
      },
      &work);
  work.failures.template rethrow<typename ThisWork::TaskName>();
  return work.algorithm.finish();
}

/// The task after an algorithm. On hosts it owns the work: if it never runs, for a failure, that goes with
/// it.
template <class Work, class Function>
struct Continuation {
  template <class... Args>
  explicit Continuation(Then<Function> then, Args&&... args)
      : work(static_cast<const TaskGroup*>(then.group), std::forward<Args>(args)...),
        function(std::move(then.function)) {}
  void run() {
    if (work.failures.have_come()) return;  // the guard's, which may let others go on
    if constexpr (std::is_void_v<decltype(work.algorithm.finish())>) {
      work.algorithm.finish();
      function();
    } else {
      function(work.algorithm.finish());
    }
  }

  Work work;
  Function function;
};

template <class Whole, class Function>
struct RunContinuation {
  using TaskName = task_names::then<Function>;
  void operator()() const { owned->run(); }
  std::unique_ptr<Whole> owned;
};

template <class Algorithm, class Function>
void run_before(Algorithm algorithm, Then<Function> then) {
  using Whole = Continuation<Work<Algorithm>, Function>;
  TaskGroup* const group = then.group;
  auto whole = std::make_unique<Whole>(std::move(then), std::move(algorithm));
  Work<Algorithm>& work = whole->work;
  const Annotations annotations{.at = work.at, .group = group, .after = &work.group};
  work.algorithm.start(work);
#if defined(__riscv)
  rubato::create<TaskType::nonspec>(
      [](Whole* w) {
        w->run();
        delete w;
      },
      annotations, whole.release());
#else
  rubato::create<TaskType::nonspec>(RunContinuation<Whole, Function>{std::move(whole)}, annotations);
#endif
}

}  // namespace engine
}  // namespace rubato::inline v0
