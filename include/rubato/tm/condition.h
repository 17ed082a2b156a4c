/* Waiting in transactions: condition variables, and a lock that transactions may look at (T57, T59). In
   C and C++; for C++ there are classes in rubato/tm/condition.hpp and rubato/tm/semaphore.hpp. All fields are
   zero at first. */
/* SPDX-License-Identifier: MIT */
#ifndef RUBATO_TM_CONDITION_H
#define RUBATO_TM_CONDITION_H

#include "rubato/tm/library.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tm_waiter;
/** A condition variable. */
struct tm_condition {
  struct tm_waiter* first; /**< of those that wait, in the order in which they will be woken */
  struct tm_waiter* last;  /**< of them */
};

/** The last action of a transaction, which then commits; the thread sleeps behind its outermost block until
   it is notified. It has to look again at what it waits for: another may have come first. No notification
   after the commit is lost, and none wakes a thread that was not waiting. */
RUBATO_TM_SAFE void tm_condition_wait(struct tm_condition* c);
/** Wakes one waiter or all: they are chosen in the transaction, and woken after its commit. */
/**@{*/
RUBATO_TM_SAFE void tm_condition_notify_one(struct tm_condition* c);
RUBATO_TM_SAFE void tm_condition_notify_all(struct tm_condition* c);
/**@}*/

/** A lock. */
struct tm_mutex {
  int is_held;                 /**< 1 while a thread has it */
  struct tm_condition is_free; /**< notified when it is given back */
};

/** Between lock and unlock the holder may touch what the lock guards without transactions. A transaction that
   trylock lets in may do so, too, and unlocks. tm_lock is called outside of transactions, tm_trylock says 1
   if the lock is the caller's. */
/**@{*/
void tm_lock(struct tm_mutex* m);
RUBATO_TM_SAFE int tm_trylock(struct tm_mutex* m);
RUBATO_TM_SAFE void tm_unlock(struct tm_mutex* m);
/**@}*/

#ifdef __cplusplus
}
#endif
#endif
