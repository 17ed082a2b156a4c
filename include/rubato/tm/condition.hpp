// A condition variable for transactions (T57):
//   for (bool is_done = false; !is_done;) {
//     __transaction_atomic {
//       if (queue.empty()) condition.wait(); else { item = queue.pop(); is_done = true; }
//     }
//   }
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/tm/condition.h"

namespace rubato::tm {

/// Condition variable for transactions: tm_condition, for C++.
class condition {
 public:
  condition() = default;
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;

  /// The last action of a transaction: the thread sleeps when it has committed, and looks again then.
  RUBATO_TM_SAFE void wait() { tm_condition_wait(&state_); }
  /// Wakes the one that waits longest, after the commit.
  RUBATO_TM_SAFE void notify_one() { tm_condition_notify_one(&state_); }
  /// Wakes all, after the commit.
  RUBATO_TM_SAFE void notify_all() { tm_condition_notify_all(&state_); }

 private:
  tm_condition state_ = {nullptr, nullptr};
};

}  // namespace rubato::tm
