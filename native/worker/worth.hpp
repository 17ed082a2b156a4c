// The worth of a worker's tasks: their length, and so the number that is worth waking another worker.
// R2. An estimate from the time between looks; decides nothing by itself (Sharing, OrderedPart).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/perturbation.hpp"
#include "native/clock.hpp"
#include "native/policy.hpp"
#include "native/worker/counts.hpp"
#include "native/worker/known_functions.hpp"

namespace rubato::inline v0::native {

class Worth {
 public:
  using Length = KnownFunctions::Length;

  /// Time until `now` does not count for this worker's tasks, of which so many have finished.
  void begin(std::uint64_t now, std::uint64_t finished) {
    clock_.set(now);
    finished_then_ = finished;
  }
  std::uint64_t since(std::uint64_t now) const { return now - clock_.get(); }
  /// The last begin() or measure(), in ticks; by any thread. While another worker is idle there is one
  /// between any two short tasks that are half a microsecond apart.
  std::uint64_t began() const { return clock_.get(); }
  /// Begins anew, and learns how long the tasks took that have run since, if none runs now. `has_cpu`: each
  /// worker has one. @returns whether they took so long that those that follow are taken for long ones.
  bool measure(std::uint64_t now, std::uint64_t finished, bool is_running, bool has_cpu) {
    const std::uint64_t elapsed = since(now);
    const std::uint64_t ran = finished - finished_then_;
    begin(now, finished);
    if (is_running || ran == 0) return false;
    // The shorter of the last two times: a worker that was preempted meanwhile has not run long tasks. But if
    // each worker has a CPU, a needless wake-up is better than a wait of that length.
    const std::uint64_t before = std::exchange(last_ticks_a_task_, elapsed / (ran + 1) + 1);
    const bool is_long = has_cpu && last_ticks_a_task_ >= ticks_of(policy::kSharedMicroseconds);
    ticks_a_task_ = is_long ? last_ticks_a_task_ : std::min(before, last_ticks_a_task_);
    const std::uint64_t took = has_cpu ? last_ticks_a_task_ : ticks_a_task_;
    functions_.took(took >= worth_ticks() ? Length::lengthy : Length::brief);
    update();
    return is_long;
  }
  /// The known length of the task that runs next.
  Length length_of(const engine::Task* next) {
    return next != nullptr ? functions_.look_up(*next) : Length::brief;
  }

  /// The tasks that are worth waking a worker have changed.
  void update() {
    tasks_ = std::min(threshold(policy::kDistributed, std::uint64_t{3}),
                      (worth_ticks() + ticks_a_task_ - 1) / ticks_a_task_);
  }
  /// As of the last update().
  std::uint64_t tasks() const { return tasks_; }
  std::uint64_t ticks_a_task() const { return ticks_a_task_; }
  bool is_task_worth_it() const { return ticks_a_task_ >= worth_ticks(); }
  bool is_unknown() const { return ticks_a_task_ == policy::kUnknownTicks; }

 private:
  Count clock_;  // of the last measure() or begin()
  std::uint64_t finished_then_ = 0;
  std::uint64_t ticks_a_task_ = policy::kUnknownTicks, last_ticks_a_task_ = policy::kUnknownTicks;
  std::uint64_t tasks_ = 0;
  KnownFunctions functions_;
};

}  // namespace rubato::inline v0::native
