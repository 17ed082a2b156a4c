// Bugs that a test puts into the engine on purpose, to show that the tests find them. The engine is built
// once more for that (tests/differential, faulty-native), where RUBATO_FAULT names one of them; in all other
// builds nothing of it is left.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0::native {

enum class Fault : std::uint8_t {
  none,
  // synchronization
  even_while_writing,   ///< the version of a resource does not say that a writer is at work
  unvalidated_reads,    ///< an optimistic reader always wins
  open_latch,           ///< the latch lets everybody in
  readers_pass_writer,  ///< the reader/writer latch lets readers in while a writer holds it
  children_of_losers,   ///< what an optimistic reader created before it lost stays
  // pools
  pool_claimed_twice,  ///< a worker that saw a ready pool takes it, also if another was faster
  pool_let_go_early,   ///< a pool is ready again before the tasks taken from it have ended
  // reclamation
  freed_at_once,    ///< a removed object is destroyed by remove()
  no_birth_epochs,  ///< pending tasks hold nothing back
  no_local_epochs,  ///< running tasks hold nothing back
  // sleep and end
  no_recheck,           ///< a worker that announced that it is idle does not look for work again
  wakes_without_epoch,  ///< a worker about to sleep does not notice that it is woken
  ends_when_idle,       ///< run() returns when one worker is idle, whatever is left
  // threads outside
  silent_arrival,    ///< a task from outside wakes no worker
  inbox_forgotten,   ///< run() returns although a task came before the last hold was closed
  inbox_loses_last,  ///< the last task that is taken in is forgotten
  // order, groups, tasks that run alone
  early_timestamp,     ///< a timestamp begins while a task of the one before runs
  company_for_spec,    ///< a spec task does not wait until it is alone
  group_ignored,       ///< a task does not wait for its group
  group_not_released,  ///< the end of a group releases no task
  // actors
  actor_two_turns,        ///< every message makes a turn
  actor_half_linked,      ///< an actor whose next message is half-linked is taken for idle
  actor_last_freed,       ///< the last message of the queue is freed though the next push links to it
  actor_any_generation,   ///< a handle reaches whatever actor has the cell
  actor_cell_at_once,     ///< the cell of a stopped actor is free before its last turn has ended
  actor_reached_unseen,   ///< a cell is used again though a thread outside is about to push to it
  actor_without_budget,   ///< a turn goes on while there are messages
  actor_muted_for_ever,   ///< an actor that finds room waits all the same
  actor_stop_ignored,     ///< an actor that was stopped goes on
  actor_timer_unnoticed,  ///< the timers' thread is not woken for an earlier timer
};

#if defined(RUBATO_FAULTY)
bool has_fault(Fault fault);
#else
constexpr bool has_fault(Fault) { return false; }
#endif

}  // namespace rubato::inline v0::native
