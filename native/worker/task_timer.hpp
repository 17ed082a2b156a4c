// Times single tasks: for the trace, and to find long ones. R11 and R13. With a trace every task is
// timed, so that without one no task asks for it.
// SPDX-License-Identifier: MIT
#pragma once

#include "native/policy.hpp"
#include "native/trace/trace_lane.hpp"

namespace rubato::inline v0::native {

class TaskTimer {
 public:
  /// `lane`: null without a trace.
  explicit TaskTimer(TraceLane* lane) : lane_(lane) {}

  /// Whether tasks are timed. Changes between tasks only.
  bool is_on() const { return left_ != 0; }
  [[gnu::noinline]] void begin(const engine::Task& task) {
    span_ = {0, 0, task.code, task.words[0], task.handle, 0, TraceSpan::Kind::task};
    if (task.is_timestamped()) span_.timestamp = engine::timestamp_of(&task);
    is_put_off_ = false;
    span_.begin = ticks();
  }
  /// @returns the task's span if it was a long one, else null.
  [[gnu::noinline]] const TraceSpan* end() {
    span_.end = ticks();
    if (lane_ == nullptr) {
      --left_;
    } else if (!is_put_off_) {
      lane_->add(span_);
    }
    if (is_put_off_ || span_.end - span_.begin < ticks_of(policy::kLongMicroseconds)) return nullptr;
    return &span_;
  }
  /// The task that is timed was not run, but put back.
  void put_off() { is_put_off_ = true; }
  /// The tasks that follow are worth it.
  void restart() { left_ = policy::kTimedTasks; }

  TraceLane* lane() const { return lane_; }

 private:
  TraceLane* const lane_;
  unsigned left_ = policy::kTimedTasks;  // with a trace never 0
  bool is_put_off_ = false;
  TraceSpan span_{};
};

}  // namespace rubato::inline v0::native
