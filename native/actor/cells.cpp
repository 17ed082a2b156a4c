// Cells: from a thread to an actor, and what else of an actor the engine keeps.
// SPDX-License-Identifier: MIT
#include <new>

#include "actors/lifecycle.hpp"
#include "native/memory/cells.hpp"
#include "native/worker/arrivals.hpp"
#include "native/worker/outside_thread.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::engine {

using native::CellHeap;
using native::mailbox_of;
using native::the_shared;
using native::Worker;

Cell* new_cell(const BehaviorType& type, const CellOptions& options) {
  ThreadState& self = this_thread();
  const unsigned size_class = CellHeap::class_of(type.bytes);
  void* behavior = size_class == 0 ? ::operator new(type.bytes, std::align_val_t{64}) : nullptr;
  Cell* cell = nullptr;
  if (self.is_worker) {
    cell = static_cast<Worker&>(self).cells.take(size_class);
    static_cast<Worker&>(self).counts.actors.add();
  } else {
    cell = static_cast<native::OutsideThread&>(self).cells.take(size_class);
    the_shared().actors_spawned.fetch_add(1, std::memory_order_relaxed);
  }
  if (size_class != 0) behavior = cell + 1;
  cell->bytes = type.bytes;
  begin_cell(*cell, type, options, behavior, self.is_worker ? 0 : Cell::kIsUnborn);
  // Its turn is not before its constructor has ended: as long it looks as if it handled a message.
  MessageNode* const first = new_node<false>();
  first->type = &message_type<KillMessage>;
  mailbox_of(*cell).begin_with(first);
  return cell;
}

namespace {

void begin_plainly(Cell* cell) {
  constexpr unsigned kNothing = Cell::kBounded | Cell::kUrgent;
  const bool is_stopping = (cell->flags & ~kNothing) != 0;  // or something else that its turn attends to
  if (!is_stopping) {
    const auto [is_empty, released] = mailbox_of(*cell).finish();
    if (released != nullptr) free_node(released);
    if (is_empty) return;
  }
  resume_actor(*cell);
}

/// Begins an actor of a thread outside. The actor exists and, if it has messages, its turn, too; or neither,
/// if Shared::reached is closed after a failed run.
[[gnu::noinline]] void begin_outside(Cell* cell, void (*begin)(Cell*)) {
  const auto& self = static_cast<native::OutsideThread&>(this_thread());
  const native::Reached::Scope scope(the_shared().reached, self.place, cell);
  cell->life().store(cell->life().load(std::memory_order_relaxed) & ~Cell::kIsUnborn,
                     std::memory_order_release);
  begin(cell);
}
bool is_unborn(Cell* cell) { return (cell->life().load(std::memory_order_relaxed) & Cell::kIsUnborn) != 0; }

}  // namespace

void begin_actor(Cell* cell) {
  if (is_unborn(cell)) return begin_outside(cell, begin_plainly);
  begin_plainly(cell);
}

void abandon_actor(Cell* cell) {
  forget_behavior(*cell);
  const auto end = [](Cell* failed) { resume_actor(*failed); };  // whose turn ends it
  if (is_unborn(cell)) return begin_outside(cell, end);
  end(cell);
}

/// A hold says that run() will come: a thread may ask before it has begun.
bool may_wait_for_answers() {
  const native::Shared& shared = the_shared();
  return !shared.is_left_behind() && (shared.is_running() || shared.holds() != 0);
}
bool begin_wait(WaitsForRun& waiting) {
  return the_shared().waiting_threads.begin(waiting, may_wait_for_answers,
                                            [] { return the_shared().run_time(); });
}
void end_wait(WaitsForRun& waiting) { the_shared().waiting_threads.end(waiting); }
unsigned core_limit() { return the_shared().workers(); }

void join_group(TaskGroup& group) { native::Groups::add_member(group); }
/// On a thread that is no worker by a task: tasks that wait for the group are released by workers.
void leave_group(TaskGroup& group) {
  ThreadState& self = this_thread();
  if (self.is_worker) return static_cast<Worker&>(self).leave(group);
  native::Task* const task = native::make_arrival(self, group, nullptr);
  the_shared().push_outside(task, task);
}

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0 {

ActorCounters actor_counters() {
  ActorCounters c;
  const native::Shared& shared = native::the_shared();
  const auto lock = shared.keep_workers();
  c.messages_handled = shared.messages_handled.load(std::memory_order_relaxed);
  c.spawned = shared.actors_spawned.load(std::memory_order_relaxed);
  c.stopped = shared.actors_stopped.load(std::memory_order_relaxed);
  for (unsigned w = 0; w < shared.workers_made(); ++w) {
    const native::Counts& n = shared.worker(w).counts;
    c.messages_handled += n.messages.get();
    c.spawned += n.actors.get();
    c.stopped += n.actors_stopped.get();
  }
  c.messages_allocated = engine::messages_allocated();
  for (unsigned i = 0; i < 5; ++i)
    c.dead_letters[i] = engine::dead_letters_by(static_cast<DeadLetter::Cause>(i));
  return c;
}

}  // namespace rubato::inline v0
