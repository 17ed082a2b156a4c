// SPDX-License-Identifier: MIT
// What moves between workers: pools, published chunks, the inbox. Rules R2 and R10.
#include <algorithm>
#include <limits>
#include <utility>

#include "native/engine.hpp"
#include "native/fault.hpp"
#include "native/worker/clock.hpp"
#include "native/worker/worker.hpp"

namespace rubato::runtime {
namespace {

/// Work that is worth waking somebody: waking takes a few microseconds of both.
constexpr std::uint64_t kWorthMicroseconds = 8;
constexpr std::uint64_t kMaxChunk = 256;
constexpr std::uint64_t kTasksAPool = 8;            // a guess at what a ready pool holds
constexpr unsigned kOverdueLooks = 256;             // of half a microsecond at least, while somebody is idle
constexpr std::uint64_t kSharedMicroseconds = 100;  // tasks that take so long are shared at once

}  // namespace

std::uint64_t Worker::worth_ticks() {
  static const auto value =
      static_cast<std::uint64_t>(static_cast<double>(kWorthMicroseconds) * ticks_per_microsecond());
  return threshold(value, std::uint64_t{1});
}
std::uint64_t Worker::ticks_of(std::uint64_t microseconds) {
  return microseconds * worth_ticks() / kWorthMicroseconds;
}

/// Of the running task, or of the destructor of a removed resource: that has no place in the order.
void Worker::created_task(Task* task) {
  if (task->is_timestamped() && (running == nullptr || !running->is_timestamped() ||
                                 engine::timestamp_of(task) < engine::timestamp_of(running))) {
    try {
      if (running == nullptr) throw TaskError(errors::timestamp_from_destructor(name_of(*task)));
      throw_wrong_order(*running, *task);
    } catch (...) {
      end_birth(task);
      destroy(task);
      free_block(task);
      if (running != nullptr && !is_destroying_) throw;
      engine_.failure.add(std::current_exception());  // destructors do not throw
      engine_.stop();
      return;
    }
  }
  counts.submitted.add();
  if (TaskGroup* const group = engine::group_of(task)) Groups::add_member(*group);
  if (is_validating_ || engine::after_of(task) != nullptr) return deferred_.append(task);
  route(task);
}

void Worker::route(Task* task) {
  if (task->is_timestamped()) return route_timestamped(task);
  if (must_block(task)) return;
  if (task->is_spec() && has_pools) return alone_.append(task);
  if (task->is_extended() && has_pools && (task->handle & engine::handle::kPooled) == 0) {
    const std::uint32_t core = engine::extension_of(task)->core;
    if (core < engine_.workers()) return push_pool(engine_.pinned_pool(core), task, task);
  }
  requeue(task);
}

bool Worker::must_block(Task* task) {
  TaskGroup* const after = engine::after_of(task);
  return after != nullptr && !has_fault(Fault::group_ignored) && engine_.groups.block(task, *after);
}

/// Into the list or pool where it waits for its turn. `must_wait`: behind all others, since it cannot run
/// now.
void Worker::requeue(Task* task, bool must_wait) {
  if (task->is_timestamped()) return append_current(task);
  if (task->is_spec() && has_pools) return alone_.append(task);
  if ((task->handle & engine::handle::kPooled) != 0) {
    Order& order = engine_.order;
    if (!order.has_mixed.load(std::memory_order_relaxed))
      order.has_mixed.exchange(true, std::memory_order_seq_cst);
    return push_pool(engine_.pool(task->handle), task, task);
  }
  const unsigned rank = rank_of(task);
  if (rank == 0) return high_.append(task);
  if (rank != kNormalRank) return low_.append(task);
  append_own(task, is_fair(task) || must_wait);
}

void Worker::push_pool(TaskPool& pool, Task* first, Task* last) {
  if (pool.push(first, last)) make_ready(pool);
}

void Worker::finish_pool(TaskPool& pool) {
  if (!pool.packed.is_empty()) return make_ready(pool);
  const auto [is_empty, released] = pool.finish();
  if (released != nullptr) free_block(released);
  if (!is_empty) make_ready(pool);
}

/// At its home, where its data may be in the cache; here, if its home sleeps: waking it costs more.
void Worker::make_ready(TaskPool& pool) {
  const Task* const head = pool.head();
  const unsigned rank = head != nullptr ? rank_of(head) : kNormalRank;
  if (pool.kind == TaskPool::Kind::pinned) {
    const unsigned home = pool.home;
    engine_.worker(home).pinned_.add(0, rank);
    if (home != index_) wake(std::numeric_limits<int>::max());  // all: the home is among them
    return;
  }
  const unsigned home = pool.home;
  if (home == index_ || engine_.worker(home).is_idle_.load(std::memory_order_relaxed)) {
    ready_.add(pool.index, rank);
    if (Events::idle(engine_.events.look()) != 0) share();
    return;
  }
  engine_.worker(home).ready_.add(pool.index, rank);
  wake();
}

// ---- Giving ----

/// Of its own that are not in pools; null if it does not know.
const Task* Worker::next_task() {
  if (!ring_.is_empty()) return ring_.at(0).task();
  return own_.is_empty() ? now_.normal().first() : own_.next(own_size());
}

void Worker::share() {
  if (looks_skipped_ == 0) return look_and_share();
  --looks_skipped_;
}

/// How long the tasks took that have run since the last time, which was long enough ago.
void Worker::measure(std::uint64_t now) {
  const std::uint64_t elapsed = now - clock_;
  const std::uint64_t finished = counts.finished.get();
  const std::uint64_t ran = finished - finished_then_;
  clock_ = now;
  finished_then_ = finished;
  if (running != nullptr || ran == 0) return;
  // Of the last two times the shorter: a worker that was preempted meanwhile has not run long tasks. But
  // where each has a CPU it is better to wake somebody for nothing than to keep others waiting for so long.
  const std::uint64_t before = std::exchange(last_ticks_a_task_, elapsed / (ran + 1) + 1);
  const bool is_sure = engine_.has_cpus();
  const bool is_long = is_sure && last_ticks_a_task_ >= ticks_of(kSharedMicroseconds);
  ticks_a_task_ = is_long ? last_ticks_a_task_ : std::min(before, last_ticks_a_task_);
  are_tasks_long_ = are_tasks_long_ || is_long;
  const std::uint64_t took = is_sure ? last_ticks_a_task_ : ticks_a_task_;
  functions_.took(took >= worth_ticks() ? Length::lengthy : Length::brief);
  update_worth();
}

/// Apart, so that a look that is skipped saves no registers.
[[gnu::noinline]] void Worker::look_and_share() {
  const std::uint64_t now = ticks();
  const std::uint64_t elapsed = now - clock_;
  const std::uint64_t look_ticks = worth_ticks() / 16;  // half a microsecond
  if (elapsed >= look_ticks) measure(now);
  if (engine_.workers() == 1) {  // what it published it would only take back, out of turn
    looks_skipped_ = 15;
    return;
  }
  const Task* const next = running == nullptr ? next_task() : nullptr;
  const Length length = next != nullptr ? functions_.look_up(*next) : Length::brief;
  const bool may_be_long = length != Length::brief;
  const std::uint64_t ticks_a_task = may_be_long ? std::max(ticks_a_task_, kUnknownTicks) : ticks_a_task_;
  const std::uint64_t until_look = look_ticks > elapsed ? look_ticks - elapsed : look_ticks;
  looks_skipped_ = static_cast<unsigned>(std::min<std::uint64_t>(until_look / ticks_a_task, 15));
  if (elapsed < look_ticks && !may_be_long && ((duties_ & kShare) == 0 || running != nullptr)) return;
  if (published_.load(std::memory_order_relaxed) != nullptr || is_validating_ || taken_ == taken_at_return_)
    return;
  // Somebody has been idle for long: what comes of tasks may be worth more than they are.
  const bool is_overdue = ++looks_ >= kOverdueLooks;
  if (ticks_a_task < worth_ticks() / 80 && !is_overdue) return;  // 0.1 us: taking it from here costs more

  std::uint64_t mine = own_size();
  // Who takes fewer, and whose tasks create no more than they were, has nothing to prefetch for ever after.
  // Still better than a CPU with nothing to do.
  const std::uint64_t least = std::max(2 * ring_.distance() + 1, 8u);
  // Of tasks that nothing is known of, few are rather long than many.
  const bool is_guess =
      length == Length::unknown || (length == Length::brief && ticks_a_task_ == kUnknownTicks);
  const auto is_enough = [=, this](std::uint64_t part, std::uint64_t size) {
    return part >= least || (is_guess ? size < least : part * ticks_a_task >= worth_ticks()) ||
           (is_overdue && engine_.has_cpus());
  };
  const std::uint64_t chunk = std::clamp(worth_ticks() / ticks_a_task, least, kMaxChunk);
  // Ready pools that this worker does not take next.
  const std::uint64_t ready = has_pools ? ready_.size() : 0;
  const std::uint64_t pools = ready != 0 && ring_.is_empty() ? ready - 1 : ready;
  const bool is_phase_shared = engine_.order.is_shared.load(std::memory_order_relaxed);
  if (running == nullptr && owns_order() && !is_phase_shared && engine_.order.left >= 2 &&
      engine_.order.left * ticks_a_task >= worth_ticks() && share_phase()) {
    return;
  }
  const std::uint64_t current = is_phase_shared ? size_up_to(now_.normal(), 2 * chunk) : 0;
  const std::uint64_t surplus = mine + current + ring_.size() + pools * kTasksAPool;
  if (surplus < 2 || (!is_overdue && surplus * ticks_a_task < worth_ticks())) return;
  if (mine < 2 && current < 2 && running == nullptr) {
    return_ring(1);
    mine = own_size();
  }
  // Half; of tasks known to be long, of which one may keep the others waiting for long, all but the next.
  const auto try_to_publish = [=, this](std::uint64_t size, auto take, auto put_back) {
    const bool publishes_all = !is_guess && ticks_a_task >= worth_ticks() && size < 2 * chunk;
    const std::uint64_t part = publishes_all ? size - 1 : size / 2;
    if (size < 2 || !is_enough(part, size)) return false;
    const Chain kept = take(publishes_all ? 1 : 0);
    publish(take(part));
    put_back(kept);
    return true;
  };
  const auto take_own_tasks = [this](std::uint64_t count) {
    const Chain chain = own_.take_oldest(count);
    taken_ += chain.size;
    return chain;
  };
  if (try_to_publish(std::min(mine, 2 * chunk), take_own_tasks,
                     [this](const Chain& kept) { put_back_own(kept); }))
    return;
  TaskList& current_tasks = now_.normal();
  if (try_to_publish(
          current, [&](std::uint64_t count) { return take(current_tasks, count); },
          [&](const Chain& kept) { prepend(current_tasks, kept); }))
    return;
  if (pools != 0) wake();
}

/// So many, if they sleep.
void Worker::wake(std::uint64_t workers) {
  return_to_cpu();
  std::uint64_t begin = 0;
  if (lag_ != nullptr && engine_.events.has_sleepers()) {
    begin = ticks();
    engine_.woken_at.store(begin, std::memory_order_relaxed);
  }
  if (!engine_.events.notify(static_cast<int>(workers))) return;
  if (begin != 0) engine_.wake_ticks.store(ticks() - begin, std::memory_order_relaxed);
  counts.wake_ups.add();
  time_from_here();  // who was woken may have had this CPU at once
}

/// What has passed is no time of this worker's tasks.
void Worker::time_from_here() {
  clock_ = ticks();
  finished_then_ = counts.finished.get();
}

void Worker::share_if_wanted() {
  if (Events::idle(engine_.events.look()) != 0) share();
}

void Worker::publish(const Chain& chain) {
  published_at_ = ticks();
  settle();  // others may see timestamped tasks from here on
  if (chain.is_empty()) return;
  link(chain.last, nullptr);
  was_robbed_ = true;
  looks_ = 0;
  counts.published.add();
  published_.exchange(chain.first, std::memory_order_seq_cst);
  wake();
}

/// What it published, if nobody has taken it: to the front, where it came from.
bool Worker::take_back() {
  Task* task = published_.exchange(nullptr, std::memory_order_acquire);
  if (task == nullptr) return false;
  const bool is_current = task->is_timestamped();  // it came from one of two lists
  Chain chain;
  for (Task* next = nullptr; task != nullptr; task = next) {
    next = next_of(task);
    chain.append(task);
  }
  if (is_current) {
    prepend(now_.normal(), chain);
    current_row_ = 0;
  } else {
    put_back_own(chain);
    taken_at_return_ = taken_;
  }
  was_robbed_ = false;
  return true;
}

bool Worker::take_published(Worker& from) {
  Task* task = from.published_.exchange(nullptr, std::memory_order_acquire);
  if (task == nullptr) return false;
  while (task != nullptr) {
    Task* const next = next_of(task);
    requeue(task);
    task = next;
  }
  return true;
}

/// Takes private tasks out of the ring's end again, all but `keep`: they can be given away then.
void Worker::return_ring(unsigned keep) {
  while (ring_.size() > keep) {
    const Slot& last = ring_.at(ring_.size() - 1);
    if (last.is_pooled()) return;
    Task* const task = last.task();
    ring_.drop_last();
    const unsigned rank = rank_of(task);
    if (task->is_timestamped()) {
      now_.lanes[rank].prepend(task, task);
    } else if (rank == kNormalRank) {
      put_back_own({task, task, 1});
    } else {
      (rank == 0 ? high_ : low_).prepend(task, task);
    }
  }
}

// ---- Taking ----

bool Worker::steal() {
  const unsigned workers = engine_.workers();
  if (must_distribute_.load(std::memory_order_seq_cst)) {
    must_distribute_.store(false, std::memory_order_relaxed);
    distribute_own();
    return true;
  }
  for (unsigned i = 1; i < workers; ++i) {
    Worker& victim = engine_.worker((index_ + i) % workers);
    for (unsigned rank = 0; rank < kPriorities; ++rank) {
      if (take_from_pool(victim.ready_, rank, false)) return true;
    }
    if (victim.published_.load(std::memory_order_relaxed) == nullptr || !take_published(victim)) continue;
    counts.chunks_stolen.add();
    return true;
  }
  return false;
}

bool Worker::empty_inbox() {
  if (engine_.inbox_ready.is_empty()) return false;
  unsigned last = 0;
  if (engine_.inbox_ready.claim(kNormalRank, last) == kNoPool) return false;
  if (!engine_.inbox.drain([this](Task* task) { admit(task); })) {
    engine_.inbox_ready.add(0, kNormalRank);  // who pushed has told nobody: the inbox was not empty
    wake();
  }
  return true;
}

/// A message: at once, not by a task that others could take, and a later one overtake.
void Worker::end_delivery(Task* task) {
  deliver(task);
  counts.finished.add_ordered();
  heap.free<sizeof(Task)>(task);
}

/// A task that another thread created: it is born when it arrives. What it is annotated with must not be
/// removed before; that is up to the other thread.
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
  // While run() begins, its thread empties the inbox before others may work.
  const bool is_late = task->is_timestamped() && (engine_.events.look() & Events::kPaused) == 0;
  if (is_late) [[unlikely]]
    return refuse(task);
  route(task);
}

/// Another thread created it while run() began: too early to be told so, too late to be ordered.
void Worker::refuse(Task* task) {
  try {
    throw TaskError(errors::foreign_thread(name_of(*task)));
  } catch (...) {
    fail();
  }
  alone_.append(task);  // to be destroyed unrun like all others
}

}  // namespace rubato::runtime
