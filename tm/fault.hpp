// Bugs that a test puts into the library on purpose, to show that the tests find them (T53). The library
// is built once more for that, where RUBATO_TM_FAULT names one of them; in all other builds nothing of it is
// left.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/faults.hpp"

namespace rubato::tm {

// clang-format off
#define RUBATO_TM_FAULTS(X) \
  X(gate_not_rechecked)      /* begin does not look whether the gate was closed meanwhile */ \
  X(no_second_look)          /* a load does not look at the record again */ \
  X(no_incarnation)          /* an undone write leaves the version as it was */ \
  X(no_commit_validation)    /* an update commits whatever has happened to its reads */ \
  X(extends_blindly)         /* a newer version moves the snapshot without a look at the reads */ \
  X(undo_in_order)           /* old values are restored first to last */ \
  X(no_undo)                 /* a rollback restores nothing */ \
  X(unlogged_after_write)    /* a store after a write is not logged under a savepoint */ \
  X(unlogged_read_for_write) /* a load for writing keeps no old value */ \
  X(savepoint_keeps_actions) /* the actions of a cancelled nested transaction stay */ \
  X(savepoint_keeps_frees)   /* what a cancelled nested transaction freed is freed */ \
  X(frees_at_once)           /* free in a transaction frees */ \
  X(quiescence_skipped)      /* an update waits for no other thread */ \
  X(irrevocable_not_alone)   /* an irrevocable transaction does not wait until the others are out */ \
  X(unlocks_before_undo)     /* records are released before memory is restored */ \
  X(savepoint_keeps_stores)  /* stores of a cancelled nested transaction stay in the write set */ \
  X(regime_changed_unclosed) /* the algorithm changes while transactions are under way */ \
  X(elision_not_subscribed)  /* a hardware transaction does not look whether it is let in */ \
  X(regime_not_rechecked)    /* begin does not look whether the algorithm has changed meanwhile */ \
  X(bias_not_revoked)        /* the gate stays biased when a second thread registers */ \
  X(clock_moved_late)        /* the deferred clock moves after the look at the reads */ \
  X(frees_past_limbo)        /* a transaction that does not quiesce frees at once */ \
  X(bias_not_waited_for)     /* a second thread does not wait until the first one is outside */ \
  X(era_begun_unclosed)      /* commit times begin again while transactions are under way */ \
  X(watch_not_rechecked)     /* a thread sleeps for a condition without a last look at its reads */ \
  X(own_stack_kept)          /* stores to the own stack are kept until commit */ \
  X(hardware_unseen)         /* a hardware transaction does not tell the software ones that it wrote */ \
  X(handlers_not_restored)   /* a rollback leaves the caught exceptions as they are */ \
  X(exception_ends_early)    /* the last handler of an exception that can be undone gives its memory back */ \
  X(adapts_unlocked)         /* two threads choose the algorithm at the same time */ \
  X(exception_logged)        /* reads of the transaction's own exceptions are compared at validations */
// clang-format on
RUBATO_DEFINE_FAULTS(Fault, kFaultNames, RUBATO_TM_FAULTS)

#if defined(RUBATO_TM_FAULTY)
bool has_fault(Fault fault);
/// The last commit time, or so many after the first as RUBATO_TM_TIMES says.
std::uint64_t end_of_era(std::uint64_t first, std::uint64_t last);
/// Now and then lets other threads run, unless RUBATO_TM_YIELDS is set: some faults show only if another
/// thread comes in between.
void let_others_in();
#else
constexpr bool has_fault(Fault) { return false; }
constexpr std::uint64_t end_of_era(std::uint64_t, std::uint64_t last) { return last; }
inline void let_others_in() {}
#endif

}  // namespace rubato::tm
