// Making an actor's turn due: where it goes, and what it costs on purpose. A36 and A60.
//
// The miniqueue (A36): the turn that a running one causes goes to the front, behind the running one itself. A
// second displaces it to the list. It waits in the worker's `committed` list, whose task runs right after the
// running one. The watch may hand it over while a turn goes on, so its worker changes it under the seizure.
//
// A dear turn: RUBATO_ACTOR_SWITCH=NS makes each switch so much dearer, half where it is scheduled and half
// where it begins. With it the figures of the publication, whose switches cost that much, can be repeated.
// The first half stands for the search for a worker and for the work queue, which a turn in the miniqueue
// does not need: it costs the half when it is displaced from there, and else nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "native/memory/cells.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {

inline Cell* cell_in(const engine::Task* task) { return reinterpret_cast<Cell*>(task->words[0]); }

/// Whether its turns are for one worker, by a task of two lines.
inline bool has_place(const Cell& cell) {
  return cell.core != Cell::kAnyCore && cell.core != Cell::kOwnThread;
}
void make_turn(engine::Task& task, Cell& cell);
/// An actor that has something to do, and no turn.
void schedule(engine::ThreadState& self, Cell& cell);
/// An actor whose turn has ended with messages left: behind all that wait (A25).
void schedule_behind(engine::ThreadState& self, Cell& cell);
/// Schedules a turn that does not just go to the end of its worker's list: of another thread, priority or
/// worker, or with dear turns or a miniqueue. If `task` has one line only, but needs two (has_place()), this
/// may be an error: std::bad_alloc.
void schedule_otherwise(engine::ThreadState& self, const Cell& cell, engine::Task* task, bool may_be_next);

/// Turn of an actor with a thread of its own.
void run_turn_of_own_thread(engine::Task* task);
bool is_dear_turn(const engine::Task* task);
inline bool is_turn(const engine::Task* task) {
  return task->code->run == engine::run_actor_turn || is_dear_turn(task);
}

}  // namespace rubato::inline v0::native
