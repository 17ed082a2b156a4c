// Bugs that a test puts into the library on purpose, to show that the tests find them (rule T53). The library
// is built once more for that, where RUBATO_TM_FAULT names one of them; in all other builds nothing of it is
// left.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::tm {

enum class Fault : std::uint8_t {
  none,
  gate_not_rechecked,       ///< begin does not look whether the gate was closed meanwhile
  no_second_look,           ///< a load does not look at the record again
  no_incarnation,           ///< an undone write leaves the version as it was
  no_commit_validation,     ///< an update commits whatever has happened to its reads
  extends_blindly,          ///< a newer version moves the snapshot without a look at the reads
  undo_in_order,            ///< old values are restored first to last
  no_undo,                  ///< a rollback restores nothing
  unlogged_after_write,     ///< a store after a write is not logged under a savepoint
  unlogged_read_for_write,  ///< a load for writing keeps no old value
  savepoint_keeps_actions,  ///< the actions of a cancelled nested transaction stay
  savepoint_keeps_frees,    ///< what a cancelled nested transaction freed is freed
  frees_at_once,            ///< free in a transaction frees
  quiescence_skipped,       ///< an update waits for nobody
  irrevocable_not_alone,    ///< who becomes irrevocable does not wait until the others are out
  unlocks_before_undo,      ///< records are released before memory is restored
  savepoint_keeps_stores,   ///< stores of a cancelled nested transaction stay in the write set
  regime_changed_unclosed,  ///< the algorithm changes while transactions are under way
  elision_not_subscribed,   ///< a hardware transaction does not look whether it is let in
  regime_not_rechecked,     ///< begin does not look whether the algorithm has changed meanwhile
  bias_not_revoked,         ///< the gate stays biased when a second thread registers
  clock_moved_late,         ///< the deferred clock moves after the look at the reads
  frees_past_limbo,         ///< a transaction that does not quiesce frees at once
  bias_not_waited_for,      ///< a second thread does not wait until the first one is outside
  era_begun_unclosed,       ///< commit times begin again while transactions are under way
  watch_not_rechecked,      ///< a thread sleeps for a condition without a last look at its reads
  own_stack_kept,           ///< stores to the own stack are kept until commit
  hardware_unseen,          ///< a hardware transaction does not tell the software ones that it wrote
};

#if defined(RUBATO_TM_FAULTY)
bool has_fault(Fault fault);
/// The last commit time, or so many after the first as RUBATO_TM_TIMES says.
std::uint64_t end_of_era(std::uint64_t first, std::uint64_t last);
/// Where a fault shows only if another thread comes in between: now and then lets it, unless RUBATO_TM_YIELDS
/// is set.
void let_others_in();
#else
constexpr bool has_fault(Fault) { return false; }
constexpr std::uint64_t end_of_era(std::uint64_t, std::uint64_t last) { return last; }
inline void let_others_in() {}
#endif

}  // namespace rubato::tm
