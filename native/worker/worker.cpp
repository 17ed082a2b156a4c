// SPDX-License-Identifier: MIT
// The loop, and who runs next.
#include "native/worker/worker.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "native/engine.hpp"
#include "native/fault.hpp"
#include "native/lag/formulas.hpp"
#include "native/worker/clock.hpp"
#include "native/worker/execute.hpp"
#include "native/worker/idle_lag.hpp"

namespace rubato::runtime {
namespace {

constexpr unsigned kBatch = 16;  // tasks from a list into the ring at once
// Such batches of the current timestamp's linked tasks in a row. They go first since the timestamp's tasks
// create them: who let them wait would gather more and more; but each source has its turn (R10).
constexpr unsigned kCurrentRow = 16;
constexpr unsigned kPassLimit = 64;           // tasks of higher priority after which one of lower runs (R5)
constexpr unsigned kRefillsBeforeAlone = 64;  // of the ring, while a spec task waits; sooner if idle
constexpr unsigned kBatchesBeforeRest = 4;    // of short tasks; see look_after_rest()
constexpr std::uint64_t kMicrosecondsToArrive = 100;       // of a worker that was woken for a chunk
constexpr std::uint64_t kMicrosecondsBeforeReturn = 5000;  // of a published chunk that nobody takes
constexpr std::uint64_t kLongMicroseconds = 10'000;        // a long task (R11)
// Tasks are timed one by one at the beginning, and after a batch in which they took so long on average.
constexpr std::uint64_t kTimedMicroseconds = 20;
// Of tasks, before the worker looks around; one at least.
constexpr std::uint64_t kBatchMicroseconds = 1000;
constexpr unsigned kTimedTasks = 1000;
constexpr unsigned kBatchesAStep = 60;  // of the prefetch distance: 3000 tasks
constexpr int kLargestDistance = 32;

}  // namespace

Worker::Worker(Engine& engine, unsigned index)
    : ThreadState(engine.heap, engine.core_group(index)),
      cells(engine.cells),
      engine_(engine),
      index_(index),
      packed_later_(engine.workers() > 1 ? engine.pool_count() : 1),
      packed_chunks_(engine.packed_memory),
      parts_(engine.pool_count()),
      ready_(engine.pool_count()),
      pinned_(1) {
  is_worker = true;
  touched_.reserve(engine.pool_count());
  others_.reserve(engine.workers());
  epoch = &engine.epochs->member(index);
  switch (engine.options().reclamation) {
    case native::Reclamation::batch:
      break;
    case native::Reclamation::task:
      refreshes_every_time_ = true;
      break;
    case native::Reclamation::off:
      refreshes_ = false;
      break;
  }
  until_refresh_ = refreshes_every_time_ ? 1 : batch_;
  if (engine.trace() != nullptr) trace_ = &engine.trace()->lane(index);
  using Kind = native::Lagging::Kind;
  if (const native::Lagging& l = engine.options().lagging; l.kind != Kind::off && engine.has_cpus()) {
    const lag::Rules rules{.samples = lag::sample_size(l.confidence, l.error),
                           .delays = l.delays,
                           .initial_rate = l.initial_rate,
                           .is_as_published = l.kind == Kind::published};
    lag_ = std::make_unique<IdleLag>(rules, LagRandom(index + 1), ticks_per_microsecond(),
                                     l.switch_microseconds);
  }
  engine.prepare(*this);
}

Worker::~Worker() = default;

// ---- Epochs (R7) ----

void Worker::enter_epochs() {
  if (!std::exchange(is_in_epochs_, true)) engine_.epochs->unpark(*epoch);
}
void Worker::leave_epochs() {
  if (std::exchange(is_in_epochs_, false)) engine_.epochs->park(*epoch);
}
/// Between two tasks, or two batches of them; what else is done there is done once a batch.
void Worker::refresh_epoch() {
  if (refreshes_) engine_.epochs->refresh(*epoch);
  if (refreshes_every_time_) {
    until_refresh_ = 1;
    if (--until_look_ != 0) return;
  }
  look_at_clock();
  (refreshes_every_time_ ? until_look_ : until_refresh_) = batch_;
  set_duty(kEmptyInbox, !engine_.inbox_ready.is_empty());
  if (are_tasks_long_ || --batches_before_rest_ == 0) {
    batches_before_rest_ = kBatchesBeforeRest;
    set_duty(kRest, true);
  }
  if (is_pinned_) choose_cpu();
}

/// After every batch: are tasks long enough to be timed one by one (R11), should pools in reach be left to
/// others, how many are the next batch, and does prefetching pay (R6)?
void Worker::look_at_clock() {
  const std::uint64_t now = ticks();
  const std::uint64_t elapsed = now - batch_begin_;
  batch_begin_ = now;
  if (elapsed > ticks_of(batch_ * kTimedMicroseconds)) tasks_to_time_ = kTimedTasks;
  are_tasks_long_ = elapsed > ticks_of(batch_);
  // Others wait for what is done once a batch: for a timestamp to be over, for the inbox to be emptied. One
  // short task says little of those that follow.
  const unsigned ran = batch_;
  const std::uint64_t in_time = ticks_of(kBatchMicroseconds) * ran;
  batch_ = std::min(2 * ran, kRefreshBatch);
  if (elapsed * batch_ > in_time) batch_ = std::max(static_cast<unsigned>(in_time / elapsed), 1u);
  if (!adapts_ || ran != kRefreshBatch) return;
  measured_ += elapsed;
  if (++batches_measured_ < kBatchesAStep) return;
  if (measured_ > before_ + before_ / 64) step_ = -step_;  // it became slower: back again
  const int distance = std::clamp(static_cast<int>(ring_.distance()) + step_, 1, kLargestDistance);
  set_distance(static_cast<unsigned>(distance));
  before_ = measured_;
  measured_ = batches_measured_ = 0;
}

/// With a trace every task is timed, so that without one nobody asks for it.
void Worker::begin_timing(const Task& task) {
  span_ = {0, 0, task.code, task.words[0], task.handle, 0, TraceSpan::Kind::task};
  if (task.is_timestamped()) span_.timestamp = engine::timestamp_of(&task);
  is_put_off_ = false;
  span_.begin = ticks();
}
void Worker::end_timing() {
  span_.end = ticks();
  if (trace_ == nullptr) {
    --tasks_to_time_;
  } else if (!is_put_off_) {
    trace_->add(span_);
  }
  if (span_.end - span_.begin < ticks_of(kLongMicroseconds) || is_put_off_) return;
  counts.long_tasks.add();
  engine_.note_long_task(*span_.code, span_.first_word, span_.end - span_.begin);
}

/// A task, and what it asked for by on_commit() or what waited for its group.
[[gnu::always_inline]] inline void Worker::start_here(Slot slot) {
  for (unsigned in_a_row = 1;; ++in_a_row) {
    if (tasks_to_time_ != 0) [[unlikely]]
      begin_timing(*slot.task());
    execute(slot);
    if (tasks_to_time_ != 0) [[unlikely]]
      end_timing();
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
      fail();
    }
  }
}

/// The exception being handled ends the run: of the system's memory for tasks, if it is of no task.
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
  engine_.failure.add(error);
  engine_.stop();
}

void Worker::run_tasks() {
  enter_epochs();
  time_from_here();
  const Events& events = engine_.events;
  for (;;) {
    const std::uint64_t word = events.look();
    if (word != 0) [[unlikely]] {
      if (!attend(word)) return;
    }
    if (ring_.size() <= ring_.distance()) {
      if (Task* const only = refill()) {
        if (--until_refresh_ == 0) refresh_epoch();
        start(Slot(only));
        continue;
      }
      if (ring_.is_empty()) {
        if (!find_work() && !wait_for_work()) return;
        continue;
      }
    }
    const Slot slot = ring_.pop();
    if (--until_refresh_ == 0) [[unlikely]]
      refresh_epoch();
    start_here(slot);
  }
}

/// Between two tasks, when somebody is idle or wants something. False: the run is over, or this thread ends.
bool Worker::attend(std::uint64_t word) {
  Events& events = engine_.events;
  for (;; word = events.look()) {  // what was asked for while this worker counted as idle
    if ((word & Events::kEnd) != 0 && index_ != 0) return false;
    const bool must_pause = (word & Events::kPaused) != 0 && index_ != 0;
    if ((word & Events::kStop) != 0) {
      drop_everything();  // also before a pause: what is kept would run in the next run
      if (!must_pause) {
        if (!wait_for_work()) return false;
        continue;
      }
    }
    if (must_pause) {
      pause();
    } else if ((word & Events::kAlone) != 0) {
      stand_by();
      // One task before it stands by again: tasks that run alone may never run out.
      word = events.look();
      if ((word & (Events::kStop | Events::kPaused | Events::kEnd)) == 0) break;
    } else {
      break;
    }
  }
  if (Events::idle(word) != 0) share();
  return true;
}

// ---- Who runs next (R5) ----

/// @returns the only task there is, if it is private: it needs no ring, with nobody before it to prefetch
/// for.
Task* Worker::refill() {
  // The worker that was woken has found something else: nobody would take the chunk as long as all are busy.
  // It is given the time that it needs to arrive, since it stops to count as idle before it looks at chunks.
  // Tasks so long that another worker may well come meanwhile stay.
  if (published_.load(std::memory_order_relaxed) != nullptr && Events::idle(engine_.events.look()) == 0 &&
      (duties_ & kShare) == 0) [[unlikely]] {
    if (ticks() - published_at_ >= ticks_of(kMicrosecondsToArrive)) take_back();
  }
  // Here, where no task is on its way from the ring to its run.
  if (duties_ != 0) [[unlikely]]
    do_duties();
  const bool has_only_tasks = now_.is_empty() && packed_now_.is_empty() && high_.is_empty() &&
                              low_.is_empty() &&
                              (!has_pools || (ready_.is_empty() && pinned_.is_empty() && alone_.is_empty()));
  // The rest is not inlined: the way of a task that is alone saves no registers.
  if (!has_only_tasks) {
    fill_ring_from_all();
  } else if (!own_.has_only_created() || tasks.is_empty() || !ring_.is_empty() || was_robbed_ ||
             next_of(tasks.first()) != nullptr) {
    if (!own_.is_empty()) take_own(threshold(kBatch, 1u));
  } else {
    ++taken_;
    return tasks.take();
  }
  return nullptr;
}

void Worker::fill_ring_from_all() {
  if (!alone_.is_empty() && (++refills_before_alone_ > kRefillsBeforeAlone || is_turn_alone())) {
    refills_before_alone_ = 0;
    run_alone();
  }
  if (has_pools && are_tasks_long_ && !ready_.is_empty()) ++times_left_;  // taking one begins anew
  Waiting waiting = look_at_sources();
  // Bounded: to share with an idle worker may take tasks out of the ring again.
  for (unsigned tries = 0; tries <= ring_.distance() && ring_.size() <= ring_.distance(); ++tries) {
    // None of lower priority than the next: that one may create others that go first, and a pool gives more
    // at once later.
    const unsigned last = ring_.is_empty() ? kPriorities - 1 : rank_of(ring_.at(0).task());
    if (!take_eligible(waiting, last)) break;
  }
}

/// Tasks of other threads need not wait until a worker is idle, nor others until a long task has ended.
void Worker::do_duties() {
  if ((duties_ & kEmptyInbox) != 0) {
    set_duty(kEmptyInbox, false);
    empty_inbox();
  }
  if ((duties_ & kRest) != 0) {
    set_duty(kRest, false);
    look_after_rest();
  }
  if ((duties_ & kShare) != 0) share();
}

/// What else only a worker does that has found nothing to run (find_work()), and that others may wait for:
/// tasks that never run out must not keep it from that for ever (R10).
void Worker::look_after_rest() {
  // Who was woken for a chunk takes a while to come.
  if (published_.load(std::memory_order_relaxed) != nullptr &&
      ticks() - published_at_ >= ticks_of(kMicrosecondsBeforeReturn))
    take_back();
  settle();
  const std::uint64_t finished = counts.finished.get();
  if (must_distribute_.load(std::memory_order_seq_cst)) {
    must_distribute_.store(false, std::memory_order_relaxed);
    distribute_own();
  } else if (!rest_.is_empty() && (are_tasks_long_ || finished - finished_at_slice_ >= kTasksASlice)) {
    distribute_slice();
  }
  if (owns_order() && !advance()) leave_inline();
  // A timestamp may never end, and what it has created since it began may have come into a pool, or wait for
  // a group; pools are closed while it runs outside them.
  const Order& order = engine_.order;
  if (has_pools && owns_order() && order.left != 0 && !order.is_shared.load(std::memory_order_relaxed) &&
      order.has_mixed.load(std::memory_order_relaxed))
    share_phase();
}

/// Most are empty most of the time.
Worker::Waiting Worker::look_at_sources() const {
  Waiting found;
  if (!high_.is_empty()) found.add(0, kPrivate);
  if (!own_.is_empty()) found.add(kNormalRank, kPrivate);
  if (!low_.is_empty()) found.add(kPriorities - 1, kPrivate);
  if (!packed_now_.is_empty()) found.add(kNormalRank, kPacked);
  const auto add_ranks = [&found](const auto& source, unsigned bit) {
    if (source.is_empty()) return;
    for (unsigned rank = 0; rank < kPriorities; ++rank)
      if (!source.is_empty(rank)) found.add(rank, bit);
  };
  add_ranks(now_, kCurrent);
  if (!has_pools) return found;
  add_ranks(ready_, kReady);
  add_ranks(pinned_, kPinned);
  return found;
}

/// Moves what runs next into the ring: of the best priority that waits, from the current timestamp's tasks,
/// ready pools and private tasks in turn; after 64 tasks one of a lower priority. Groups and timestamps were
/// decided before: what is in these lists may run now. A ready pool may have nothing to give at the moment;
/// then the next priority has its turn. Sources that it finds empty are no longer `waiting`.
/// @returns false if there is nothing.
bool Worker::take_eligible(Waiting& waiting, unsigned last) {
  for (unsigned best = 0; best <= last; ++best) {
    if (waiting.of(best) != 0 && take_of_rank(best, waiting)) return true;
  }
  return false;
}

/// `rank`: the best that is looked at. Something waits there.
bool Worker::take_of_rank(unsigned rank, Waiting& waiting) {
  std::uint64_t limit = threshold(kBatch, 1u);
  for (unsigned lower = kPriorities - 1; lower > rank; --lower) {
    if (waiting.of(lower) == 0) continue;
    if (passed_[lower] >= kPassLimit) {
      rank = lower;
      limit = 1;
      break;
    }
    limit = std::min(limit, kPassLimit - passed_[lower]);
  }
  const unsigned before = ring_.size();
  if ((waiting.of(rank) & kCurrent) != 0 && current_row_ < threshold(kCurrentRow, 1u)) {
    ++current_row_;
    if (!take_from(kCurrent, rank, limit)) waiting.remove(rank, kCurrent);
  } else {
    current_row_ = 0;
  }
  for (unsigned left = waiting.of(rank); left != 0 && ring_.size() == before;) {
    const unsigned later = left & ~(last_source_ | (last_source_ - 1));
    const unsigned from = later != 0 ? later : left;
    last_source_ = from & -from;  // the next in turn
    left &= ~last_source_;
    if (!take_from(last_source_, rank, limit)) waiting.remove(rank, last_source_);
  }
  const unsigned taken = ring_.size() > before ? ring_.size() - before : 0;
  for (unsigned lower = rank + 1; lower < kPriorities; ++lower) {
    passed_[lower] = waiting.of(lower) != 0 ? passed_[lower] + taken : 0;
  }
  passed_[rank] = 0;
  return taken != 0;
}

/// Up to `limit` tasks. @returns whether the source has more.
bool Worker::take_from(unsigned source, unsigned rank, std::uint64_t limit) {
  const auto from_list = [this, limit](TaskList& list) {
    ring_.push_from(list, limit);
    return !list.is_empty();
  };
  const auto from_pool = [this, rank](ReadySet<StdAtomics>& set) {
    take_from_pool(set, rank, true);
    return !set.is_empty(rank);
  };
  switch (source) {
    case kCurrent:
      return from_list(now_.lanes[rank]);
    case kReady:
      return from_pool(ready_);
    case kPinned:
      return from_pool(pinned_);
    case kPacked:
      take_packed_now(limit);
      return !packed_now_.is_empty();
    default:
      if (rank != kNormalRank) return from_list(rank == 0 ? high_ : low_);
      take_own(limit);
      return !own_.is_empty();
  }
}

void Worker::take_own(std::uint64_t count) {
  taken_ += own_.take(ring_, count, own_size());
  if (was_robbed_) [[unlikely]]
    share();
}

/// Up to `count` of the current timestamp's packed tasks, which are of normal priority.
void Worker::take_packed_now(std::uint64_t count) {
  for (count = std::min<std::uint64_t>(count, ring_.room()); count != 0 && !packed_now_.is_empty(); --count) {
    ring_.push(Slot(unpack(packed_now_)));
  }
}

bool Worker::take_from_pool(ReadySet<StdAtomics>& set, unsigned rank, bool is_own) {
  if (ring_.room() == 0 || set.is_empty(rank)) return false;
  if (&set != &pinned_) {
    if (!may_take_pools()) return false;  // asked again below, in order with has_mixed
    // What is in the ring nobody can steal. But if nobody is idle it must not wait for ever. Refills are
    // counted, not turns: the others' may come first each time, or this one's once in 64 tasks only.
    if (are_tasks_long_ && !ring_.is_empty() && times_left_ < kPassLimit) return false;
    times_left_ = 0;
  }
  unsigned last = last_claimed_;
  const unsigned index = set.claim(rank, last);
  if (index == kNoPool) return false;
  TaskPool& pool = &set == &pinned_ ? engine_.pinned_pool(index_) : engine_.shared_pool(index);
  if (&set != &pinned_) last_claimed_ = last;
  if (&set != &pinned_ && engine_.order.is_inline.load(std::memory_order_seq_cst)) {
    if (!may_take_pools()) {
      make_ready(pool);
      return false;
    }
    end_inline();  // the owner, done with them
  }
  if (!is_own) {
    counts.pools_stolen.add();
    pool.home = index_;  // else it would have to steal the pool again and again
  }
  take_batch(pool);
  return true;
}

/// Moves linked tasks of a pool that this worker claimed into the ring, by priority.
void Worker::take_batch(TaskPool& pool) {
  if (!pool.packed.is_empty()) return take_packed(pool);
  Pool<StdAtomics, Task>::Taken batch[Ring::kSlots];
  const unsigned room = std::min(ring_.room(), threshold(Ring::kSlots / 2, 2u));
  unsigned size = 0;
  bool is_sorted = true;
  unsigned rank = 0;
  while (size < room) {
    batch[size] = pool.take();
    if (batch[size].node == nullptr) break;
    if (is_carrier(batch[size].node)) {
      pool.packed = list_of(batch[size].node);
      if (!batch[size].is_last) free_block(batch[size].node);
      if (size == 0) return take_packed(pool);
      break;
    }
    is_sorted = is_sorted && rank_of(batch[size].node) >= rank;
    rank = rank_of(batch[size].node);
    ++size;
    if (batch[size - 1].is_last) break;
  }
  if (size == 0) {  // a push is half-linked: let its thread go on
    finish_pool(pool);
    std::this_thread::yield();
    return;
  }
  if (!is_sorted) {
    std::stable_sort(batch, batch + size,
                     [](const auto& a, const auto& b) { return rank_of(a.node) < rank_of(b.node); });
  }
  const bool is_early = has_fault(Fault::pool_let_go_early) && !batch[size - 1].is_last;
  const unsigned owner = is_early ? 0 : size - 1;  // with whose end the pool is let go
  for (unsigned i = 0; i < size; ++i) {
    ring_.push(Slot(batch[i].node, batch[i].is_last, i == owner ? &pool : nullptr));
  }
}

/// Packed tasks of a pool that this worker claimed. The ring has room.
void Worker::take_packed(TaskPool& pool) {
  unsigned n = std::min(ring_.room(), threshold(Ring::kSlots / 2, 2u));
  try {
    for (; n != 0 && !pool.packed.is_empty(); --n) {
      Task* const task = unpack(pool.packed);
      ring_.push(Slot(task, false, n == 1 || pool.packed.is_empty() ? &pool : nullptr));
    }
  } catch (...) {
    fail();
    finish_pool(pool);  // for who drops what is in it: none of the tasks in the ring will run
  }
}

// ---- Nothing to run ----

bool Worker::find_work() {
  if ((engine_.events.look() & Events::kStop) != 0) {
    drop_everything();  // the ring is empty, the lists need not be; who idles holds no task
    return false;
  }
  if (!deferred_.is_empty()) route_deferred();  // of the destructor of a removed resource
  settle();
  // What was in the ring may have been taken out of it again, to be shared.
  if (!own_.is_empty() || !now_.is_empty() || !packed_now_.is_empty() || !high_.is_empty() ||
      !low_.is_empty()) {
    return true;
  }
  if (distribute_slice()) return true;
  if (owns_order()) {
    if (advance()) {
      run_in_order();
      return true;
    }
    leave_inline();
  }
  if (!alone_.is_empty() && run_alone()) return true;
  if (take_back()) return true;
  if (empty_inbox()) return true;
  if (has_pools && steal()) return true;
  if (alone_.is_empty()) return false;
  std::this_thread::yield();
  return true;
}

// ---- After a failure ----

/// Destroys all private tasks unrun; others' are theirs, and pools are emptied when all workers have stopped.
void Worker::drop_everything() {
  is_dropping_ = true;
  const auto drop = [this](Task* task) {
    finish(task);
    destroy(task);
  };
  while (!ring_.is_empty()) {
    const Slot slot = ring_.pop();
    drop(slot.task());
    if (!slot.is_kept()) free_block(slot.task());
    if (slot.pool() != nullptr) finish_pool(*slot.pool());
  }
  drop_packed(packed_now_);
  flush_parts();  // what was about to go into pools is destroyed there
  while (!rest_.is_empty()) {
    Task* const task = rest_.take();
    drop(task);
    free_block(task);
  }
  do {  // the destructors of all these may create tasks
    for (Chain chain = own_.take_oldest(~std::uint64_t{0}); !chain.is_empty();) {
      Task* const task = chain.take();
      drop(task);
      free_block(task);
    }
    for (TaskList* list :
         {&high_, &low_, &alone_, &deferred_, &now_.lanes[0], &now_.lanes[1], &now_.lanes[2]}) {
      while (!list->is_empty()) {
        Task* const task = list->take();
        drop(task);
        free_block(task);
      }
    }
  } while (has_created_anything());
  taken_ = created.load(std::memory_order_relaxed) + appended_;
  is_dropping_ = false;
}

}  // namespace rubato::runtime
