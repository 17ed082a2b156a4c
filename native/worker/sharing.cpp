// SPDX-License-Identifier: MIT
#include "native/worker/sharing.hpp"

#include <algorithm>

#include "native/clock.hpp"
#include "native/policy.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

using Length = Worth::Length;

Sharing::Sharing(Worker& worker) : worker_(worker), shared_(worker.shared) {}

// ---- Giving ----

/// The next of its own tasks that are not in pools; null if it does not know.
const Task* Sharing::next_task() {
  return worker_.ring.is_empty() ? worker_.lists.next() : worker_.ring.at(0).task();
}

void Sharing::update_worth() {
  worth_.update();
  worker_.duties.set(Duties::kShare, worth_.is_task_worth_it());
}

/// How long the tasks took that have run since the last time, which was long enough ago.
void Sharing::measure(std::uint64_t now) {
  const bool is_running = worker_.running != nullptr;
  if (worth_.measure(now, worker_.counts.finished.get(), is_running, shared_.has_cpus()))
    worker_.pace.expect_long_tasks();
  worker_.duties.set(Duties::kShare, worth_.is_task_worth_it());
}

/// Apart, so that a look that is skipped saves no registers.
[[gnu::noinline]] void Sharing::look_and_share() {
  const Seizure<SeizureAtomics>::Inside inside(worker_.seizure);
  PrivateTasks& lists = worker_.lists;
  const Ring& ring = worker_.ring;
  const std::uint64_t now = ticks();
  const std::uint64_t elapsed = worth_.since(now);
  const std::uint64_t look_ticks = worth_ticks() / policy::kLooks;  // half a microsecond
  if (elapsed >= look_ticks) measure(now);
  if (shared_.workers() == 1) {  // what it published it would only take back, out of turn
    looks_skipped_ = policy::kMostSkipped;
    return;
  }
  const bool is_running = worker_.running != nullptr;
  const Length length = worth_.length_of(is_running ? nullptr : next_task());
  const bool may_be_long = length != Length::brief;
  const std::uint64_t ticks_a_task =
      may_be_long ? std::max(worth_.ticks_a_task(), policy::kUnknownTicks) : worth_.ticks_a_task();
  const std::uint64_t until_look = look_ticks > elapsed ? look_ticks - elapsed : look_ticks;
  looks_skipped_ =
      static_cast<unsigned>(std::min<std::uint64_t>(until_look / ticks_a_task, policy::kMostSkipped));
  if (elapsed < look_ticks && !may_be_long && (!worker_.duties.is_due(Duties::kShare) || is_running)) return;
  if (worker_.seen.published.load(std::memory_order_relaxed) != nullptr || worker_.is_validating() ||
      lists.taken() == taken_at_return_)
    return;
  // A worker has been idle for long: the descendants of tasks may be worth more than the tasks.
  const bool is_overdue = ++looks_ >= policy::kOverdueLooks;
  if (ticks_a_task < worth_ticks() / policy::kTooBrief && !is_overdue)
    return;  // 0.1 us: taking it from here costs more

  std::uint64_t mine = lists.size();
  // A worker that takes fewer, and whose tasks create no more than they were, has nothing to prefetch for
  // ever after. That is still better than an idle CPU.
  const std::uint64_t least = std::max<std::uint64_t>(2 * ring.distance() + 1, policy::kLeastChunk);
  // If the length of tasks is unknown, a small number of them is taken for long tasks.
  const bool is_guess = length == Length::unknown || (length == Length::brief && worth_.is_unknown());
  const auto is_enough = [=, this](std::uint64_t part, std::uint64_t size) {
    return part >= least || (is_guess ? size < least : part * ticks_a_task >= worth_ticks()) ||
           (is_overdue && shared_.has_cpus());
  };
  const std::uint64_t chunk = std::clamp(worth_ticks() / ticks_a_task, least, policy::kMostChunk);
  // Ready pools that this worker does not take next.
  const std::uint64_t ready = !worker_.has_pools            ? 0
                              : shared_.pools.have_places() ? worker_.pools.offered()
                                                            : worker_.seen.ready.size();
  const std::uint64_t pools = ready != 0 && ring.is_empty() ? ready - 1 : ready;
  const bool is_phase_shared = shared_.order.is_shared.load(std::memory_order_relaxed);
  if (!is_running && worker_.ordered.is_inline() && shared_.order.left >= 2 &&
      shared_.order.left * ticks_a_task >= worth_ticks() && worker_.ordered.share_phase()) {
    return;
  }
  const std::uint64_t current = is_phase_shared ? size_up_to(lists.now().normal(), 2 * chunk) : 0;
  const std::uint64_t surplus = mine + current + ring.size() + pools * policy::kTasksAPool;
  if (surplus < 2 || (!is_overdue && surplus * ticks_a_task < worth_ticks())) return;
  if (mine < 2 && current < 2 && !is_running) {
    return_ring(1);
    mine = lists.size();
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
  if (try_to_publish(
          std::min(mine, 2 * chunk), [&](std::uint64_t count) { return lists.take_oldest(count); },
          [&](const Chain& kept) { lists.put_back(kept); }))
    return;
  TaskList& current_tasks = lists.now().normal();
  if (try_to_publish(
          current, [&](std::uint64_t count) { return take(current_tasks, count); },
          [&](const Chain& kept) { prepend(current_tasks, kept); }))
    return;
  if (pools != 0) wake();
}

void Sharing::wake(std::uint64_t workers) {
  worker_.cpu.go_back();
  std::uint64_t begin = 0;
  if (worker_.idling.may_lag() && shared_.events.has_sleepers()) {
    begin = ticks();
    shared_.woken_at.store(begin, std::memory_order_relaxed);
  }
  if (!shared_.events.notify(static_cast<int>(workers))) return;
  if (begin != 0) shared_.wake_ticks.store(ticks() - begin, std::memory_order_relaxed);
  worker_.counts.wake_ups.add();
  time_from_here();  // the woken worker may have had this CPU at once
}

void Sharing::time_from_here() { worth_.begin(ticks(), worker_.counts.finished.get()); }

void Sharing::share_if_wanted() {
  if (EventCount<StdAtomics>::idle(shared_.events.look()) != 0) share();
}

void Sharing::publish(const Chain& chain) {
  published_at_ = ticks();
  worker_.ordered.settle();  // others may see timestamped tasks from here on
  if (chain.is_empty()) return;
  link(chain.last, nullptr);
  was_robbed_ = true;
  looks_ = 0;
  worker_.counts.published.add();
  worker_.seen.published.exchange(chain.first, std::memory_order_seq_cst);
  wake();
}

void Sharing::publish_for_worker(const Chain& chain) {
  published_at_ = ticks();
  link(chain.last, nullptr);
  was_robbed_ = true;
  looks_ = 0;
  worker_.counts.published.add();
  worker_.seen.published.exchange(chain.first, std::memory_order_seq_cst);
}

bool Sharing::publish_one(Task* task) {
  const std::uint64_t word = shared_.events.look();
  if (EventCount<StdAtomics>::idle(word) == 0 || (word & EventCount<StdAtomics>::kRequests) != 0)
    return false;
  const Seizure<SeizureAtomics>::Inside inside(worker_.seizure);
  // Turns that no worker has taken yet stay behind it: different actors have no order.
  link(task, worker_.seen.published.exchange(nullptr, std::memory_order_acquire));
  published_at_ = ticks();
  was_robbed_ = true;
  looks_ = 0;
  worker_.counts.published.add();
  worker_.seen.published.exchange(task, std::memory_order_seq_cst);
  wake();
  return true;
}

void Sharing::take_back_after(std::uint64_t microseconds) {
  if (ticks() - published_at_ >= ticks_of(microseconds)) take_back();
}

bool Sharing::take_back() {
  Task* task = worker_.seen.published.exchange(nullptr, std::memory_order_acquire);
  if (task == nullptr) return false;
  const bool is_current = task->is_timestamped();  // it came from one of two lists
  Chain chain;
  for (Task* next = nullptr; task != nullptr; task = next) {
    next = next_of(task);
    if (is_current || rank_of(task) == kNormalRank) {
      chain.append(task);
    } else {
      worker_.lists.put_back(task);  // the watch publishes what the worker itself does not
    }
  }
  if (chain.is_empty()) {
    was_robbed_ = false;
    return true;
  }
  if (is_current) {
    prepend(worker_.lists.now().normal(), chain);
    worker_.rotation.begin_row();
  } else {
    worker_.lists.put_back(chain);
    taken_at_return_ = worker_.lists.taken();
  }
  was_robbed_ = false;
  return true;
}

bool Sharing::take_published(Worker& from) {
  Task* task = from.seen.published.exchange(nullptr, std::memory_order_acquire);
  if (task == nullptr) return false;
  while (task != nullptr) {
    Task* const next = next_of(task);
    worker_.requeue(task);
    task = next;
  }
  return true;
}

void Sharing::return_ring(unsigned keep) {
  Ring& ring = worker_.ring;
  while (ring.size() > keep) {
    const Slot& last = ring.at(ring.size() - 1);
    if (last.is_pooled()) return;
    Task* const task = last.task();
    ring.drop_last();
    if (task->is_timestamped()) {
      worker_.lists.now().lanes[rank_of(task)].prepend(task, task);
    } else {
      worker_.lists.put_back(task);
    }
  }
}

// ---- Taking ----

bool Sharing::steal() {
  const unsigned workers = shared_.workers();
  if (worker_.ordered.distribute_if_asked()) return true;
  for (unsigned i = 1; i < workers; ++i) {
    Worker& victim = shared_.worker((worker_.index + i) % workers);
    for (unsigned rank = 0; rank < kPriorities; ++rank) {
      if (worker_.pools.steal(victim.seen.ready, rank)) return true;
    }
    if (victim.seen.published.load(std::memory_order_relaxed) == nullptr || !take_published(victim)) continue;
    worker_.counts.chunks_stolen.add();
    return true;
  }
  return false;
}

}  // namespace rubato::inline v0::native
