// A tile's attempts that stopped at what only a non-speculative task may do (C18): they keep their place in
// the commit queue, and wait until they are the earliest active task and are promoted. And the tile's part
// in a promotion of any: no non-speculative task runs here when it is granted.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/task/dispatch_choice.hpp"
#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class StoppedAttempts {
 public:
  explicit StoppedAttempts(TileState& state) : state_(state) {}

  /// The attempt is over: its task will run again, and not speculatively.
  void end(Attempt* attempt, Cycle now);
  /// Ends attempts whose tasks need not be alone. `view`: called for each, see TileView.
  template <class View>
  void end_needless(View view, Cycle now) {
    while (Attempt* const attempt = find_needless(view)) {
      Task* const task = attempt->task;
      end(attempt, now);
      state_.queue.reinsert(task);
      state_.context.arbiter->arm(now);  // its virtual time may have been what the GVT waits for
    }
  }
  /// Asks for a promotion where one is the earliest active task.
  void request_promotions(Cycle now);

  // A promotion is being served.
  void stop() { state_.is_stopped = owes_quiet_ = true; }
  /// After every end of a non-speculative task: tells that none is left. @param has_suspended such tasks.
  void report_quiet(bool has_suspended, Cycle now);

 private:
  /// An attempt of a MAYSPEC task that by now runs as a NONSPEC one would (C11). The task need not be alone,
  /// nor wait for others of its timestamp. Those others may be waiting for it in system calls.
  template <class View>
  Attempt* find_needless(View view) const {
    Attempt* found = nullptr;
    state_.commit_queue.for_each_exceptioned([&](Attempt* attempt) {
      const Task* const task = attempt->task;
      if (task->descriptor.type == TaskType::mayspec && !attempt->is_rolling_back &&
          state_.context.rule->may_run(*task, view()) == RunMode::non_speculative &&
          !state_.context.promotion->is_requested(task))
        found = attempt;
    });
    return found;
  }

  TileState& state_;
  bool owes_quiet_ = false;  // the arbiter's tile waits for this one
};

}  // namespace rubato::chip
