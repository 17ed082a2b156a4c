// Runs functions in transactions.
// SPDX-License-Identifier: MIT
#include "transactions.hpp"

namespace containers {

void run_committed(Action action, void* argument) {
  __transaction_atomic { action(argument); }
}
void run_cancelled(Action action, void* argument) {
  __transaction_atomic {
    action(argument);
    __transaction_cancel;
  }
}
void run_nested(Action action, void* argument) {
  __transaction_atomic {
    __transaction_atomic {
      action(argument);
      __transaction_cancel;
    }
    action(argument);
  }
}

}  // namespace containers
