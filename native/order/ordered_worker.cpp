// SPDX-License-Identifier: MIT
// A worker's part in timestamp order; the rules are in native/order/order.hpp.
#include <algorithm>

#include "native/engine.hpp"
#include "native/fault.hpp"
#include "native/worker/worker.hpp"

namespace rubato::runtime {
namespace {

/// From so many tasks of one timestamp on, each worker hands out its own heap's.
constexpr std::uint64_t kDistributed = 4096;
/// Handed out at once.
constexpr std::uint64_t kSlice = 2048;

/// It neither waits for a group nor runs alone: the quick look.
bool is_ordinary(const Task* task) {
  return (task->handle & (engine::handle::kExtended | engine::handle::kSpec)) == 0;
}

}  // namespace

bool Worker::owns_order() const { return engine_.order.owner.load(std::memory_order_relaxed) == index_; }

/// Its creator runs, or has just ended and is not counted as finished yet; or nothing runs (the inbox).
void Worker::route_timestamped(Task* task) {
  Order& order = engine_.order;
  const bool is_shared = order.is_shared.load(std::memory_order_relaxed);
  const bool is_in_phase = is_shared || (owns_order() && order.left != 0);
  const std::uint64_t at = engine::timestamp_of(task);
  // What waits for a group needs phases in which everybody takes part: its members may be in pools.
  const bool waits = has_pools && engine::after_of(task) != nullptr;
  if (waits && !order.has_mixed.load(std::memory_order_relaxed))
    order.has_mixed.exchange(true, std::memory_order_seq_cst);
  if (!is_in_phase || at != order.current.load(std::memory_order_relaxed) || (waits && !is_shared))
    return keep(task, at);
  if (is_shared) {
    ++phase_delta_;
    if (waits) settle();  // whoever completes the group may run it and count its end at once
  } else {
    ++order.left;
  }
  if (must_block(task)) {
    if (!is_shared) ++order.blocked;
    return;
  }
  append_current(task);
}

/// A task of a later timestamp.
void Worker::keep(Task* task, std::uint64_t at) {
  if (!packed_later_.repeats(at) || !pack(task, at)) heap_.push(task, at);
}

/// False: it is no task for that.
[[gnu::noinline]] bool Worker::pack(Task* task, std::uint64_t at) {
  if ((has_pools && (task->handle & engine::handle::kPooled) == 0) || !is_packable(task) ||
      !packed_later_.wants(task, at))
    return false;
  const unsigned list = has_pools ? engine_.pool(task->handle).index : 0;
  if (!packed_later_.push(task, list, packed_chunks_)) return false;
  counts.packed.add();
  free_block(task);
  return true;
}

/// Of the later timestamps; `bound` says that there are many if any are packed.
[[gnu::always_inline]] inline RadixHeap::Earliest Worker::earliest() const {
  const RadixHeap::Earliest linked = heap_.earliest();
  if (packed_later_.is_empty()) [[likely]]
    return linked;
  const std::uint64_t at = packed_later_.at();
  if (linked.bound != 0 && linked.at < at) return linked;
  return {at, std::max(packed_later_.size(), kDistributed)};
}
/// Too few tasks for several workers.
inline bool Worker::is_worth_less(std::uint64_t count) const { return count < worth_tasks_; }
/// What a task takes has changed.
void Worker::update_worth() {
  worth_tasks_ = std::min(threshold(kDistributed, std::uint64_t{3}),
                          (worth_ticks() + ticks_a_task_ - 1) / ticks_a_task_);
  set_duty(kShare, ticks_a_task_ >= worth_ticks());
}
bool Worker::has_linked(std::uint64_t at) const { return !heap_.is_empty() && heap_.min() == at; }
bool Worker::has_packed(std::uint64_t at) const {
  return !packed_later_.is_empty() && packed_later_.at() == at;
}

/// Between two phases: this worker's or another's packed tasks, for flush_parts().
void Worker::gather_packed(PackedTimestamp& packed) {
  for (unsigned i = 0; i < packed.lists(); ++i) {
    if (packed.is_empty(i)) continue;
    auto* const carrier = static_cast<Task*>(heap.allocate<sizeof(Task)>());
    make_carrier(carrier, packed.take(i));
    append_part(i, carrier);
  }
}

/// The next one as a task; the list must not be empty.
Task* Worker::unpack(PackedTasks& list) {
  auto* const task = static_cast<Task*>(heap.allocate<sizeof(Task)>());
  list.pop(task, packed_chunks_);
  return task;
}

/// After a failure: destroyed unrun.
void Worker::drop_packed(PackedTasks& list) {
  while (!list.is_empty()) {
    Task task;  // no block: there may be no memory
    list.pop(&task, packed_chunks_);
    finish(&task);
  }
}

/// A counted task of the current timestamp, which may run now.
void Worker::append_current(Task* task) {
  const Order& order = engine_.order;
  if (!has_pools) return now_.append(task);
  const bool is_shared = order.is_shared.load(std::memory_order_relaxed);
  if (!is_shared && !owns_order()) {  // a group ended here, whose tasks the owner waits for
    return push_pool(engine_.pinned_pool(order.owner.load(std::memory_order_relaxed)), task, task);
  }
  if (task->is_spec()) return alone_.append(task);
  if (!is_shared || (task->handle & engine::handle::kPooled) == 0) return now_.append(task);
  settle();
  push_pool(engine_.pool(task->handle), task, task);
}

void Worker::end_timestamped() {
  Order& order = engine_.order;
  if (order.is_shared.load(std::memory_order_relaxed)) {
    --phase_delta_;
  } else if (owns_order() && order.left != 0) {
    if (--order.left == 0 && order.has_mixed.load(std::memory_order_relaxed)) leave_inline();
  }
}

void Worker::settle() {
  if (phase_delta_ == 0) return;
  Order& order = engine_.order;
  const std::int64_t delta = std::exchange(phase_delta_, 0);
  const std::int64_t outstanding = order.outstanding.fetch_add(delta, std::memory_order_acq_rel) + delta;
  if (outstanding != 0 && !(outstanding == 1 && has_fault(Fault::early_timestamp))) return;
  order.left = 0;
  order.is_shared.store(false, std::memory_order_relaxed);
  order.owner.store(index_, std::memory_order_relaxed);
}

/// The owner: on to the next timestamp. @returns whether there is something to run, here or elsewhere.
bool Worker::advance() {
  Order& order = engine_.order;
  if (order.left != 0 || order.is_shared.load(std::memory_order_relaxed)) return false;
  const RadixHeap::Earliest own = earliest();
  if (!has_pools) return own.bound != 0 && begin_inline(*this, own.at);
  if (own.bound != 0 && own.at < order.others && is_worth_less(own.bound) && may_run_inline()) [[likely]] {
    return begin_inline(*this, own.at);
  }
  update_worth();
  return advance_all();
}

/// The same, after a look at every worker's heap.
bool Worker::advance_all() {
  Order& order = engine_.order;
  std::uint64_t at = 0, bound = 0;
  unsigned holders = 0;
  Worker* holder = nullptr;
  order.others = RadixHeap::kNone;
  for (unsigned w = 0; w < engine_.workers(); ++w) {
    Worker& worker = engine_.worker(w);
    const auto [first, count] = worker.earliest();
    if (count == 0) continue;
    if (w != index_) order.others = std::min(order.others, first);
    if (holders == 0 || first < at) {
      at = first;
      bound = holders = 0;
    }
    if (first != at) continue;
    bound += count;
    ++holders;
    holder = &worker;
  }
  if (holders == 0) return false;
  if (holders == 1 && is_worth_less(bound) && may_run_inline()) return begin_inline(*holder, at);
  order.current.store(at, std::memory_order_relaxed);
  order.blocked = 0;
  counts.timestamps.add();
  if (bound >= threshold(kDistributed, std::uint64_t{3})) {
    begin_large(at);
    return true;
  }
  Chain all;
  for (unsigned w = 0; w < engine_.workers(); ++w) {
    Worker& worker = engine_.worker(w);
    if (worker.has_linked(at)) all.append(worker.heap_.pop_min());
  }
  if (!is_worth_less(all.size) || !may_run_inline()) {
    begin_shared(static_cast<std::int64_t>(all.size));
    const std::uint64_t size = all.size;
    distribute(all);
    if (size > 1) wake(size - 1);
    return true;
  }
  order.left = all.size;
  return append_inline(all);
}

/// A shared phase in which every worker hands out what its heap has; packed tasks are in lists for the pools
/// already.
void Worker::begin_large(std::uint64_t at) {
  // Before the phase: in it other workers' heaps are theirs.
  std::uint64_t unfinished = 0;  // who has linked tasks is one until he has counted them
  others_.clear();
  for (unsigned w = 0; w < engine_.workers(); ++w) {
    Worker& worker = engine_.worker(w);
    if (worker.has_linked(at)) {
      ++unfinished;
      if (w != index_) others_.push_back(&worker);
    }
    if (!worker.has_packed(at)) continue;
    unfinished += worker.packed_later_.size();
    gather_packed(worker.packed_later_);
  }
  const bool has_own = has_linked(at);
  begin_shared(static_cast<std::int64_t>(unfinished));
  for (Worker* const worker : others_) worker->must_distribute_.store(true, std::memory_order_seq_cst);
  flush_parts();
  wake(engine_.workers() - 1);
  if (has_own) distribute_own();
}

/// The earliest timestamp is in one heap, and its tasks run here.
bool Worker::begin_inline(Worker& holder, std::uint64_t at) {
  Order& order = engine_.order;
  order.current.store(at, std::memory_order_relaxed);
  order.blocked = 0;
  counts.timestamps.add();
  if (!holder.packed_later_.is_empty()) [[unlikely]]
    return begin_packed(holder, at);
  const Chain chain = holder.heap_.pop_min();
  order.left = chain.size;
  if (chain.size == 1 && is_ordinary(chain.first)) [[likely]] {
    now_.append(chain.first);
    return true;
  }
  return append_inline(chain);
}

/// The same if the holder has packed tasks, of this timestamp or a later one.
bool Worker::begin_packed(Worker& holder, std::uint64_t at) {
  Order& order = engine_.order;
  Chain chain;
  if (holder.has_linked(at)) chain = holder.heap_.pop_min();
  order.left = chain.size;
  if (!has_pools && has_packed(at)) {
    packed_now_ = packed_later_.take(0);
    order.left += packed_now_.size();
  }
  return append_inline(chain) || !packed_now_.is_empty();
}

/// False: all of them wait for groups.
bool Worker::append_inline(Chain chain) {
  bool has_work = false;
  while (!chain.is_empty()) {
    Task* const task = chain.take();
    if (is_ordinary(task)) {
      now_.append(task);
    } else if (task->is_extended() && must_block(task)) {
      ++engine_.order.blocked;
      continue;
    } else if (has_pools && task->is_spec()) {
      alone_.append(task);
    } else {
      now_.append(task);
    }
    has_work = true;
  }
  return has_work;
}

/// The owner, with an empty ring: timestamps of few tasks, one after the other, without the ring. Stops when
/// anything else wants the worker's attention; what is left is in the lists.
void Worker::run_in_order() {
  const std::uint64_t word = engine_.events.look();
  constexpr unsigned kShort = 4;  // tasks of a timestamp: more are worth prefetching
  // Pools and who idles wait until it is worth a look at the clock: some microseconds.
  update_worth();
  const std::uint64_t stride = std::clamp<std::uint64_t>(worth_tasks_, 1, 64);
  for (std::uint64_t until_look = stride;;) {
    if (!owns_order()) return;  // others take part: what this one has is to be shared before it begins
    for (unsigned i = 0; !now_.normal().is_empty(); ++i) {
      if (i >= threshold(kShort, 1u) || !now_.has_only_normal()) return;
      if (--until_refresh_ == 0) refresh_epoch();
      start(Slot(now_.normal().take()));
      if (engine_.events.look() != word) return;
    }
    if (--until_look == 0) {
      until_look = stride;
      if (Events::idle(word) != 0) share();
      if ((duties_ & kEmptyInbox) != 0 || (has_pools && (!ready_.is_empty() || !pinned_.is_empty()))) return;
      if ((duties_ & kRest) != 0 && published_.load(std::memory_order_relaxed) != nullptr) return;
    }
    if (!own_.is_empty() || !packed_now_.is_empty() || !high_.is_empty() || !low_.is_empty() ||
        !alone_.is_empty() || !owns_order() || !advance()) {
      return;
    }
  }
}

/// Whether tasks with locales may run outside their pools, by the owner: no others use pools.
inline bool Worker::may_run_inline() {
  const Order& order = engine_.order;
  const bool may =
      order.is_inline.load(std::memory_order_relaxed) && !order.has_mixed.load(std::memory_order_seq_cst);
  return may || begin_to_run_inline();
}
bool Worker::begin_to_run_inline() {
  Order& order = engine_.order;
  if (order.has_mixed.load(std::memory_order_relaxed)) {  // for the rest of the run
    leave_inline();
    return false;
  }
  if (!order.is_inline.load(std::memory_order_relaxed))
    order.is_inline.exchange(true, std::memory_order_seq_cst);
  if (!order.has_mixed.load(std::memory_order_seq_cst)) return true;
  end_inline();
  return false;
}

/// The owner, between two phases or with nothing to run.
void Worker::leave_inline() {
  const Order& order = engine_.order;
  if (order.is_inline.load(std::memory_order_relaxed) && order.left == 0) end_inline();
}

/// Pools are for everybody again. Who found them closed may sleep: ordered against its look as work is
/// against can_find_work().
void Worker::end_inline() {
  Order& order = engine_.order;
  order.is_inline.store(false, std::memory_order_seq_cst);
  if (!order.has_mixed.load(std::memory_order_seq_cst)) return;
  unsigned ready = 0;
  for (unsigned w = 0; w < engine_.workers(); ++w) {
    const Worker& worker = engine_.worker(w);
    if (worker.has_ready_pools()) ready += std::max(worker.ready_.size(), 1u);
  }
  if (ready != 0) wake(ready);
}

/// The owner gives up being it: `unfinished` tasks are counted, and the last that ends makes its worker the
/// owner.
void Worker::begin_shared(std::int64_t unfinished) {
  Order& order = engine_.order;
  counts.shared_timestamps.add();
  order.left = 0;
  order.others = 0;
  order.outstanding.store(unfinished, std::memory_order_relaxed);
  leave_inline();
  order.is_shared.store(true, std::memory_order_relaxed);
  order.owner.store(Order::kNoOwner, std::memory_order_relaxed);
}

/// This worker's part of a shared phase, which counts as one task.
void Worker::distribute_own() {
  rest_ = heap_.pop_min();
  engine_.order.outstanding.fetch_add(static_cast<std::int64_t>(rest_.size) - 1, std::memory_order_acq_rel);
  distribute_slice();
}

/// Few at once: what is handed out is still in the cache when it runs. @returns whether there was anything.
bool Worker::distribute_slice() {
  if (rest_.is_empty()) return false;
  Chain slice;
  while (!rest_.is_empty() && slice.size < threshold(kSlice, std::uint64_t{2})) slice.append(rest_.take());
  finished_at_slice_ = counts.finished.get();
  distribute(slice);
  return true;
}

/// Counted tasks of the current timestamp to where they run in a shared phase.
void Worker::distribute(Chain chain) {
  while (!chain.is_empty()) {
    Task* const task = chain.take();
    if (must_block(task)) continue;
    if (task->is_spec() || (task->handle & engine::handle::kPooled) == 0) {
      append_current(task);
      continue;
    }
    const unsigned index = engine_.pool(task->handle).index;
    append_part(index, task);
  }
  flush_parts();
}

/// To the pool of this index, as soon as flush_parts() is called.
void Worker::append_part(unsigned index, Task* task) {
  if (parts_[index].is_empty()) touched_.push_back(index);
  parts_[index].append(task);
}
void Worker::flush_parts() {
  for (const unsigned index : touched_) {
    const Chain part = std::exchange(parts_[index], {});
    push_pool(engine_.shared_pool(index), part.first, part.last);
  }
  touched_.clear();
}

/// In the middle of an inline phase: others take part from now on. False: not possible at the moment.
bool Worker::share_phase() {
  Order& order = engine_.order;
  if (order.blocked != 0) return false;
  bool has_any = !now_.is_empty();
  for (unsigned i = 0; i < ring_.size() && !has_any; ++i) has_any = ring_.at(i).task()->is_timestamped();
  if (!has_any) return false;  // they run alone: to empty the ring for nothing again and again is no progress
  return_ring(0);
  for (unsigned i = 0; i < ring_.size(); ++i) {
    if (ring_.at(i).task()->is_timestamped()) return false;
  }
  Chain chain;
  for (TaskList& lane : now_.lanes) {
    while (!lane.is_empty()) chain.append(lane.take());
  }
  if (chain.is_empty()) return false;
  if (has_linked(order.current.load(std::memory_order_relaxed))) {  // kept: they wait for groups
    const Chain kept = heap_.pop_min();
    order.left += kept.size;
    chain.append(kept);
  }
  begin_shared(static_cast<std::int64_t>(order.left));
  const std::uint64_t size = chain.size;
  distribute(chain);
  wake(size);
  return true;
}

}  // namespace rubato::runtime
