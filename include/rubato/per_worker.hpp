// PerWorker: a value for each worker, as oneTBB's combinable, and the worker's number. On the serial engine
// there is one worker. Host engines only. Not part of rubato.hpp: include it where it is used.
//
//   rubato::PerWorker<std::vector<Hit>> hits;
//   rubato::parallel_for(0, n, [&](int i) { if (is_hit(i)) hits.local().push_back({i}); });
//   hits.for_each([&](std::vector<Hit>& some) { all.insert(all.end(), some.begin(), some.end()); });
//
// A task runs on one worker, and no other task runs there until it returns. A function of a fork_join() may
// run on another worker than its task: it asks for its own local().
// SPDX-License-Identifier: MIT
#pragma once

#if !defined(__riscv)

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "rubato/errors.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// The number of the calling worker, below workers() (native) or 0 (serial); nothing outside tasks.
inline std::optional<unsigned> worker_number() {
#if defined(RUBATO_ENGINE_NATIVE)
  const engine::ThreadState* const self = engine::current_thread;
  if (self == nullptr || !self->is_worker) return std::nullopt;
  return self->number;
#else
  if (!engine::is_in_task()) return std::nullopt;
  return 0;
#endif
}

/// A value of each worker that has asked for one, made when it first does.
template <class T>
class PerWorker {
 public:
  /// Each value is T().
  PerWorker() : PerWorker([] { return T(); }) {}
  /// `make` returns the first value of a worker; several workers call it at once.
  explicit PerWorker(std::function<T()> make)
      : count_(workers()), slots_(std::make_unique<Slot[]>(count_)), make_(std::move(make)) {}

  /// The calling worker's value. Errors: TaskError outside tasks, and if there are more workers than when
  /// this object was made.
  T& local() {
    const std::optional<unsigned> number = worker_number();
    if (!number || *number >= count_)
      throw TaskError(
          number ? "PerWorker::local() is called by a worker that was added after the object was made"
                 : "PerWorker::local() is called outside tasks: for_each() and combine() are for there");
    std::optional<T>& value = slots_[*number].value;
    if (!value) value.emplace(make_());
    return *value;
  }
  /// Calls function(value) for each value that there is. Not while tasks use them.
  template <class F>
  void for_each(F function) {
    for (std::size_t i = 0; i < count_; ++i)
      if (slots_[i].value) function(*slots_[i].value);
  }
  /// Combines all values by combine(left, right); if there is none, the result is as if one had been made.
  /// Not while tasks use them.
  template <class Combine>
  T combine(Combine combine) {
    std::optional<T> all;
    for_each([&](T& value) {
      if (all) {
        all.emplace(combine(std::move(*all), value));
      } else {
        all.emplace(value);
      }
    });
    return all ? std::move(*all) : make_();
  }
  /// No worker has a value any more. Not while tasks use them.
  void clear() {
    for (std::size_t i = 0; i < count_; ++i) slots_[i].value.reset();
  }

 private:
  struct alignas(64) Slot {
    std::optional<T> value;
  };
  static std::size_t workers() {
#if defined(RUBATO_ENGINE_NATIVE)
    return native::workers();
#else
    return 1;
#endif
  }

  std::size_t count_;
  std::unique_ptr<Slot[]> slots_;
  std::function<T()> make_;
};

}  // namespace rubato::inline v0

#endif
