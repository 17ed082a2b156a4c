// Bugs that a test puts into the engine on purpose, to show that the tests find them. The engine is built
// once more for that (tests/differential, faulty-native), where RUBATO_FAULT names one of them; in all other
// builds nothing of it is left.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/faults.hpp"

namespace rubato::inline v0::native {

// clang-format off
#define RUBATO_NATIVE_FAULTS(X) \
  /* synchronization */ \
  X(even_while_writing)    /* the version of a resource does not say that a writer is at work */ \
  X(unvalidated_reads)     /* an optimistic reader always wins */ \
  X(open_latch)            /* the latch lets every task in */ \
  X(readers_pass_writer)   /* the reader/writer latch lets readers in while a writer holds it */ \
  X(children_of_losers)    /* what an optimistic reader created before it lost stays */ \
  /* pools */ \
  X(pool_claimed_twice)    /* a worker that saw a ready pool takes it, also if another was faster */ \
  X(pool_let_go_early)     /* a pool is ready again before the tasks taken from it have ended */ \
  /* reclamation */ \
  X(freed_at_once)         /* a removed object is destroyed by remove() */ \
  X(no_birth_epochs)       /* pending tasks hold nothing back */ \
  X(no_local_epochs)       /* running tasks hold nothing back */ \
  /* sleep and end */ \
  X(no_recheck)            /* a worker that announced that it is idle does not look for work again */ \
  X(wakes_without_epoch)   /* a worker about to sleep does not notice that it is woken */ \
  X(ends_when_idle)        /* run() returns when one worker is idle, whatever is left */ \
  /* threads outside */ \
  X(silent_arrival)        /* a task from outside wakes no worker */ \
  X(inbox_forgotten)       /* run() returns although a task came before the last hold was closed */ \
  X(inbox_loses_last)      /* the last task that is taken in is forgotten */ \
  /* order, groups, tasks that run alone */ \
  X(early_timestamp)       /* a timestamp begins while a task of the one before runs */ \
  X(company_for_spec)      /* a spec task does not wait until it is alone */ \
  X(group_ignored)         /* a task does not wait for its group */ \
  X(group_not_released)    /* the end of a group releases no task */ \
  /* actors */ \
  X(actor_two_turns)       /* every message makes a turn */ \
  X(actor_half_linked)     /* an actor whose next message is half-linked is taken for idle */ \
  X(actor_last_freed)      /* the last message of the queue is freed though the next push links to it */ \
  X(actor_any_generation)  /* a handle reaches whatever actor has the cell */ \
  X(actor_cell_at_once)    /* the cell of a stopped actor is free before its last turn has ended */ \
  X(actor_reached_unseen)  /* a cell is used again though a thread outside is about to push to it */ \
  X(actor_without_budget)  /* a turn goes on while there are messages */ \
  X(actor_muted_for_ever)  /* an actor that finds room waits all the same */ \
  X(actor_stop_ignored)    /* an actor that was stopped goes on */ \
  X(actor_timer_unnoticed) /* the timers' thread is not woken for an earlier timer */
// clang-format on
RUBATO_DEFINE_FAULTS(Fault, kFaultNames, RUBATO_NATIVE_FAULTS)

#if defined(RUBATO_FAULTY)
bool has_fault(Fault fault);
#else
constexpr bool has_fault(Fault) { return false; }
#endif

}  // namespace rubato::inline v0::native
