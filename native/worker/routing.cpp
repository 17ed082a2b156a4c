// Routes of tasks that were created here or by other threads. R2, R8 and R9.
// SPDX-License-Identifier: MIT
#include <thread>

#include "native/fault.hpp"
#include "native/pool/inbox.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

namespace {

/// A task with a second line that goes to the end of its creator's own list, as those without one do.
bool is_usual(const Task* task) {
  constexpr std::uint64_t kElsewhere = engine::handle::kTimestamped | engine::handle::kSpec |
                                       engine::handle::kPooled | engine::handle::kPriorityMask;
  if ((task->handle & kElsewhere) != 0 || !task->is_extended()) return false;
  const engine::TaskExtension* const extension = engine::extension_of(task);
  return extension->after == nullptr && extension->core == engine::kAnywhere;
}

}  // namespace

/// A task created by the running task, or by the destructor of a removed resource: the latter has no place in
/// the order.
void Worker::created_task(Task* task) {
  if (is_usual(task) && !is_validating()) [[likely]] {
    counts.submitted.add();
    Groups::join(task);
    tasks.append(task);
    return lists.count_appended();
  }
  if (task->is_timestamped() && (running == nullptr || !running->is_timestamped() ||
                                 engine::timestamp_of(task) < engine::timestamp_of(running))) {
    try {
      if (running == nullptr) throw TaskError(errors::timestamp_from_destructor(name_of(*task)));
      throw_wrong_order(*running, *task);
    } catch (...) {
      end_birth(task);
      destroy(task);
      free_block(task);
      if (is_dropping_attempt_) return;  // it would be dropped anyway
      if (running != nullptr && !is_destroying_) throw;
      shared.failure.add(std::current_exception());  // destructors do not throw
      shared.stop();
      return;
    }
  }
  counts.submitted.add();
  if (!is_validating() && engine::after_of(task) == nullptr) {
    Groups::join(task);
    return route(task);
  }
  const bool inherits = is_heir(*task);
  if (inherits) replaced_ = running;
  Groups::join(task, inherits);
  deferred_.append(task);
}

/// Whether a task that is handed on when the running one has ended takes its place in their group. Only one
/// does. Not for an attempt, which may be dropped.
bool Worker::is_heir(const Task& task) const {
  const TaskGroup* const group = engine::group_of(&task);
  return group != nullptr && running != nullptr && replaced_ != running && !is_validating() &&
         !is_destroying_ && group == engine::group_of(running);
}

void Worker::route(Task* task) {
  if (task->is_timestamped()) return ordered.route(task);
  if (must_block(task)) return;
  place(task);
}

void Worker::place(Task* task) {
  constexpr std::uint64_t kElsewhere = engine::handle::kSpec | engine::handle::kTimestamped;
  if (task->is_extended() && has_pools && (task->handle & kElsewhere) == 0 &&
      engine::extension_of(task)->core != engine::kAnywhere) [[unlikely]]
    return place_where_asked(task);
  requeue(task);
}

/// A pool asks for what its first task asks for; so a task that asks in vain must not ask there.
void Worker::place_where_asked(Task* task) {
  std::uint32_t& place = engine::extension_of(task)->core;
  const unsigned worker = shared.worker_at(place, node_turns_++);
  if (worker == shared.workers()) {
    place = engine::kAnywhere;
  } else if ((task->handle & engine::handle::kPooled) == 0) {
    return pools.push(shared.pools.pinned(worker), task, task);
  } else {
    shared.pools.note_place(shared.pools.of(task->handle));
  }
  requeue(task);
}

bool Worker::must_block(Task* task) {
  TaskGroup* const after = engine::after_of(task);
  return after != nullptr && !has_fault(Fault::group_ignored) && shared.groups.block(task, *after);
}

void Worker::requeue(Task* task, bool must_wait) {
  if (task->is_timestamped()) return ordered.append_current(task);
  if (task->is_spec() && has_pools) return alone.append(task);
  if ((task->handle & engine::handle::kPooled) != 0) {
    Order& order = shared.order;
    if (!order.has_mixed.load(std::memory_order_relaxed))
      order.has_mixed.exchange(true, std::memory_order_seq_cst);
    return pools.push(shared.pools.of(task->handle), task, task);
  }
  lists.append(task, must_wait);
}

void Worker::route_deferred() {
  while (!deferred_.is_empty()) {
    Task* const task = deferred_.take();
    if (is_delivery(task)) {
      end_delivery(task);
    } else {
      route(task);
    }
  }
}

Emptied Worker::empty_inbox() {
  const Emptied emptied = empty_in_order(shared.inbox, shared.inbox_ready, shared.is_inbox_emptied,
                                         kNormalRank, [this](Task* task) { admit(task); });
  if (emptied == Emptied::another_does) std::this_thread::yield();  // that one may need this CPU
  if (emptied == Emptied::not_all || emptied == Emptied::all_but_newer) sharing.wake();
  return emptied;
}

/// A message: at once, not by a task that others could take, and a later one overtake.
void Worker::end_delivery(Task* task) {
  deliver(task);
  counts.finished.add_ordered();
  heap.free<sizeof(Task)>(task);
}

/// A task that another thread created: it is born when it arrives. The other thread ensures that no resource
/// of its annotations is removed before.
void Worker::admit(Task* task) {
  counts.submitted.add();
  if (is_delivery(task)) [[unlikely]]
    return end_delivery(task);
  if ((task->handle & engine::handle::kResource) != 0) {
    const unsigned slot = epoch->birth_slot();
    task->handle = (task->handle & ~engine::handle::kBirthMask) | std::uint64_t{slot}
                                                                      << engine::handle::kBirthShift;
    epoch->count_created(slot);
  }
  // While run() begins, its thread, worker 0, empties the inbox before others may work. The others may be
  // about to pause: the end of the run has been found.
  const bool is_late =
      task->is_timestamped() && (index != 0 || (shared.events.look() & Events::kPaused) == 0);
  if (!is_late) [[likely]]
    return route(task);
  // Another thread created it while run() began: too early to be told so, too late to be ordered.
  try {
    throw TaskError(errors::foreign_thread(name_of(*task)));
  } catch (...) {
    fail();
  }
  alone.append(task);  // to be destroyed unrun like all others
}

}  // namespace rubato::inline v0::native
