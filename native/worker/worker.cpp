// SPDX-License-Identifier: MIT
// The worker's loop, and the choice of its next task.
#include "native/worker/worker.hpp"

#include <thread>
#include <utility>

#include "actors/steps.hpp"
#include "native/clock.hpp"
#include "native/policy.hpp"
#include "native/topology/topology.hpp"
#include "native/worker/execute.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/turn_lag.hpp"

namespace rubato::inline v0::native {

Worker::Worker(Shared& owner, unsigned worker_number)
    : ThreadState(owner.heap, Shared::machine().group_of(worker_number)),
      shared(owner),
      index(worker_number),
      cells(owner.cells),
      pace(owner.options().reclamation == Reclamation::task),
      timer(owner.trace() != nullptr ? &owner.trace()->lane(worker_number) : nullptr),
      cpu(Shared::machine(), worker_number),
      seen(owner.pools.count()),
      refreshes_(owner.options().reclamation != Reclamation::off),
      adapts_(owner.options().prefetch.kind == PrefetchMode::Kind::adapted) {
  is_worker = true;
  number = worker_number;
  lists_turns.store(owner.lists_turns(), std::memory_order_relaxed);
  epoch = &owner.epochs->member(worker_number);
  const PrefetchMode& prefetch = owner.options().prefetch;
  const bool prefetches = prefetch.kind != PrefetchMode::Kind::off;
  set_distance(prefetches ? prefetch.distance : 0);
  seizure.set_timed(true);
  ordered.set_prefetching(prefetches);
  owner.prepare(*this);
  if (engine::steps().is_on()) timer.keep_on(true);
  const Lagging& lagging = owner.options().lagging;
  if (lagging.kind != Lagging::Kind::off && lagging.has_level(Lagging::kTurns) && owner.has_cpus() &&
      !Shared::machine().quota)
    turn_lag = std::make_unique<TurnLag>(*this);
}

Worker::~Worker() = default;

void Worker::set_distance(unsigned distance) {
  ring.set_distance(distance);
  seen.prefetch_distance.store(distance, std::memory_order_relaxed);
}

// ---- Epochs (R7) ----

void Worker::enter_epochs() {
  if (!std::exchange(is_in_epochs_, true)) shared.epochs->unpark(*epoch);
}
void Worker::leave_epochs() {
  if (std::exchange(is_in_epochs_, false)) shared.epochs->park(*epoch);
}
/// Between two tasks, or two batches of them; what else is done there is done once a batch.
void Worker::refresh_epoch() {
  if (refreshes_) shared.epochs->refresh(*epoch);
  if (!pace.begin_next()) return;
  const Pace::Batch batch = pace.end_batch(ticks());
  if (batch.is_worth_timing) {
    timer.restart();
    seizure.set_timed(true);
  }
  if (adapts_ && batch.is_full()) set_distance(tuner_.next_distance(ring.distance(), batch.took));
  duties.set(Duties::kEmptyInbox, !shared.inbox_ready.is_empty());
  if (pace.is_rest_due()) duties.set(Duties::kRest, true);
  cpu.choose([this] { return Events::idle(shared.events.look()) + 1 == shared.workers(); });
}

void Worker::end_timing() {
  const TraceSpan* const span = timer.end();
  if (!timer.is_on()) seizure.set_timed(false);
  if (span == nullptr) return;
  counts.long_tasks.add();
  shared.long_tasks.note(*span->code, span->first_word, span->end - span->begin);
}

/// As execute(), where tasks are timed or another thread asks for this worker's.
void Worker::execute_timed(Slot slot) {
  const bool is_timed = timer.is_on();
  if (turn_lag != nullptr && turn_lag->is_timing()) {
    turn_lag->note_next(*slot.task());
    if (!is_timed) seizure.set_timed(false);
  }
  if (is_timed) timer.begin(*slot.task());
  execute(slot);
  if (is_timed) end_timing();
}

/// A task, and what it asked for by on_commit() or what waited for its group.
[[gnu::always_inline]] inline void Worker::start_here(Slot slot) {
  for (unsigned in_a_row = 1;; ++in_a_row) {
    if (seizure.is_wanted()) [[unlikely]] {
      execute_timed(slot);
    } else {
      execute(slot);
    }
    if (committed.is_empty()) [[likely]]
      return;
    Task* const next = take_committed(in_a_row);
    if (next == nullptr) return;
    slot = Slot(next);
  }
}
void Worker::start(Slot slot) { start_here(slot); }

/// @returns when the run is over, or this thread ends.
void Worker::work() {
  for (;;) {
    try {
      return run_tasks();
    } catch (...) {  // of no task: no memory for what becomes of tasks
      running = nullptr;
      replaced_ = nullptr;
      fail();
    }
  }
}

void Worker::fail() noexcept {
  std::exception_ptr error = std::current_exception();
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      std::throw_with_nested(TaskError(errors::no_memory()));
    }
  } catch (...) {
    error = std::current_exception();
  }
  shared.failure.add(error);
  shared.stop();
}

void Worker::run_tasks() {
  if (turn_lag != nullptr) turn_lag->forget_switch();
  enter_epochs();
  sharing.time_from_here();
  pace.go_on(ticks());  // worker 0 has been with its caller since the last run
  const Events& events = shared.events;
  for (;;) {
    const std::uint64_t word = events.look();
    if (word != 0) [[unlikely]] {
      if (!attend(word)) return;
    }
    if (ring.size() <= ring.distance()) {
      if (Task* const only = refill()) {
        refresh_if_due();
        start(Slot(only));
        continue;
      }
      if (ring.is_empty()) {
        if (!find_work() && !idling.wait_for_work()) return;
        continue;
      }
    }
    const Slot slot = ring.pop();
    if (pace.is_refresh_due()) [[unlikely]]
      refresh_epoch();
    start_here(slot);
  }
}

/// Between two tasks, when a worker is idle or wants something. False: the run is over, or this thread ends.
bool Worker::attend(std::uint64_t word) {
  Events& events = shared.events;
  for (;; word = events.look()) {  // what was asked for while this worker counted as idle
    if ((word & Events::kEnd) != 0 && index != 0) return false;
    const bool must_pause = (word & Events::kPaused) != 0 && index != 0;
    if ((word & Events::kStop) != 0) {
      drop_everything();  // also before a pause: what is kept would run in the next run
      if (!must_pause) {
        if (!idling.wait_for_work()) return false;
        continue;
      }
    }
    if (must_pause) {
      // A thread outside may have created it when the end of the run had been found. Until this worker has
      // woken up it counts as idle.
      seen.has_kept.store(
          !ring.is_empty() || !lists.is_empty() || !alone.is_empty() || has_created_anything(),
          std::memory_order_seq_cst);
      idling.pause();
      seen.has_kept.store(false, std::memory_order_seq_cst);
    } else if ((word & Events::kAlone) != 0) {
      alone.stand_by();
      // A single task before it stands by again: tasks that run alone may never run out.
      word = events.look();
      if ((word & (Events::kStop | Events::kPaused | Events::kEnd)) == 0) break;
    } else {
      break;
    }
  }
  if (Events::idle(word) != 0) sharing.share();
  return true;
}

// ---- The next task (R5) ----

/// @returns the only task there is, if it is private: it needs no ring, with none before it to prefetch for.
Task* Worker::refill() {
  // The worker that was woken has found something else: as long as all are busy none would take the chunk. It
  // is given the time that it needs to arrive, since it stops to count as idle before it looks at chunks.
  // Tasks so long that another worker may well come meanwhile stay.
  if (seen.published.load(std::memory_order_relaxed) != nullptr && Events::idle(shared.events.look()) == 0 &&
      !duties.is_due(Duties::kShare)) [[unlikely]] {
    sharing.take_back_after(policy::kMicrosecondsToArrive);
  }
  // Here, where no task is on its way from the ring to its run.
  if (duties.are_due()) [[unlikely]]
    do_duties();
  const bool has_only_own =
      lists.has_only_own() &&
      (!has_pools || (seen.ready.is_empty() && seen.pinned.is_empty() && alone.is_empty()));
  // The rest is not inlined: the way of a task that is alone saves no registers.
  if (!has_only_own) {
    fill_ring_from_all();
    return nullptr;
  }
  if (ring.is_empty() && !sharing.was_robbed()) {
    if (Task* const only = lists.take_only()) return only;
  }
  if (lists.has_own()) take_own(threshold(policy::kBatch, 1u));
  return nullptr;
}

void Worker::fill_ring_from_all() {
  if (alone.is_due()) alone.run();
  if (has_pools) pools.note_refill();
  Waiting waiting = look_at_sources();
  const auto take = [this](unsigned source, unsigned rank, std::uint64_t limit) {
    return take_from(source, rank, limit);
  };
  // Bounded: to share with an idle worker may take tasks out of the ring again.
  for (unsigned tries = 0; tries <= ring.distance() && ring.size() <= ring.distance(); ++tries) {
    // None of lower priority than the next: that one may create others that go first, and a pool gives more
    // at once later.
    const unsigned last = ring.is_empty() ? kPriorities - 1 : rank_of(ring.at(0).task());
    if (!rotation.take_next(ring, waiting, last, take)) break;
  }
}

Waiting Worker::look_at_sources() const {
  Waiting found;
  lists.look(found);
  if (!has_pools) return found;
  const auto add_ranks = [&found](const ReadySet<StdAtomics>& set, unsigned source) {
    if (set.is_empty()) return;
    for (unsigned rank = 0; rank < kPriorities; ++rank)
      if (!set.is_empty(rank)) found.add(rank, source);
  };
  add_ranks(seen.ready, Source::kReady);
  add_ranks(seen.pinned, Source::kPinned);
  return found;
}

/// Up to `limit` tasks. @returns whether the source has more.
bool Worker::take_from(unsigned source, unsigned rank, std::uint64_t limit) {
  switch (source) {
    case Source::kReady:
      pools.take_own(seen.ready, rank);
      return !seen.ready.is_empty(rank);
    case Source::kPinned:
      pools.take_own(seen.pinned, rank);
      return !seen.pinned.is_empty(rank);
    case Source::kPacked: {  // of normal priority
      PackedTasks& packed = lists.packed_now();
      for (; limit != 0 && ring.room() != 0 && !packed.is_empty(); --limit)
        ring.push(Slot(ordered.unpack(packed)));
      return !packed.is_empty();
    }
    case Source::kPrivate:
      if (rank != kNormalRank) break;
      take_own(limit);
      return lists.has_own();
    default:
      break;
  }
  return lists.take_from_list(ring, source, rank, limit);
}

void Worker::take_own(std::uint64_t count) {
  lists.take_own(ring, count);
  if (sharing.was_robbed()) [[unlikely]]
    sharing.share();
}

// ---- Beside tasks ----

/// Tasks of other threads need not wait until a worker is idle, nor others until a long task has ended.
void Worker::do_duties() {
  if (duties.take(Duties::kEmptyInbox)) empty_inbox();
  // Other work that only an idle worker does (find_work()), and that others may wait for. Tasks that never
  // run out must not keep the worker from that for ever (R10).
  if (duties.take(Duties::kRest)) {
    // The worker that was woken for a chunk takes a while to come.
    if (seen.published.load(std::memory_order_relaxed) != nullptr)
      sharing.take_back_after(policy::kMicrosecondsBeforeReturn);
    ordered.look_after_rest(pace.are_tasks_long());
  }
  if (duties.is_due(Duties::kShare)) sharing.share();
}

/// Work of a worker with an empty ring. @returns false if there is nothing to run.
bool Worker::find_work() {
  if ((shared.events.look() & Events::kStop) != 0) {
    drop_everything();  // the ring is empty, the lists need not be; an idle worker holds no task
    return false;
  }
  if (!deferred_.is_empty()) route_deferred();  // of the destructor of a removed resource
  ordered.settle();
  if (!lists.is_empty())
    return true;  // what was in the ring may have been taken out of it again, to be shared
  if (ordered.distribute_slice()) return true;
  if (ordered.owns_order()) {
    if (ordered.advance()) {
      ordered.run_in_order();
      return true;
    }
    ordered.leave_inline();
  }
  if (!alone.is_empty() && alone.run()) return true;
  if (sharing.take_back()) return true;
  if (has_emptied(empty_inbox())) return true;
  if (has_pools && (forking.steal() || sharing.steal())) return true;
  if (alone.is_empty()) return false;
  std::this_thread::yield();
  return true;
}

}  // namespace rubato::inline v0::native
