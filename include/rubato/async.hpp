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

/// Creates a nonspec task that calls function(). @returns the future of its result, or of its exception,
/// which does not end the run. If the task is destroyed unrun or cancelled, the future throws
/// std::future_error (broken_promise). Without a run() the future never becomes ready.
template <class F>
std::future<std::invoke_result_t<F&>> async(F function, Annotations annotations = {}) {
  using Result = std::invoke_result_t<F&>;
  std::promise<Result> promise;
  std::future<Result> future = promise.get_future();
  create<TaskType::nonspec>(
      [function = std::move(function), promise = std::move(promise)]() mutable {
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
      },
      annotations);
  return future;
}

}  // namespace rubato::inline v0

#endif
