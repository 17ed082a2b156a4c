// After a failure: tasks are destroyed unrun. R11.
// SPDX-License-Identifier: MIT
#include <thread>

#include "native/pool/inbox.hpp"
#include "native/worker/arrivals.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

Chain drain_inbox(Shared& shared) {
  Chain arrived;
  const auto append = [&arrived](Task* task) { arrived.append(task); };
  const auto empty_once = [&] {
    return empty_in_order(shared.inbox, shared.inbox_ready, shared.is_inbox_emptied, kNormalRank, append);
  };
  empty_wholly(shared.inbox, empty_once, [] { std::this_thread::yield(); });
  return arrived;
}

/// All that threads outside have created, the turns of actors among it. These push a message first and then
/// its turn: with none in between, and no turn left, all mailboxes with messages are to be cleared, and those
/// that get some later have their turns. No code of the program runs meanwhile: it might wait for such a
/// thread.
Chain take_inbox(Shared& shared) {
  shared.reached.close();
  const Chain arrived = drain_inbox(shared);
  mark_mailboxes(shared.cells);
  shared.reached.open();
  return arrived;
}

void Worker::drop(Task* task, bool is_kept) {
  if (task->code == &kHuskCode) husks_.add();  // its copy counts
  finish(task);
  destroy(task);
  if (!is_kept) free_block(task);
}

/// All private tasks; others' are theirs, and pools are emptied when all workers have stopped.
void Worker::drop_everything() {
  is_dropping_ = true;
  const auto drop_it = [this](Task* task) { drop(task); };
  while (!ring.is_empty()) {
    const Slot slot = ring.pop();
    drop(slot.task(), slot.is_kept());
    if (slot.pool() != nullptr) pools.finish(*slot.pool());
  }
  ordered.drop_packed(lists.packed_now());
  ordered.drop_rest(drop_it);
  do {  // the destructors of all these may create tasks
    lists.drop_all(drop_it);
    while (!alone.is_empty()) drop(alone.take());
    while (!deferred_.is_empty()) drop(deferred_.take());
  } while (has_created_anything());
  lists.count_all_taken();
  is_dropping_ = false;
}

/// In a pool that this worker claimed.
void Worker::drop_pool(TaskPool& pool) {
  for (bool is_empty = false; !is_empty;) {
    ordered.drop_packed(pool.packed);
    for (;;) {
      const auto taken = pool.take();
      if (taken.node == nullptr) break;
      if (is_carrier(taken.node)) {
        PackedTasks list = list_of(taken.node);
        ordered.drop_packed(list);
        if (taken.is_last) break;
        free_block(taken.node);
        continue;
      }
      drop(taken.node, taken.is_last);
      if (taken.is_last) break;
    }
    const auto finished = pool.finish();
    if (finished.released != nullptr) free_block(finished.released);
    is_empty = finished.is_empty;
  }
}

void Worker::drop_shared() {
  is_dropping_ = true;
  for (unsigned w = 0; w < shared.workers(); ++w) {
    Worker& worker = shared.worker(w);
    worker.ordered.drop_later(ordered, [this](Task* task) { drop(task); });
    for (Task* task = worker.seen.published.exchange(nullptr); task != nullptr;) {
      Task* const next = next_of(task);
      drop(task);
      task = next;
    }
    worker.seen.must_distribute.store(false);
    for (unsigned rank = 0; rank < kPriorities; ++rank) {
      for (unsigned last = 0, p; (p = worker.seen.ready.claim(rank, last)) != kNoPool;)
        drop_pool(shared.pools[p]);
      unsigned last = 0;
      if (worker.seen.pinned.claim(rank, last) != kNoPool) drop_pool(shared.pools.pinned(w));
    }
  }
  const auto drop_new = [this](Task* task) {
    counts.submitted.add();
    task->handle &= ~engine::handle::kResource;  // it has no birth epoch yet
    drop(task);
  };
  Chain arrived = take_all_from_outside(shared);
  while (!arrived.is_empty()) drop_new(arrived.take());
  // Last of all, and when all of them have left their groups: what waits for a group may own it, or another
  // one.
  Chain blocked = shared.groups.clear();
  for (Task* task = blocked.first; task != nullptr; task = task == blocked.last ? nullptr : next_of(task))
    finish(task);
  while (!blocked.is_empty()) {
    Task* const task = blocked.take();
    destroy(task);
    free_block(task);
  }
  is_dropping_ = false;
}

}  // namespace rubato::inline v0::native
