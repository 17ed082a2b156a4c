// SPDX-License-Identifier: MIT
// Rare steps of a task's execution (see execute.hpp): latches, readers that lost, tasks with a group, a pool
// or more to destroy.
#include <algorithm>
#include <thread>

#include "native/fault.hpp"
#include "native/policy.hpp"
#include "native/sync/latch.hpp"
#include "native/sync/patience.hpp"
#include "native/sync/shared_latch.hpp"
#include "native/worker/execute.hpp"
#include "native/worker/turn_scheduling.hpp"

namespace rubato::inline v0::native {
namespace {

/// False: others held the latch all the time, and the task is to be put back. `insist`, again and again, gets
/// it from its present holders.
template <class TryLock, class Insist>
bool lock_in_turn(const Task* task, TryLock try_lock, Insist insist) {
  Patience waiting(header_of(task).waiting);
  const auto try_it = [&] { return !waiting.is_turn_of_others() && try_lock(); };
  if (spin<HeaderAtomics>(kSpinTries, try_it)) return true;
  if (!waiting.begin_to_insist(ticks(), ticks_of(policy::kMicrosecondsForLatch))) return false;
  while (!insist()) std::this_thread::yield();
  waiting.end_insisting();
  return true;
}
template <class TryLock>
bool lock_in_turn(const Task* task, TryLock try_lock) {
  return lock_in_turn(task, try_lock, [&] { return spin<HeaderAtomics>(kSpinTries, try_lock); });
}

/// Whether a task that waited for a group may start as soon as the running task has ended, ahead of all
/// others: one that nothing else decides about.
bool is_free_to_run(const Task* task) {
  constexpr std::uint64_t kElsewhere = engine::handle::kTimestamped | engine::handle::kSpec |
                                       engine::handle::kPooled | engine::handle::kPriorityMask |
                                       engine::handle::kPrimitiveMask;
  return (task->handle & kElsewhere) == 0 && engine::extension_of(task)->core == engine::kAnywhere;
}

}  // namespace

/// A task that has not run yet, or has lost. False: it has been put back.
bool Worker::run_or_put_back(Slot slot) {
  Task* const task = slot.task();
  while (!run_synchronized(task, !slot.is_pooled())) {
    if (!slot.is_pooled()) {
      timer.leave_out();
      requeue(task, true);
      return false;
    }
    std::this_thread::yield();  // its pool is this worker's until it has run, and may end with it
  }
  return true;
}

/// The arguments of a task that has run: what their destructors create is the task's, like what it created
/// itself.
void Worker::destroy_run(Task* task) {
  running = task;
  is_destroying_ = true;
  destroy(task);
  is_destroying_ = false;
  end_call();
}

/// The end of a task that is not usual: its order and group, the pool whose batch ended with it.
void Worker::finish_rest(Slot slot) {
  Task* const task = slot.task();
  if (is_special(task)) finish_special(task);
  perturb();
  if (!slot.is_kept()) free_block(task);
  if (TaskPool* const ended = slot.pool()) pools.finish(*ended);
}

/// The task to run directly after the last one, while its data is in the cache: one that the last asked for
/// by on_commit(), or one that waited for its group. Only one, and not too many in a row. So work between two
/// tasks waits for a few more at most, and other workers can get their share of many.
/// @returns null if there is nothing to run at once.
Task* Worker::take_committed(unsigned in_a_row) {
  lists.count_taken();
  Task* const task = committed.take();
  const std::uint64_t word = shared.events.look();
  // An actor's turn (turn_scheduling.hpp) is for others where others have nothing to do.
  const bool is_next_turn = is_turn(task);
  const bool is_wanted = (is_next_turn ? word : word & ~Events::kIdleMask) != 0;
  if (committed.is_empty() && !is_wanted && in_a_row < threshold(policy::kRunInARow, 2u)) {
    if (is_next_turn) counts.turns_run_next.add();
    return task;
  }
  requeue(task);
  for (; !committed.is_empty(); lists.count_taken()) requeue(committed.take());
  return nullptr;
}

/// False: it did not run. `may_move`: a reader that lost too often may have been marked for its resource's
/// pool.
bool Worker::run_synchronized(Task* task, bool may_move) {
  const bool reads = (task->handle & engine::handle::kReads) != 0;
  switch (primitive_of(task)) {
    case Primitive::latch: {
      Latch<HeaderAtomics> latch(synchronization_word(task));
      if (!lock_in_turn(task, [&latch] { return latch.try_lock(); })) break;
      call(task);
      latch.unlock();
      return true;
    }
    case Primitive::shared_latch: {
      SharedLatch<HeaderAtomics> latch(synchronization_word(task));
      if (reads) {
        // A reader that was kept out all the time goes in before a writer that may never come.
        if (!latch.lock_shared() && !lock_in_turn(task, [&latch] { return latch.lock_shared(0); })) break;
      } else {
        const auto insist = [&latch] { return latch.must_insist() ? latch.insist() : latch.lock(); };
        if (!lock_in_turn(
                task, [&latch] { return latch.lock(1); }, insist))
          break;
      }
      call(task);
      if (reads) {
        latch.unlock_shared();
      } else {
        latch.unlock();
      }
      return true;
    }
    case Primitive::optimistic_latch:
    case Primitive::optimistic_pool:
      return reads ? run_reader(task, may_move) : run_writer(task);
    case Primitive::guarded:
      return run_guarded(task, may_move);
    case Primitive::none:
    case Primitive::pool:
      call(task);
      return true;
  }
  return false;
}

bool Worker::run_writer(Task* task) {
  Version<HeaderAtomics> version(synchronization_word(task));
  if (primitive_of(task) == Primitive::optimistic_pool) {
    version.begin_write();
    call(task);
    version.end_write();
    return true;
  }
  if (!lock_in_turn(task, [&version] { return version.try_lock(); })) return false;
  call(task);
  version.unlock();
  return true;
}

/// Drops the tasks that a losing reader created, and those that their destructors create.
void Worker::drop_attempt(TaskList::Mark mark) {
  counts.reads_repeated.add();
  if (has_fault(Fault::children_of_losers)) return;
  is_dropping_attempt_ = true;
  is_validating_.store(true, std::memory_order_relaxed);  // what is created is kept back
  for (bool has_any = true; has_any;) {
    has_any = false;
    const auto drop_one = [&has_any, this](Task* task) {
      has_any = true;
      drop_created(task);
    };
    for (Task* created_task = tasks.cut(mark); created_task != nullptr;) {
      Task* const next = next_of(created_task);
      drop_one(created_task);
      lists.count_taken();
      created_task = next;
    }
    for (; !committed.is_empty(); lists.count_taken()) drop_one(committed.take());
    while (!deferred_.is_empty()) drop_one(deferred_.take());
  }
  is_validating_.store(false, std::memory_order_relaxed);
  is_dropping_attempt_ = false;
}

/// An optimistic reader that has tried once: again, until no writer was at work meanwhile or it has lost too
/// often, or cannot begin for a writer that takes long: others like that one may follow for ever. At least
/// once: a reader that may not move has no other way to run.
bool Worker::run_reader(Task* task, bool may_move) {
  Version<HeaderAtomics> version(synchronization_word(task));
  unsigned losses = 1;
  do {
    const Attempt attempt = read_once(task, kSpinTries);
    if (attempt == Attempt::done) return true;
    if (attempt == Attempt::not_begun) break;
  } while (++losses < threshold(policy::kReaderLosses, 1u));
  if (primitive_of(task) == Primitive::optimistic_pool) {
    if (may_move) task->handle = (task->handle & ~engine::handle::kPrimitiveMask) | engine::handle::kPooled;
    return false;
  }
  if (!lock_in_turn(task, [&version] { return version.try_lock(); })) return false;
  call(task);
  version.unlock_unchanged();
  return true;
}

/// Steps of finish() that most tasks do not need.
void Worker::finish_special(Task* task) {
  if (task->is_spec()) counts.alone.add();
  leave_group(task);
  if (task->is_timestamped()) ordered.end_task();
}

/// Drops a task that a losing reader created: it was never handed on, so timestamp order has not counted it.
void Worker::drop_created(Task* task) {
  counts.finished.add_ordered();
  end_birth(task);
  leave_group(task);
  destroy(task);
  free_block(task);
}

void Worker::leave_group(Task* task) {
  TaskGroup* const group = engine::group_of(task);
  if (group == nullptr) return;
  if (task == replaced_) {
    replaced_ = nullptr;
  } else {
    leave(*group);
  }
}
void Worker::leave(TaskGroup& group) {
  if (is_dropping_ || has_fault(Fault::group_not_released)) return Groups::drop_member(group);
  Chain released = shared.groups.leave(group);
  if (released.size == 1 && !is_dropping_attempt_ && is_free_to_run(released.first)) {
    committed.append(released.first);  // behind the running task
    return lists.count_appended();
  }
  while (!released.is_empty()) place(released.take());
}

}  // namespace rubato::inline v0::native
