// Times single tasks: for the trace, and to find long ones. R11 and R13. With a trace every task is
// timed, so that without one no task asks for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <typeinfo>

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
    is_left_out_ = false;
    span_.begin = ticks();
  }
  /// The timed task is a turn of the actor with this handle: the span has it in place of a timestamp, and, in
  /// place of the task's first word, the type of the message whose handler took longest.
  void begin_turn(const engine::TaskCode& code, std::uint64_t actor) {
    span_.code = &code;
    span_.timestamp = actor;
    span_.first_word = 0;
    longest_ = 0;
  }
  /// A handler of the turn took so many ticks.
  void note_handler(const std::type_info& message, std::uint64_t took) {
    if (took < longest_) return;
    longest_ = took;
    span_.first_word = reinterpret_cast<std::uint64_t>(&message);
  }
  /// @returns the task's span if it was a long one, else null.
  [[gnu::noinline]] const TraceSpan* end() {
    span_.end = ticks();
    if (lane_ == nullptr) {
      --left_;
    } else if (!is_left_out_) {
      lane_->add(span_);
    }
    if (is_left_out_ || span_.end - span_.begin < ticks_of(policy::kLongMicroseconds)) return nullptr;
    return &span_;
  }
  /// The task that is timed gets no span: it was not run, but put back, or is the engine's own.
  void leave_out() { is_left_out_ = true; }
  /// The tasks that follow are worth it.
  void restart() { left_ = std::max(left_, policy::kTimedTasks); }
  /// All tasks from now on, for practical purposes; or as many as follow a restart().
  void keep_on(bool keeps) { left_ = keeps ? ~0u : policy::kTimedTasks; }

  TraceLane* lane() const { return lane_; }

 private:
  TraceLane* const lane_;
  unsigned left_ = policy::kTimedTasks;  // with a trace never 0
  bool is_left_out_ = false;
  TraceSpan span_{};
  std::uint64_t longest_ = 0;  // handler of the turn, in ticks
};

}  // namespace rubato::inline v0::native
