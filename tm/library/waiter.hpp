// A thread that waits at a condition variable; it waits at one at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/tm/library.h"

/// `next` is read and written in transactions.
struct tm_waiter {
  tm_waiter* next;
  sem_t woken;
};

namespace rubato::tm::library {

/// The calling thread's.
RUBATO_TM_PURE tm_waiter* own_waiter();
/// A commit action.
void sleep_until_woken(void* waiter);

}  // namespace rubato::tm::library
