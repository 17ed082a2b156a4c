// Condition variables and locks: transactions, compiled with -fgnu-tm (T57, T59). A waiter enters the
// list in its transaction, and sleeps by a commit action; a notifier takes it out in another transaction and
// posts by a commit action. So a waiter is in the list if and only if no notifier has chosen it, and each
// post is for one sleep.
// SPDX-License-Identifier: MIT
#include "rubato/tm/condition.h"

#include "tm/library/waiter.hpp"

using namespace rubato::tm::library;

void tm_condition_wait(tm_condition* c) {
  tm_waiter* const self = own_waiter();
  __transaction_atomic {
    self->next = nullptr;
    if (c->last == nullptr) {
      c->first = self;
    } else {
      c->last->next = self;
    }
    c->last = self;
    tm_on_commit(sleep_until_woken, self);
  }
}

void tm_condition_notify_one(tm_condition* c) {
  __transaction_atomic {
    tm_waiter* const waiter = c->first;
    if (waiter != nullptr) {
      c->first = waiter->next;
      if (c->first == nullptr) c->last = nullptr;
      tm_sem_post(&waiter->woken);
    }
  }
}

void tm_condition_notify_all(tm_condition* c) {
  __transaction_atomic {
    for (tm_waiter* waiter = c->first; waiter != nullptr; waiter = waiter->next) tm_sem_post(&waiter->woken);
    c->first = c->last = nullptr;
  }
}

int tm_trylock(tm_mutex* m) {
  int is_ours = 0;
  __transaction_atomic {
    is_ours = m->is_held == 0;
    if (is_ours) m->is_held = 1;
  }
  return is_ours;
}

void tm_lock(tm_mutex* m) {
  for (int is_ours = 0; !is_ours;) {
    __transaction_atomic {
      is_ours = tm_trylock(m);
      if (!is_ours) tm_condition_wait(&m->is_free);
    }
  }
}

void tm_unlock(tm_mutex* m) {
  __transaction_atomic {
    m->is_held = 0;
    tm_condition_notify_one(&m->is_free);
  }
}
