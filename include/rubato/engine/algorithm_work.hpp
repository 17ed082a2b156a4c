// What the algorithms of rubato/algorithms.hpp have in common: their work, with the group of their tasks, and
// how it is run to its end outside tasks or before a continuation in one. Knows nothing of what they do.
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

/// What comes after an algorithm that a task calls. See then().
template <class F>
struct Then {
  F function;        ///< is called with the result
  TaskGroup* group;  ///< that it belongs to; may be null
};
/// `function` gets the algorithm's result, if it has one, and belongs to `group`, if it is not null.
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
  explicit PartFailures(bool) {}
  template <class Part>
  void attempt(Part part) {
    part();
  }
  template <class Name>
  void rethrow() const {}
};
#else
/// See base/function_names.hpp.
std::string function_name(const void* address, const std::type_info& type);

/// A TaskError of the task that `name` names, with `first` nested in it.
[[noreturn, gnu::cold, gnu::noinline]] inline void throw_part_failure(const std::exception_ptr& first,
                                                                      std::uint64_t further,
                                                                      const std::type_info& name) {
  const std::string function = function_name(nullptr, name);
  const errors::Task task{function, std::nullopt};
  const auto wrap = [&](const std::string& sentence) {
    std::throw_with_nested(TaskError(errors::and_further(sentence, further), function, std::nullopt));
  };
  try {
    std::rethrow_exception(first);
  } catch (const TaskError& e) {
    if (e.function().empty()) wrap(errors::in_task(task, e.what()));
    if (further == 0) throw;  // it names its task
    wrap(e.what());
  } catch (const std::exception& e) {
    wrap(errors::task_threw(task, e.what()));
  } catch (...) {
    wrap(errors::task_threw(task, "of an unknown type"));
  }
  std::terminate();  // not reached
}

/// Exceptions of an algorithm's parts. If it was called outside tasks they are its caller's, and end nothing
/// else; in a task they end the run like all others.
class PartFailures {
 public:
  explicit PartFailures(bool contains) : contains_(contains) {}
  /// Not called if another part has failed.
  template <class Part>
  void attempt(Part part) {
    if (!contains_) return part();
    if (count_.load(std::memory_order_relaxed) != 0) return;
    try {
      part();
    } catch (...) {
      if (count_.fetch_add(1, std::memory_order_relaxed) == 0) first_ = std::current_exception();
    }
  }
  /// When all parts are done.
  template <class Name>
  void rethrow() const {
    const std::uint64_t count = count_.load(std::memory_order_relaxed);
    if (count != 0) throw_part_failure(first_, count - 1, typeid(Name));
  }

 private:
  const bool contains_;
  std::atomic<std::uint64_t> count_{0};
  std::exception_ptr first_;
};
#endif

/// An algorithm at work: where its tasks find it, and the group to which they belong. `Algorithm` has
/// start(Work&), which creates the first task, or none, and finish(), whose result is the algorithm's.
template <class Algorithm>
struct Work {
  using TaskName = typename Algorithm::TaskName;

  /// `contains`: exceptions are kept for the caller.
  template <class... Args>
  explicit Work(bool contains, Args&&... args) : failures(contains), algorithm(std::forward<Args>(args)...) {
    if (is_timestamped()) at = engine::timestamp();
  }
  Annotations annotations() { return {.at = at, .group = &group}; }

  TaskGroup group;
  std::optional<Timestamp> at;
  PartFailures failures;
  Algorithm algorithm;
};

#if !defined(RUBATO_ENGINE_NATIVE)
/// Outside tasks: `start` creates one task or none, a member of the group; returns when the group is
/// complete.
inline void run_group(TaskGroup&, void (*start)(void*), void* work) {
  start(work);
  rubato::run();
}
#endif

/// Outside tasks.
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
  explicit Continuation(Function then, Args&&... args)
      : work(false, std::forward<Args>(args)...), function(std::move(then)) {}
  void run() {
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
  auto whole = std::make_unique<Whole>(std::move(then.function), std::move(algorithm));
  Work<Algorithm>& work = whole->work;
  const Annotations annotations{.at = work.at, .group = then.group, .after = &work.group};
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
