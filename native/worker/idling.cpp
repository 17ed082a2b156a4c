// SPDX-License-Identifier: MIT
#include "native/worker/idling.hpp"

#include <algorithm>
#include <chrono>

#include "native/clock.hpp"
#include "native/fault.hpp"
#include "native/lag/formulas.hpp"
#include "native/lag/idle_lag.hpp"
#include "native/policy.hpp"
#include "native/worker/lag_span.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/turn_lag.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

Idling::Idling(Worker& worker) : worker_(worker), shared_(worker.shared) {
  using Kind = Lagging::Kind;
  const Lagging& l = shared_.options().lagging;
  if (l.kind == Kind::off || !l.has_level(Lagging::kWorkers) || !shared_.has_cpus()) return;
  if (Shared::machine().quota) return;  // a wait would use up what the quota leaves for work
  lag_ = std::make_unique<IdleLag>(lag_rules(l), LagRandom(worker.index + 1), ticks_per_microsecond(),
                                   l.switch_microseconds);
}

Idling::~Idling() = default;

/// Looks without taking; ordered against announce() by seq_cst. Ready pools that may not be taken from are no
/// work: end_inline() notifies. A worker that may go on to the next timestamp does so before it idles.
bool Idling::can_find_work() const {
  if (!shared_.inbox_ready.is_empty() || worker_.seen.has_work_of_its_own()) return true;
  const bool may_take = worker_.ordered.are_pools_open();
  for (unsigned w = 0; w < shared_.workers(); ++w) {
    const SeenByOthers& seen = shared_.worker(w).seen;
    if (seen.has_published()) return true;
    const bool is_choosy = w != worker_.index && shared_.pools.have_places();
    if (may_take && (is_choosy ? worker_.pools.may_steal_from(seen) : seen.has_ready_pools())) return true;
    if (shared_.worker(w).forking.has_any()) return true;
  }
  return false;
}

bool Idling::wait_for_work() {
  Events& events = shared_.events;
  const TraceScope idle(worker_.timer.lane(), TraceSpan::Kind::idle);
  worker_.leave_epochs();  // first: when all are idle, run() may end and free what is left
  if (worker_.has_created_anything()) {
    worker_.enter_epochs();
    return true;
  }
  worker_.pace.stop(ticks());
  const Events::Ticket ticket = events.announce();
  worker_.seen.is_idle.store(true, std::memory_order_seq_cst);
  worker_.forking.want();
  if (worker_.turn_lag != nullptr) worker_.turn_lag->pause_switch();
  const auto end_idling = [this, &events] {
    if (worker_.turn_lag != nullptr) worker_.turn_lag->resume_switch();
    worker_.seen.is_idle.store(false, std::memory_order_relaxed);
    events.cancel();
    shared_.watch.note_busy();
    worker_.seen.idle_ends.fetch_add(1, std::memory_order_seq_cst);
    worker_.cpu.stay();
    worker_.enter_epochs();
    worker_.sharing.time_from_here();
    worker_.pace.go_on(ticks());
  };
  if (worker_.index != 0 && (ticket.word & (Events::kPaused | Events::kEnd)) != 0) {
    end_idling();
    return true;
  }
  const bool is_single = shared_.workers() == 1;
  const std::uint64_t run = shared_.current_run.load(std::memory_order_seq_cst);
  bool is_last = false;  // and all wait for threads from outside
  for (unsigned i = 0; i < (is_single ? 1 : policy::kIdleSpins); ++i) {
    const std::uint64_t word = events.look_ordered();
    if ((word & Events::kStop) == 0 && !has_fault(Fault::no_recheck) && can_find_work()) {
      end_idling();
      return true;
    }
    const bool is_end_near = Events::idle(word) == shared_.workers() || has_fault(Fault::ends_when_idle);
    if (is_end_near && ((word & Events::kStop) != 0 || is_over(run))) {
      if (worker_.index == 0) {
        end_idling();
        return false;
      }
      if (shared_.end_found.note_over(run)) {
        worker_.counts.wake_ups.add();
        events.notify_all();
      }
      is_last = false;
      break;
    }
    is_last = Events::idle(word) == shared_.workers() && shared_.is_held_open();
    if (worker_.index == 0 && shared_.end_found.is_over(run)) {
      end_idling();
      return false;
    }
    StdAtomics::pause();
  }
  shared_.watch.note_waiting();
  if (lag_ == nullptr || !lag(ticket, run)) sleep(ticket, is_last);
  end_idling();
  return true;
}

void Idling::sleep(Events::Ticket ticket, bool is_last) {
  Events& events = shared_.events;
  worker_.counts.parks.add();
  const TraceScope parked(worker_.timer.lane(), TraceSpan::Kind::parked);
  const std::uint64_t begin = lag_ != nullptr ? ticks() : 0;
  if (is_last) {
    worker_.cpu.leave();
    sleep_last(ticket);
  } else {
    events.sleep(ticket);
  }
  if (lag_ == nullptr) return;
  const std::uint64_t woken = shared_.woken_at.exchange(0, std::memory_order_relaxed), now = ticks();
  if (woken > begin && woken < now)
    lag_->note_wake_up(now - woken + shared_.wake_ticks.load(std::memory_order_relaxed));
}

/// All others sleep, too. If the run is open for OutsideEvents only, and none is set for so long as makes a
/// standstill, standard error says so: they may have been forgotten. A hold is open on purpose.
void Idling::sleep_last(Events::Ticket ticket) {
  constexpr unsigned kMostSeconds = 4000;  // of a sleep: its microseconds have 32 bits
  using Clock = std::chrono::steady_clock;
  Events& events = shared_.events;
  const unsigned seconds = std::min(shared_.options().standstill_seconds, kMostSeconds);
  if (seconds == 0 || shared_.holds() != 0 || !shared_.unset_events.is_silent())
    return events.sleep_last(ticket);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  events.sleep(ticket, seconds * 1'000'000);
  if (events.epoch() == ticket.epoch && Clock::now() >= end && shared_.unset_events.is_silent())
    shared_.unset_events.say(seconds, " (RUBATO_STANDSTILL=0 leaves this out)");
}

/// Lags in place of a sleep, as lagging decides. Events that would end the sleep end it, too, without the
/// cost of a wake-up.
/// @returns whether it has ended so
bool Idling::lag(Events::Ticket ticket, std::uint64_t run) {
  Events& events = shared_.events;
  const std::uint64_t word = events.look_ordered();
  if ((word & Events::kRequests) != 0 || !lag_->may_lag()) return false;
  // Not more than work, and one at least: A45.
  const unsigned most = std::max(1u, shared_.workers() - Events::idle(word));
  for (unsigned lagging = shared_.lagging.load(std::memory_order_relaxed);;) {
    if (lagging >= most) return false;
    if (shared_.lagging.compare_exchange_weak(lagging, lagging + 1, std::memory_order_relaxed)) break;
  }
  bool is_woken = false;
  LagSpan span(worker_.timer.lane(), lag_->events(), lag_->waited());
  lag_->give_up([&] {
    if (events.epoch() == ticket.epoch) return lag::Look::nothing;
    is_woken = true;
    const bool is_over = shared_.end_found.is_over(run);
    return !is_over && can_find_work() ? lag::Look::work : lag::Look::end;
  });
  shared_.lagging.fetch_sub(1, std::memory_order_relaxed);
  const lag::Events& e = lag_->events();
  span.end(e, lag_->waited());
  Counts& counts = worker_.counts;
  counts.lag_samples.set(e.samples);
  counts.lag_sample_hits.set(e.sample_hits);
  counts.lags.set(e.lags);
  counts.lag_hits.set(e.hits);
  counts.lag_decisions.set(e.decisions);
  counts.lag_drops.set(e.drops);
  counts.lag_ticks.set(lag_->waited());
  counts.lag_preempted.set(lag_->preempted());
  counts.lag_switch_ticks.set(lag_->switch_ticks());
  return is_woken;
}

/// Idle when the run ended, and from there straight to here.
void Idling::pause() {
  if (worker_.turn_lag != nullptr) worker_.turn_lag->forget_switch();
  const TraceScope idle(worker_.timer.lane(), TraceSpan::Kind::idle),
      parked(worker_.timer.lane(), TraceSpan::Kind::parked);
  worker_.leave_epochs();
  worker_.pace.stop(ticks());
  wait_for_end_of_pause();
  worker_.pace.go_on(ticks());
  worker_.cpu.go_back();
  worker_.enter_epochs();
}
void Idling::wait_for_end_of_pause() {
  Events& events = shared_.events;
  // After a failure a worker drops what it has kept: it leaves for that, and pauses again.
  const auto must_wait = [this](std::uint64_t word) {
    return (word & (Events::kPaused | Events::kEnd)) == Events::kPaused &&
           ((word & Events::kStop) == 0 || !worker_.seen.has_kept.load(std::memory_order_relaxed));
  };
  for (;;) {
    const Events::Ticket ticket = events.announce();
    if (must_wait(ticket.word)) events.sleep(ticket);
    const std::uint64_t word = events.cancel();
    worker_.seen.idle_ends.fetch_add(1, std::memory_order_seq_cst);
    if (!must_wait(word)) return;
  }
}

namespace {

/// See end_of_run().
class Looks {
 public:
  explicit Looks(Shared& shared) : shared_(shared) {}

  bool are_all_idle() const {
    return has_fault(Fault::ends_when_idle) ||
           Idling::Events::idle(shared_.events.look_ordered()) == shared_.workers();
  }
  bool is_held_open() const { return shared_.is_held_open(); }
  bool has_inbox() const { return !shared_.inbox.is_empty() && !has_fault(Fault::inbox_forgotten); }
  std::uint64_t idle_ends() const {
    std::uint64_t sum = 0;
    for (unsigned w = 0; w < shared_.workers(); ++w)
      sum += shared_.worker(w).seen.idle_ends.load(std::memory_order_seq_cst);
    return sum;
  }
  Sums sums() const { return has_fault(Fault::ends_when_idle) ? Sums{} : shared_.sums(); }
  bool has_work() const { return shared_.has_work_for_anybody(); }

 private:
  Shared& shared_;
};

}  // namespace

/// `run`: the current one. The caller counts as idle, so the run may end meanwhile, and the next begin.
bool Idling::is_over(std::uint64_t run) {
  const RunEnd end = end_of_run(Looks(shared_));
  if (end == RunEnd::blocked) shared_.end_found.note_blocked(run);
  return end != RunEnd::none;
}

}  // namespace rubato::inline v0::native
