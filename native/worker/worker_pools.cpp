// SPDX-License-Identifier: MIT
#include "native/worker/worker_pools.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "native/fault.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

namespace {

/// The place that a task of a pool asks for. A task with a timestamp asks for none.
std::uint32_t place_of(const Task* task) {
  constexpr std::uint64_t kMask = engine::handle::kExtended | engine::handle::kTimestamped;
  const bool may_ask = task != nullptr && (task->handle & kMask) == engine::handle::kExtended;
  return may_ask ? engine::extension_of(task)->core : engine::kAnywhere;
}

}  // namespace

WorkerPools::WorkerPools(Worker& worker) : worker_(worker), shared_(worker.shared) {}

void WorkerPools::push(TaskPool& pool, Task* first, Task* last) {
  if (pool.push(first, last)) make_ready(pool);
}

void WorkerPools::finish(TaskPool& pool) {
  if (!pool.packed.is_empty()) return make_ready(pool);
  const auto [is_empty, released] = pool.finish();
  if (released != nullptr) worker_.free_block(released);
  if (!is_empty) make_ready(pool);
}

/// At its home, where its data may be in the cache; here, if its home sleeps: waking it costs more.
void WorkerPools::make_ready(TaskPool& pool) {
  const Task* const head = pool.head();
  const unsigned rank = head != nullptr ? rank_of(head) : kNormalRank;
  if (pool.has_places.load(std::memory_order_relaxed)) [[unlikely]]
    return make_ready_at_place(pool, rank);
  const unsigned home = pool.home;
  SeenByOthers& seen = shared_.worker(home).seen;
  if (pool.kind == TaskPool::Kind::pinned) {
    seen.pinned.add(0, rank);
    if (home != worker_.index) worker_.sharing.wake(Sharing::kAll);
    return;
  }
  if (home == worker_.index || seen.is_idle.load(std::memory_order_relaxed)) {
    worker_.seen.ready.add(pool.index, rank);
    return worker_.sharing.share_if_wanted();
  }
  seen.ready.add(pool.index, rank);
  worker_.sharing.wake();
}

/// A pool becomes ready at the place that its first task asks for: at its home, if that is there, or at a
/// worker that becomes its home. A home that sleeps is woken, unless this worker is at the place, too.
void WorkerPools::make_ready_at_place(TaskPool& pool, unsigned rank) {
  const std::uint32_t place = place_of(pool.head());
  pool.place.store(place, std::memory_order_relaxed);
  if (!shared_.is_at(pool.home, place)) pool.home = shared_.worker_at(place, pool.index);
  const unsigned home = pool.home;
  SeenByOthers& seen = shared_.worker(home).seen;
  const bool may_stay = seen.is_idle.load(std::memory_order_relaxed) && shared_.is_at(worker_.index, place);
  if (home == worker_.index || may_stay) {
    worker_.seen.ready.add(pool.index, rank);
    return worker_.sharing.share_if_wanted();
  }
  seen.ready.add(pool.index, rank);
  worker_.sharing.wake(Sharing::kAll);
}

/// How many of a pool's next tasks may run here.
unsigned WorkerPools::tasks_for_here(const TaskPool& pool, unsigned most) const {
  unsigned count = 0;
  for (const Task* task = pool.head();
       count != most && task != nullptr && shared_.is_at(worker_.index, place_of(task));
       task = task->next.load(std::memory_order_acquire))
    ++count;
  return count;
}

/// The ready pools of another worker that this one may take. Their places are a guess until it has them.
std::uint64_t WorkerPools::allowed(unsigned word, std::uint64_t bits) const {
  std::uint64_t allowed = 0;
  for (; bits != 0; bits &= bits - 1) {
    const auto bit = static_cast<unsigned>(std::countr_zero(bits));
    const TaskPool& pool = shared_.pools[word * 64 + bit];
    if (shared_.is_at(worker_.index, pool.place.load(std::memory_order_relaxed)))
      allowed |= std::uint64_t{1} << bit;
  }
  return allowed;
}

bool WorkerPools::may_steal_from(const SeenByOthers& other) const {
  return other.ready.has_any([this](unsigned word, std::uint64_t bits) { return allowed(word, bits); });
}

unsigned WorkerPools::offered() const {
  return worker_.seen.ready.size([this](unsigned word, std::uint64_t bits) {
    std::uint64_t offered = 0;
    for (; bits != 0; bits &= bits - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(bits));
      const std::uint32_t place = shared_.pools[word * 64 + bit].place.load(std::memory_order_relaxed);
      if (place == engine::kAnywhere || shared_.worker_at(place, 0) != shared_.worker_at(place, 1))
        offered |= std::uint64_t{1} << bit;
    }
    return offered;
  });
}

void WorkerPools::note_refill() {
  if (worker_.pace.are_tasks_long() && !worker_.seen.ready.is_empty())
    ++times_left_;  // taking one begins anew
}

bool WorkerPools::take_from(ReadySet<StdAtomics>& set, unsigned rank, bool is_own) {
  const Ring& ring = worker_.ring;
  if (ring.room() == 0 || set.is_empty(rank)) return false;
  const bool is_shared = &set != &worker_.seen.pinned;
  if (is_shared) {
    if (!worker_.ordered.may_take_pools()) return false;  // asked again below, in order with has_mixed
    // Tasks in the ring cannot be stolen. But if no worker is idle the pool must not wait for ever. Refills
    // are counted, not turns: the others' may come first each time, or this one's once in 64 tasks only.
    if (worker_.pace.are_tasks_long() && !ring.is_empty() && times_left_ < policy::kPassLimit) return false;
    times_left_ = 0;
  }
  unsigned last = last_claimed_;
  const auto may_take = [this](unsigned word, std::uint64_t bits) { return allowed(word, bits); };
  const bool is_choosy = !is_own && shared_.pools.have_places();
  const unsigned index = is_choosy ? set.claim(rank, last, may_take) : set.claim(rank, last);
  if (index == kNoPool) return false;
  TaskPool& pool = is_shared ? shared_.pools[index] : shared_.pools.pinned(worker_.index);
  if (is_shared) last_claimed_ = last;
  if (is_shared && shared_.order.is_inline.load(std::memory_order_seq_cst)) {
    if (!worker_.ordered.may_take_pools()) {
      make_ready(pool);
      return false;
    }
    worker_.ordered.end_inline();  // the owner, done with them
  }
  if (!is_own) {
    worker_.counts.pools_stolen.add();
    pool.home = worker_.index;  // else it would have to steal the pool again and again
  }
  take_batch(pool);
  return true;
}

/// Moves linked tasks of a pool that this worker claimed into the ring, by priority.
void WorkerPools::take_batch(TaskPool& pool) {
  if (!pool.packed.is_empty()) return take_packed(pool);
  Ring& ring = worker_.ring;
  Pool<StdAtomics, Task>::Taken batch[Ring::kSlots];
  unsigned room = std::min(ring.room(), threshold(Ring::kSlots / 2, 2u));
  if (pool.has_places.load(std::memory_order_relaxed)) [[unlikely]]
    room = tasks_for_here(pool, room);
  unsigned size = 0;
  bool is_sorted = true;
  unsigned rank = 0;
  while (size < room) {
    batch[size] = pool.take();
    if (batch[size].node == nullptr) break;
    if (is_carrier(batch[size].node)) {
      pool.packed = list_of(batch[size].node);
      if (!batch[size].is_last) worker_.free_block(batch[size].node);
      if (size == 0) return take_packed(pool);
      break;
    }
    is_sorted = is_sorted && rank_of(batch[size].node) >= rank;
    rank = rank_of(batch[size].node);
    ++size;
    if (batch[size - 1].is_last) break;
  }
  if (size == 0) {  // a push is half-linked: let its thread go on; or the first task asks for another worker
    finish(pool);
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
    ring.push(Slot(batch[i].node, batch[i].is_last, i == owner ? &pool : nullptr));
  }
}

/// Packed tasks of a pool that this worker claimed. The ring has room.
void WorkerPools::take_packed(TaskPool& pool) {
  Ring& ring = worker_.ring;
  unsigned n = std::min(ring.room(), threshold(Ring::kSlots / 2, 2u));
  try {
    for (; n != 0 && !pool.packed.is_empty(); --n) {
      Task* const task = worker_.ordered.unpack(pool.packed);
      ring.push(Slot(task, false, n == 1 || pool.packed.is_empty() ? &pool : nullptr));
    }
  } catch (...) {
    worker_.fail();
    finish(pool);  // so that its tasks can be dropped: none of those in the ring will run
  }
}

}  // namespace rubato::inline v0::native
