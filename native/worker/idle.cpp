// What a worker does that has found nothing: it looks whether there is anything, or whether the run has
// ended, and sleeps. Rule R10.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "native/engine.hpp"
#include "native/fault.hpp"
#include "native/worker/clock.hpp"
#include "native/worker/idle_lag.hpp"
#include "native/worker/worker.hpp"

namespace rubato::runtime {

bool Worker::has_published() const { return published_.load(std::memory_order_seq_cst) != nullptr; }
bool Worker::has_ready_pools() const { return !ready_.is_empty(); }
bool Worker::has_work_of_its_own() const {
  return !pinned_.is_empty() || must_distribute_.load(std::memory_order_seq_cst);
}

/// Without a task: destructors of what it dropped or freed have.
bool Worker::has_created_anything() const {
  return !own_.is_empty() || !high_.is_empty() || !low_.is_empty() || !alone_.is_empty() ||
         !deferred_.is_empty();
}

/// While the owner of the order runs tasks of the current timestamp outside their pools, nobody takes from a
/// pool: what is in it then has no timestamp, but may share its locale with one of them.
bool Worker::may_take_pools() const {
  const Order& order = engine_.order;
  return !order.is_inline.load(std::memory_order_seq_cst) || (owns_order() && order.left == 0);
}

/// Looks without taking; ordered against announce() by seq_cst. Ready pools that may not be taken from are no
/// work: end_inline() notifies.
/// Who may go on to the next timestamp does so before it idles.
bool Worker::can_find_work() const {
  if (!engine_.inbox_ready.is_empty() || has_work_of_its_own()) return true;
  const bool may_take = may_take_pools();
  for (unsigned w = 0; w < engine_.workers(); ++w) {
    const Worker& worker = engine_.worker(w);
    if (worker.has_published() || (may_take && worker.has_ready_pools())) return true;
  }
  return false;
}

bool Worker::wait_for_work() {
  Events& events = engine_.events;
  const TraceScope idle(trace_, TraceSpan::Kind::idle);
  leave_epochs();  // first: when all are idle, run() may end and free what is left
  if (has_created_anything()) {
    enter_epochs();
    return true;
  }
  const Events::Ticket ticket = events.announce();
  is_idle_.store(true, std::memory_order_seq_cst);
  const auto end_idling = [this, &events] {
    is_idle_.store(false, std::memory_order_relaxed);
    events.cancel();
    idle_ends_.fetch_add(1, std::memory_order_seq_cst);
    if (has_left_cpu_) chosen_ = ticks();
    enter_epochs();
    time_from_here();
  };
  if (index_ != 0 && (ticket.word & (Events::kPaused | Events::kEnd)) != 0) {
    end_idling();
    return true;
  }
  const bool is_single = engine_.workers() == 1;
  const std::uint64_t run = engine_.current_run.load(std::memory_order_seq_cst);
  bool is_last = false;  // and all wait for threads from outside
  for (unsigned i = 0; i < (is_single ? 1 : kIdleSpins); ++i) {
    const std::uint64_t word = events.look_ordered();
    if ((word & Events::kStop) == 0 && !has_fault(Fault::no_recheck) && can_find_work()) {
      end_idling();
      return true;
    }
    if (Events::idle(word) == engine_.workers() && is_over_when_all_are_idle(word)) {
      if (index_ == 0) {
        end_idling();
        return false;
      }
      if (engine_.over.exchange(run, std::memory_order_seq_cst) != run) {
        counts.wake_ups.add();
        events.notify_all();
      }
      is_last = false;
      break;
    }
    is_last = Events::idle(word) == engine_.workers() && engine_.holds() != 0;
    if (index_ == 0 && engine_.over.load(std::memory_order_seq_cst) == run) {
      end_idling();
      return false;
    }
    StdAtomics::pause();
  }
  if (lag_ == nullptr || !lag(ticket, run)) sleep(ticket, is_last);
  end_idling();
  return true;
}

void Worker::sleep(Events::Ticket ticket, bool is_last) {
  Events& events = engine_.events;
  counts.parks.add();
  const TraceScope parked(trace_, TraceSpan::Kind::parked);
  const std::uint64_t begin = lag_ != nullptr ? ticks() : 0;
  if (is_last) {
    leave_cpu();
    events.sleep_last(ticket);
  } else {
    events.sleep(ticket);
  }
  if (lag_ == nullptr) return;
  const std::uint64_t woken = engine_.woken_at.exchange(0, std::memory_order_relaxed), now = ticks();
  if (woken > begin && woken < now)
    lag_->note_wake_up(now - woken + engine_.wake_ticks.load(std::memory_order_relaxed));
}

/// Waits as lagging decides, in place of a sleep: what would end that ends it, too, and nobody pays for
/// waking.
/// @returns whether it has ended so
bool Worker::lag(Events::Ticket ticket, std::uint64_t run) {
  Events& events = engine_.events;
  constexpr std::uint64_t kRequests = Events::kStop | Events::kAlone | Events::kPaused | Events::kEnd;
  const std::uint64_t word = events.look_ordered();
  if ((word & kRequests) != 0 || !lag_->may_lag()) return false;
  // Not more than work, and one at least: rule A45.
  const unsigned most = std::max(1u, engine_.workers() - Events::idle(word));
  for (unsigned lagging = engine_.lagging.load(std::memory_order_relaxed);;) {
    if (lagging >= most) return false;
    if (engine_.lagging.compare_exchange_weak(lagging, lagging + 1, std::memory_order_relaxed)) break;
  }
  bool is_woken = false;
  lag_->give_up([&] {
    if (events.epoch() == ticket.epoch) return lag::Look::nothing;
    is_woken = true;
    const bool is_over = engine_.over.load(std::memory_order_seq_cst) == run;
    return !is_over && can_find_work() ? lag::Look::work : lag::Look::end;
  });
  engine_.lagging.fetch_sub(1, std::memory_order_relaxed);
  const lag::Events& e = lag_->events();
  const auto set = [](Count& count, std::uint64_t value) { count.add(value - count.get()); };
  set(counts.lag_samples, e.samples);
  set(counts.lag_sample_hits, e.sample_hits);
  set(counts.lags, e.lags);
  set(counts.lag_hits, e.hits);
  set(counts.lag_decisions, e.decisions);
  set(counts.lag_drops, e.drops);
  set(counts.lag_ticks, lag_->waited());
  set(counts.lag_preempted, lag_->preempted());
  set(counts.lag_switch_ticks, lag_->switch_ticks());
  return is_woken;
}

/// Between two runs. Idle when the run ended, and from there straight to here.
void Worker::pause() {
  const TraceScope idle(trace_, TraceSpan::Kind::idle), parked(trace_, TraceSpan::Kind::parked);
  leave_epochs();
  wait_for_end_of_pause();
  return_to_cpu();
  enter_epochs();
}
void Worker::wait_for_end_of_pause() {
  Events& events = engine_.events;
  for (;;) {
    const Events::Ticket ticket = events.announce();
    if ((ticket.word & (Events::kPaused | Events::kEnd)) == Events::kPaused) events.sleep(ticket);
    const std::uint64_t word = events.cancel();
    idle_ends_.fetch_add(1, std::memory_order_seq_cst);
    if ((word & (Events::kPaused | Events::kEnd)) != Events::kPaused) return;
  }
}

/// Whether the run has ended. Every worker is idle: none holds a task, or is about to cancel.
bool Worker::is_over_when_all_are_idle(std::uint64_t word) {
  if ((word & Events::kStop) != 0) return true;
  // What another thread created before it closed its hold is in the inbox, and not counted yet.
  if (engine_.holds() != 0) return false;
  if (!engine_.inbox.is_empty() && !has_fault(Fault::inbox_forgotten)) return false;
  // Empty may mean that a worker has just taken what was there, and not counted it yet: that one stopped
  // idling before. If it idles again, the sums below have it.
  if (Events::idle(engine_.events.look_ordered()) != engine_.workers()) return false;
  if (has_fault(Fault::ends_when_idle)) return true;
  if (is_everything_finished([this] { return engine_.sums(); })) return true;
  // Tasks are left, and if nobody can find any they wait for groups that nobody can complete. A worker that
  // stopped idling meanwhile, took a pool and put it back, must not go unnoticed: the word is as before then,
  // but the worker counted the end of its idling after it became busy and before it took anything.
  const auto idle_ends = [this] {
    std::uint64_t sum = 0;
    for (unsigned w = 0; w < engine_.workers(); ++w)
      sum += engine_.worker(w).idle_ends_.load(std::memory_order_seq_cst);
    return sum;
  };
  const std::uint64_t before = idle_ends();
  const Sums first = engine_.sums();
  if (engine_.events.look_ordered() != word || engine_.has_work_for_anybody() ||
      engine_.events.look_ordered() != word || engine_.sums() != first || idle_ends() != before)
    return false;
  if (first.created == first.finished) return true;  // the last ended since the look above
  engine_.report_blocked();
  return true;
}

// ---- Its CPU ----

// A worker with a CPU of its own is bound to it while another works beside it. Alone it may run on any:
// bound, it would share its CPU with other programs while the others' CPUs are free; and one that waits for
// threads from outside wakes up where that is quickest. So the thread that calls run() begins unbound.

void Worker::leave_cpu() {
  if (!is_pinned_ || has_left_cpu_) return;
  engine_.unpin();
  has_left_cpu_ = true;
  chosen_ = ticks();
}
/// Also before it wakes another worker, which may be bound to the CPU that it has come to.
void Worker::return_to_cpu() {
  if (!has_left_cpu_) [[likely]]
    return;
  has_left_cpu_ = false;
  engine_.pin(*this);
  chosen_ = ticks();
}

/// Between two tasks of a worker that may be bound. Not often, since it takes some microseconds.
void Worker::choose_cpu() {
  const bool is_alone = Events::idle(engine_.events.look()) + 1 == engine_.workers();
  if (is_alone == has_left_cpu_ || ticks() - chosen_ < ticks_of(kChoiceMicroseconds)) [[likely]]
    return;
  if (is_alone) {
    leave_cpu();
  } else {
    return_to_cpu();
  }
}

}  // namespace rubato::runtime
