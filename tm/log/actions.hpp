// Actions of the program at commit, or when its transaction is undone (T24).
// SPDX-License-Identifier: MIT
#pragma once

#include "tm/log/buffer.hpp"

namespace rubato::tm {

struct Action {
  void (*function)(void*);
  void* argument;
};

/// A list of its own while its actions run: they may run transactions that register more.
class RunningActions {
 public:
  explicit RunningActions(Buffer<Action>& actions) : actions_(actions.take()) {}
  RunningActions(const RunningActions&) = delete;
  RunningActions& operator=(const RunningActions&) = delete;
  ~RunningActions() { actions_.release(); }

  void run_in_order() {
    for (const Action& action : actions_) action.function(action.argument);
  }
  void run_in_reverse() {
    while (!actions_.empty()) {
      const Action action = actions_.back();
      actions_.pop();
      action.function(action.argument);
    }
  }

 private:
  Buffer<Action> actions_;
};

}  // namespace rubato::tm
