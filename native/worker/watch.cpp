// SPDX-License-Identifier: MIT
#include "native/worker/watch.hpp"

#include <sys/prctl.h>

#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include "native/clock.hpp"
#include "native/policy.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

using Events = Shared::Events;

namespace {

/// Tasks, and stolen forks, that the worker has run.
std::uint64_t ended(const Worker& worker) { return worker.counts.finished.get() + worker.forking.stolen(); }

}  // namespace

void Watch::start() {
  if (thread_.joinable() || !SeizureAtomics::prepare_barrier()) return;
  heap_ = std::make_unique<engine::WorkerHeap>(shared_.heap, 0);
  ages_.assign(shared_.workers(), {});
  must_end_ = false;
  is_woken_ = true;
  idle_looks_ = 0;
  finished_at_ = Clock::now();
  thread_ = std::thread([this] { work(); });
}

void Watch::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    must_end_ = true;
    changed_.notify_one();
  }
  thread_.join();
  thread_ = {};
  heap_.reset();
}

void Watch::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  changed_.notify_one();
}

void Watch::hurry() {
  const std::lock_guard lock(mutex_);
  is_hurried_ = true;
  period_.store(policy::kHurriedMicroseconds, std::memory_order_relaxed);
  changed_.notify_one();
}

bool Watch::is_anybody_busy() const {
  const std::uint64_t word = shared_.events.look_ordered();
  return (word & Events::kPaused) == 0 && Events::idle(word) < shared_.workers();
}

void Watch::work() {
  // Nanoseconds by which the system may let a sleep last longer: its usual 50,000 are as much as a period.
  static_cast<void>(prctl(PR_SET_TIMERSLACK, 1000UL));
  std::unique_lock lock(mutex_);
  while (!must_end_) {
    if (idle_looks_ >= policy::kIdleLooks) {
      is_asleep_.store(true, std::memory_order_seq_cst);
      if (!is_anybody_busy()) changed_.wait(lock, [this] { return must_end_ || is_woken_; });
      is_asleep_.store(false, std::memory_order_relaxed);
      idle_looks_ = 0;
      finished_at_ = Clock::now();
      pace_.begin();
    }
    is_woken_ = false;
    period_.store(pace_.period().count(), std::memory_order_relaxed);
    changed_.wait_for(lock, pace_.period(), [this] { return must_end_ || is_hurried_; });
    if (must_end_) return;
    if (std::exchange(is_hurried_, false)) pace_.hurry();
    lock.unlock();
    look();
    lock.lock();
  }
}

void Watch::look() {
  const std::uint64_t word = shared_.events.look_ordered();
  if (!is_anybody_busy()) {
    ++idle_looks_;
    pace_.note_idle();
    return;
  }
  idle_looks_ = 0;
  const bool is_anybody_idle = Events::idle(word) != 0;
  const bool is_free = (word & (Events::kStop | Events::kAlone)) == 0;
  const std::uint64_t activity = activity_of_actors();
  bool is_same = true, may_hold_back = false, has_handed_over = false;
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    Worker& worker = shared_.worker(w);
    const std::uint64_t finished = ended(worker);
    const bool is_in_task = worker.running.seen() != nullptr;
    const TaskAge::Age age =
        ages_[w].look({is_in_task, finished, worker.sharing.worth().began(), activity != 0}, ticks());
    is_same = is_same && ages_[w].is_same();
    may_hold_back = may_hold_back || ages_[w].may_hold_back();
    if (age == TaskAge::Age::young || !is_anybody_idle || !is_free) continue;
    if (age == TaskAge::Age::old) {
      worker.seen.long_task.store(finished + 1, std::memory_order_relaxed);
      worker.lists_turns.store(false, std::memory_order_relaxed);
    }
    if (hand_over(worker)) {
      has_handed_over = true;
      ages_[w].note_handed_over();
    }
    if (ages_[w].is_found())
      pace_.note_long_handler(
          std::chrono::duration_cast<WatchPace::Duration>(Clock::now().time_since_epoch()));
  }
  // Beside a task that takes long and creates nothing there is less and less to look for, and none beside a
  // turn that publishes.
  const bool is_quiet = is_same && !may_hold_back && !has_handed_over;
  const bool has_turns = activity != std::exchange(activity_, activity) || may_hold_back;
  pace_.note_look(is_quiet || !is_anybody_idle, has_turns);
  look_for_standstill(is_anybody_idle);
}

/// Actors spawned and messages handled so far. 0: no task is a turn.
std::uint64_t Watch::activity_of_actors() const {
  std::uint64_t sum = 0;
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    const Counts& counts = shared_.worker(w).counts;
    sum += counts.actors.get() + counts.messages.get();
  }
  return sum;
}

bool Watch::hand_over(Worker& worker) {
  if (worker.seen.has_published() || worker.forking.has_any()) {
    shared_.events.notify();
    return true;
  }
  if (!worker.seizure.seize([&worker] { return worker.running.seen() != nullptr; })) return false;
  const bool has_handed_over = worker.hand_over(*heap_);
  worker.seizure.let_go();
  if (has_handed_over) shared_.events.notify();
  return has_handed_over;
}

/// Tasks that wait for each other, or for a lock whose owner waits for a worker, never end: all that can be
/// seen of it is that all workers are in a task and nothing ends or starts.
void Watch::look_for_standstill(bool is_anybody_idle) {
  const Clock::time_point now = Clock::now();
  std::uint64_t finished = 0;
  for (unsigned w = 0; w < shared_.workers(); ++w) finished += ended(shared_.worker(w));
  if (finished != finished_ || is_anybody_idle) {
    finished_ = finished;
    finished_at_ = now;
    return;
  }
  const unsigned limit = shared_.options().standstill_seconds;
  if (has_said_ || limit == 0 || now - finished_at_ < std::chrono::seconds(limit)) return;
  say(limit);
}

/// `running`: of one task that runs.
bool Watch::has_waiting_tasks(std::string& running) {
  bool has_any = shared_.has_work_for_anybody();
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    Worker& worker = shared_.worker(w);
    if (!worker.seizure.seize([&worker] { return worker.running.seen() != nullptr; })) return false;
    has_any = has_any || !worker.ring.is_empty() || worker.lists.has_any_seen();
    if (running.empty()) running = name_of(*worker.running.seen());
    worker.seizure.let_go();
  }
  return has_any;
}

void Watch::say(unsigned seconds) {
  std::string running;
  try {
    if (!has_waiting_tasks(running)) return;
  } catch (const std::bad_alloc&) {
    return;
  }
  has_said_ = true;
  std::fprintf(
      stderr,
      "rubato: no task has started or ended for %u s though tasks wait: each of the %u workers is in a "
      "task, one of them in %s; a task that waits for another one keeps its worker "
      "(RUBATO_STANDSTILL=0 leaves this out)\n",
      seconds, shared_.workers(), running.c_str());
}

}  // namespace rubato::inline v0::native
