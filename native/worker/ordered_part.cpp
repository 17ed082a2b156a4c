// SPDX-License-Identifier: MIT
#include "native/worker/ordered_part.hpp"

#include <algorithm>
#include <utility>

#include "native/fault.hpp"
#include "native/policy.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {
namespace {

/// Quick look: the task neither waits for a group nor runs alone.
bool is_ordinary(const Task* task) {
  return (task->handle & (engine::handle::kExtended | engine::handle::kSpec)) == 0;
}

}  // namespace

OrderedPart::OrderedPart(Worker& worker)
    : worker_(worker),
      shared_(worker.shared),
      order_(worker.shared.order),
      lists_(worker.lists),
      index_(worker.index),
      has_pools_(worker.shared.workers() > 1),
      packed_later_(has_pools_ ? worker.shared.pools.count() : 1),
      packed_chunks_(worker.shared.packed_memory),
      parts_(worker.shared.pools.count()) {
  touched_.reserve(parts_.size());
  others_.reserve(worker.shared.workers());
}

void OrderedPart::reset() {
  heap_.reset();
  packed_later_.reset();
}

void OrderedPart::route(Task* task) {
  Order& order = order_;
  const bool is_shared = order.is_shared.load(std::memory_order_relaxed);
  const bool is_in_phase = is_shared || (owns_order() && order.left != 0);
  const std::uint64_t at = engine::timestamp_of(task);
  // Tasks that wait for a group need phases in which all workers take part: the group's members may be in
  // pools.
  const bool waits = has_pools_ && engine::after_of(task) != nullptr;
  if (waits && !order.has_mixed.load(std::memory_order_relaxed))
    order.has_mixed.exchange(true, std::memory_order_seq_cst);
  if (!is_in_phase || at != order.current.load(std::memory_order_relaxed) || (waits && !is_shared))
    return keep(task, at);
  if (is_shared) {
    ++phase_delta_;
    if (waits) settle();  // the worker that completes the group may run it and count its end at once
  } else {
    ++order.left;
  }
  if (worker_.must_block(task)) {
    if (!is_shared) ++order.blocked;
    return;
  }
  append_current(task);
}

/// A task of a later timestamp.
void OrderedPart::keep(Task* task, std::uint64_t at) {
  if (!packed_later_.repeats(at) || !pack(task, at)) heap_.push(task, at);
}

/// False: it is no task for that.
[[gnu::noinline]] bool OrderedPart::pack(Task* task, std::uint64_t at) {
  if ((has_pools_ && (task->handle & engine::handle::kPooled) == 0) || !is_packable(task) ||
      !packed_later_.wants(task, at))
    return false;
  const unsigned list = has_pools_ ? shared_.pools.of(task->handle).index : 0;
  if (!packed_later_.push(task, list, packed_chunks_)) return false;
  worker_.counts.packed.add();
  worker_.free_block(task);
  return true;
}

/// The earliest of the later timestamps; `bound` says that there are many if any are packed.
[[gnu::always_inline]] inline RadixHeap::Earliest OrderedPart::earliest() const {
  const RadixHeap::Earliest linked = heap_.earliest();
  if (packed_later_.is_empty()) [[likely]]
    return linked;
  const std::uint64_t at = packed_later_.at();
  if (linked.bound != 0 && linked.at < at) return linked;
  return {at, std::max(packed_later_.size(), policy::kDistributed)};
}
/// Too few tasks for several workers.
inline bool OrderedPart::is_worth_less(std::uint64_t count) const {
  return count < worker_.sharing.worth().tasks();
}

/// Between two phases: this worker's or another's packed tasks, for flush_parts().
void OrderedPart::gather_packed(PackedTimestamp& packed) {
  for (unsigned i = 0; i < packed.lists(); ++i) {
    if (packed.is_empty(i)) continue;
    auto* const carrier = static_cast<Task*>(worker_.heap.allocate<sizeof(Task)>());
    make_carrier(carrier, packed.take(i));
    append_part(i, carrier);
  }
}

Task* OrderedPart::unpack(PackedTasks& list) {
  auto* const task = static_cast<Task*>(worker_.heap.allocate<sizeof(Task)>());
  list.pop(task, packed_chunks_);
  return task;
}

void OrderedPart::drop_packed(PackedTasks& list) {
  while (!list.is_empty()) {
    Task task;  // no block: there may be no memory
    list.pop(&task, packed_chunks_);
    worker_.finish(&task);
  }
}

void OrderedPart::append_current(Task* task) {
  const Order& order = order_;
  if (!has_pools_) return lists_.now().append(task);
  const bool is_shared = order.is_shared.load(std::memory_order_relaxed);
  if (!is_shared && !owns_order()) {  // a group ended here, whose tasks the owner waits for
    return worker_.pools.push(shared_.pools.pinned(order.owner.load(std::memory_order_relaxed)), task, task);
  }
  if (task->is_spec()) return worker_.alone.append(task);
  if (!is_shared || (task->handle & engine::handle::kPooled) == 0) return lists_.now().append(task);
  settle();
  worker_.pools.push(shared_.pools.of(task->handle), task, task);
}

void OrderedPart::end_task() {
  Order& order = order_;
  if (order.is_shared.load(std::memory_order_relaxed)) {
    --phase_delta_;
  } else if (owns_order() && order.left != 0) {
    if (--order.left == 0 && order.has_mixed.load(std::memory_order_relaxed)) leave_inline();
  }
}

void OrderedPart::settle() {
  if (phase_delta_ == 0) return;
  Order& order = order_;
  const std::int64_t delta = std::exchange(phase_delta_, 0);
  const std::int64_t outstanding = order.outstanding.fetch_add(delta, std::memory_order_acq_rel) + delta;
  if (outstanding != 0 && !(outstanding == 1 && has_fault(Fault::early_timestamp))) return;
  order.left = 0;
  order.is_shared.store(false, std::memory_order_relaxed);
  order.owner.store(index_, std::memory_order_relaxed);
}

bool OrderedPart::advance() {
  Order& order = order_;
  if (order.left != 0 || order.is_shared.load(std::memory_order_relaxed)) return false;
  const RadixHeap::Earliest own = earliest();
  if (!has_pools_) return own.bound != 0 && begin_inline(*this, own.at);
  if (own.bound != 0 && own.at < order.others && is_worth_less(own.bound) && may_run_inline()) [[likely]] {
    return begin_inline(*this, own.at);
  }
  worker_.sharing.update_worth();
  return advance_all();
}

/// The same, after a look at every worker's heap.
bool OrderedPart::advance_all() {
  Order& order = order_;
  std::uint64_t at = 0, bound = 0;
  unsigned holders = 0;
  OrderedPart* holder = nullptr;
  order.others = RadixHeap::kNone;
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    OrderedPart& part = shared_.worker(w).ordered;
    const auto [first, count] = part.earliest();
    if (count == 0) continue;
    if (w != index_) order.others = std::min(order.others, first);
    if (holders == 0 || first < at) {
      at = first;
      bound = holders = 0;
    }
    if (first != at) continue;
    bound += count;
    ++holders;
    holder = &part;
  }
  if (holders == 0) return false;
  if (holders == 1 && is_worth_less(bound) && may_run_inline()) return begin_inline(*holder, at);
  order.current.store(at, std::memory_order_relaxed);
  order.blocked = 0;
  worker_.counts.timestamps.add();
  if (bound >= threshold(policy::kDistributed, std::uint64_t{3})) {
    begin_large(at);
    return true;
  }
  Chain all;
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    OrderedPart& part = shared_.worker(w).ordered;
    if (part.has_linked(at)) all.append(part.heap_.pop_min());
  }
  if (!is_worth_less(all.size) || !may_run_inline()) {
    begin_shared(static_cast<std::int64_t>(all.size));
    const std::uint64_t size = all.size;
    distribute(all);
    if (size > 1) worker_.sharing.wake(size - 1);
    return true;
  }
  order.left = all.size;
  return append_inline(all);
}

/// A shared phase in which every worker hands out what its heap has; packed tasks are in lists for the pools
/// already.
void OrderedPart::begin_large(std::uint64_t at) {
  // Before the phase: in it other workers' heaps are theirs.
  std::uint64_t unfinished = 0;  // a worker with linked tasks counts as one until it has counted them
  others_.clear();
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    OrderedPart& part = shared_.worker(w).ordered;
    if (part.has_linked(at)) {
      ++unfinished;
      if (w != index_) others_.push_back(&part);
    }
    if (!part.has_packed(at)) continue;
    unfinished += part.packed_later_.size();
    gather_packed(part.packed_later_);
  }
  const bool has_own = has_linked(at);
  begin_shared(static_cast<std::int64_t>(unfinished));
  for (OrderedPart* const part : others_)
    part->worker_.seen.must_distribute.store(true, std::memory_order_seq_cst);
  flush_parts();
  worker_.sharing.wake(shared_.workers() - 1);
  if (has_own) distribute_own();
}

/// The earliest timestamp is in one heap, and its tasks run here.
bool OrderedPart::begin_inline(OrderedPart& holder, std::uint64_t at) {
  Order& order = order_;
  order.current.store(at, std::memory_order_relaxed);
  order.blocked = 0;
  worker_.counts.timestamps.add();
  if (!holder.packed_later_.is_empty()) [[unlikely]]
    return begin_packed(holder, at);
  const Chain chain = holder.heap_.pop_min();
  order.left = chain.size;
  if (chain.size == 1 && is_ordinary(chain.first)) [[likely]] {
    lists_.now().append(chain.first);
    return true;
  }
  return append_inline(chain);
}

/// The same if the holder has packed tasks, of this timestamp or a later one.
bool OrderedPart::begin_packed(OrderedPart& holder, std::uint64_t at) {
  Order& order = order_;
  Chain chain;
  if (holder.has_linked(at)) chain = holder.heap_.pop_min();
  order.left = chain.size;
  if (!has_pools_ && has_packed(at)) {
    lists_.packed_now() = packed_later_.take(0);
    order.left += lists_.packed_now().size();
  }
  return append_inline(chain) || !lists_.packed_now().is_empty();
}

/// False: all of them wait for groups.
bool OrderedPart::append_inline(Chain chain) {
  bool has_work = false;
  while (!chain.is_empty()) {
    Task* const task = chain.take();
    if (is_ordinary(task)) {
      lists_.now().append(task);
    } else if (task->is_extended() && worker_.must_block(task)) {
      ++order_.blocked;
      continue;
    } else if (has_pools_ && task->is_spec()) {
      worker_.alone.append(task);
    } else {
      lists_.now().append(task);
    }
    has_work = true;
  }
  return has_work;
}

void OrderedPart::run_in_order() {
  const std::uint64_t word = shared_.events.look();
  // Pools and idle workers wait until it is worth a look at the clock: some microseconds.
  worker_.sharing.update_worth();
  const std::uint64_t stride =
      std::clamp<std::uint64_t>(worker_.sharing.worth().tasks(), 1, policy::kMostTimestamps);
  for (std::uint64_t until_look = stride;;) {
    if (!owns_order()) return;  // others take part: what this one has is to be shared before it begins
    for (unsigned i = 0; !lists_.now().normal().is_empty(); ++i) {
      if (i >= threshold(policy::kShortTimestamp, 1u) || !lists_.now().has_only_normal()) return;
      worker_.refresh_if_due();
      worker_.start(Slot(lists_.now().normal().take()));
      if (shared_.events.look() != word) return;
    }
    if (--until_look == 0) {
      until_look = stride;
      if (EventCount<StdAtomics>::idle(word) != 0) worker_.sharing.share();
      if (worker_.duties.is_due(Duties::kEmptyInbox) ||
          (has_pools_ && (!worker_.seen.ready.is_empty() || !worker_.seen.pinned.is_empty())))
        return;
      if (worker_.duties.is_due(Duties::kRest) &&
          worker_.seen.published.load(std::memory_order_relaxed) != nullptr)
        return;
    }
    if (lists_.has_untimed() || !lists_.packed_now().is_empty() || !worker_.alone.is_empty() ||
        !owns_order() || !advance()) {
      return;
    }
  }
}

/// Whether tasks with locales may run outside their pools, by the owner: no others use pools.
inline bool OrderedPart::may_run_inline() {
  const Order& order = order_;
  const bool may =
      order.is_inline.load(std::memory_order_relaxed) && !order.has_mixed.load(std::memory_order_seq_cst);
  return may || begin_to_run_inline();
}
bool OrderedPart::begin_to_run_inline() {
  Order& order = order_;
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

void OrderedPart::leave_inline() {
  const Order& order = order_;
  if (order.is_inline.load(std::memory_order_relaxed) && order.left == 0) end_inline();
}

void OrderedPart::end_inline() {
  Order& order = order_;
  order.is_inline.store(false, std::memory_order_seq_cst);
  if (!order.has_mixed.load(std::memory_order_seq_cst)) return;
  std::uint64_t ready = 0;
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    const SeenByOthers& seen = shared_.worker(w).seen;
    if (seen.has_ready_pools()) ready += std::max(seen.ready.size(), 1u);
  }
  // Pools with places may be those of a certain sleeper.
  if (ready != 0) worker_.sharing.wake(shared_.pools.have_places() ? Sharing::kAll : ready);
}

/// The owner gives up being it: `unfinished` tasks are counted, and the last that ends makes its worker the
/// owner.
void OrderedPart::begin_shared(std::int64_t unfinished) {
  Order& order = order_;
  worker_.counts.shared_timestamps.add();
  order.left = 0;
  order.others = 0;
  order.outstanding.store(unfinished, std::memory_order_relaxed);
  leave_inline();
  order.is_shared.store(true, std::memory_order_relaxed);
  order.owner.store(Order::kNoOwner, std::memory_order_relaxed);
}

bool OrderedPart::may_take_pools() const {
  return !order_.is_inline.load(std::memory_order_seq_cst) || (owns_order() && order_.left == 0);
}
bool OrderedPart::are_pools_open() const { return !order_.is_inline.load(std::memory_order_seq_cst); }
bool OrderedPart::is_inline() const {
  return owns_order() && order_.left != 0 && !order_.is_shared.load(std::memory_order_relaxed);
}

bool OrderedPart::distribute_if_asked() {
  Atomic<bool>& must_distribute = worker_.seen.must_distribute;
  if (!must_distribute.load(std::memory_order_seq_cst)) return false;
  must_distribute.store(false, std::memory_order_relaxed);
  distribute_own();
  return true;
}

void OrderedPart::look_after_rest(bool are_tasks_long) {
  settle();
  if (!distribute_if_asked() && !rest_.is_empty() &&
      (are_tasks_long || worker_.counts.finished.get() - finished_at_slice_ >= policy::kTasksASlice)) {
    distribute_slice();
  }
  if (owns_order() && !advance()) leave_inline();
  // A timestamp may never end, and what it has created since it began may have come into a pool, or wait for
  // a group; pools are closed while it runs outside them.
  if (has_pools_ && is_inline() && order_.has_mixed.load(std::memory_order_relaxed)) share_phase();
}

/// Distributes this worker's part of a shared phase, which counts as one task.
void OrderedPart::distribute_own() {
  rest_ = heap_.pop_min();
  order_.outstanding.fetch_add(static_cast<std::int64_t>(rest_.size) - 1, std::memory_order_acq_rel);
  distribute_slice();
}

bool OrderedPart::distribute_slice() {
  if (rest_.is_empty()) return false;
  Chain slice;
  while (!rest_.is_empty() && slice.size < threshold(policy::kSlice, std::uint64_t{2}))
    slice.append(rest_.take());
  finished_at_slice_ = worker_.counts.finished.get();
  distribute(slice);
  return true;
}

/// Counted tasks of the current timestamp to where they run in a shared phase.
void OrderedPart::distribute(Chain chain) {
  while (!chain.is_empty()) {
    Task* const task = chain.take();
    if (worker_.must_block(task)) continue;
    if (task->is_spec() || (task->handle & engine::handle::kPooled) == 0) {
      append_current(task);
      continue;
    }
    const unsigned index = shared_.pools.of(task->handle).index;
    append_part(index, task);
  }
  flush_parts();
}

/// To the pool of this index, as soon as flush_parts() is called.
void OrderedPart::append_part(unsigned index, Task* task) {
  if (parts_[index].is_empty()) touched_.push_back(index);
  parts_[index].append(task);
}
void OrderedPart::flush_parts() {
  for (const unsigned index : touched_) {
    const Chain part = std::exchange(parts_[index], {});
    worker_.pools.push(shared_.pools[index], part.first, part.last);
  }
  touched_.clear();
}

bool OrderedPart::share_phase() {
  Order& order = order_;
  if (order.blocked != 0) return false;
  bool has_any = !lists_.now().is_empty();
  for (unsigned i = 0; i < worker_.ring.size() && !has_any; ++i)
    has_any = worker_.ring.at(i).task()->is_timestamped();
  if (!has_any) return false;  // they run alone: to empty the ring for nothing again and again is no progress
  worker_.sharing.return_ring(0);
  for (unsigned i = 0; i < worker_.ring.size(); ++i) {
    if (worker_.ring.at(i).task()->is_timestamped()) return false;
  }
  Chain chain;
  for (TaskList& lane : lists_.now().lanes) {
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
  worker_.sharing.wake(size);
  return true;
}

}  // namespace rubato::inline v0::native
