// async: a task whose result a thread outside waits for by a std::future. Host engines only. Not part of
// rubato.hpp: include it where it is used.
//
//   rubato::native::Hold open = rubato::native::hold();   // run() goes on in another thread
//   std::future<Answer> answer = rubato::async([=] { return compute(request); });
//   use(answer.get());
//
// The future is for threads outside: a task that waits keeps its worker. In a task, what needs the result is
// a task with .after, or the second function of a fork_join().
// SPDX-License-Identifier: MIT
#pragma once

#if !defined(__riscv)

#include <exception>
#include <future>
#include <type_traits>
#include <utility>

#include "rubato/task.hpp"

namespace rubato::inline v0 {

namespace engine {

/// The function of an async().
template <class F>
struct AsyncCall {
  using TaskName = name_type<F>;
  using Result = std::invoke_result_t<F&>;

  void operator()() {
    try {
      if constexpr (std::is_void_v<Result>) {
        function();
        promise.set_value();
      } else {
        promise.set_value(function());
      }
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }

  F function;
  std::promise<Result> promise;
};

}  // namespace engine

/// Creates a nonspec task that calls function(). @returns the future of its result, or of its exception,
/// which does not end the run. If the task is destroyed unrun or cancelled, the future throws
/// std::future_error (broken_promise). Without a run() the future never becomes ready.
template <class F>
std::future<std::invoke_result_t<F&>> async(F function, Annotations annotations = {}) {
  std::promise<std::invoke_result_t<F&>> promise;
  auto future = promise.get_future();
  rubato::create<TaskType::nonspec>(engine::AsyncCall<F>{std::move(function), std::move(promise)},
                                    annotations);
  return future;
}

/// The same for a task with a place: async(function, at_place(2)).
template <class F>
std::future<std::invoke_result_t<F&>> async(F function, PlacedAnnotations placed) {
  return rubato::async(std::move(function), placed.annotations());
}

}  // namespace rubato::inline v0

#endif
