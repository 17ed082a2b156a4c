// SPDX-License-Identifier: MIT
#include "native/worker/turn_lag.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "native/worker/lag_span.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/turn_scheduling.hpp"
#include "native/worker/worker.hpp"
#include "rubato/engine/actor_extras.hpp"

namespace rubato::inline v0::native {
namespace {

/// The shortest of a few times: a look and a pause.
std::uint64_t ticks_of_a_look() {
  static const std::uint64_t ticks_of_one = [] {
    constexpr unsigned kTries = 8, kLooks = 64;
    const std::atomic<const void*> nothing{nullptr};
    std::uint64_t best = ~std::uint64_t{0};
    for (unsigned i = 0; i < kTries; ++i) {
      const std::uint64_t begin = ticks();
      for (unsigned k = 0; k < kLooks && nothing.load(std::memory_order_acquire) == nullptr; ++k)
        LagClock::pause();
      best = std::min(best, ticks() - begin);
    }
    return std::max<std::uint64_t>(best / kLooks, 1);
  }();
  return ticks_of_one;
}

}  // namespace

TurnLag::TurnLag(Worker& worker)
    : worker_(worker),
      decider_(lag_rules(worker.shared.options().lagging), LagRandom(worker.index + 0x10000)),
      waits_(ticks_per_microsecond()),
      switch_(static_cast<std::uint64_t>(worker.shared.options().lagging.turn_switch_microseconds *
                                         ticks_per_microsecond())),
      delays_(worker.shared.options().lagging.delays),
      look_(ticks_of_a_look()),
      until_first_(decider_.first_gap()),
      is_worth_it_(switch_.is_worth_lagging(look_)) {
  worker_.until_turn_lag = is_worth_it_ ? 1 : switch_.skip();
  count();
}

/// Whatever else there is to do at once, or would be late. It looks at the clock last, and only where another
/// program has used this CPU.
bool TurnLag::must_not_wait(const Cell& cell) {
  constexpr unsigned kPlain = Cell::kBounded | Cell::kUrgent;
  const Shared& shared = worker_.shared;
  if ((cell.flags & ~kPlain) != 0 || cell.is_killed.load(std::memory_order_relaxed) != 0) return true;
  if (!worker_.committed.is_empty() || worker_.lists.has_high()) return true;
  if (worker_.has_pools && !(worker_.seen.ready.is_empty(0) && worker_.seen.pinned.is_empty(0))) return true;
  if ((shared.events.look() & Worker::Events::kRequests) != 0) return true;
  // With one worker and no other thread nothing can come.
  if (shared.workers() == 1 && !shared.is_held_open()) return true;
  if (turn_ != worker_.counts.finished.get()) {
    turn_ = worker_.counts.finished.get();
    waited_ = waits_.waited();
  }
  if (waits_.waited() - waited_ >= kMostSwitches * switch_.ticks()) return true;
  return !waits_.may_wait();
}

/// Null: there is no memory for it.
lag::Record* TurnLag::new_record(Cell& cell) {
  if (cell.extras == nullptr) cell.extras = new (std::nothrow) engine::Extras;
  if (cell.extras == nullptr) return nullptr;
  auto* const record = new (std::nothrow) lag::Record;
  if (record == nullptr) return nullptr;
  record->until_sample = 1;  // the first sample is this one; its account is empty
  cell.extras->lag = {record, [](void* r) { delete static_cast<lag::Record*>(r); }};
  return record;
}

void TurnLag::give_up(Cell& cell, const Mailbox& mailbox) {
  if (mailbox.has_more()) return;  // nothing is given up
  const bool is_timed = switch_.is_due();
  if (!is_worth_it_) worker_.until_turn_lag = switch_.skip();
  if (is_timed) {
    after_ = worker_.counts.finished.get();
    worker_.seizure.set_timed(true);
    has_waited_ = false;
    switch_began_ = ticks();
    return;
  }
  if (!is_worth_it_) return;
  if (cell.extras != nullptr && !cell.extras->may_lag) return;
  auto* record = cell.extras == nullptr ? nullptr : static_cast<lag::Record*>(cell.extras->lag.get());
  if (record == nullptr) {
    // Each giving-up is a sample with the same probability, whatever actor it is of: those that handle few
    // messages need no memory for that.
    if (until_first_ > 1) {
      --until_first_;
      return;
    }
  }
  if (must_not_wait(cell)) return;
  if (record == nullptr) {
    until_first_ = decider_.first_gap();
    record = new_record(cell);
    if (record == nullptr) return;
  }
  lag::Look seen = lag::Look::nothing;
  bool has_waited = false;
  const auto look = [&] {
    if (mailbox.has_more()) return lag::Look::work;
    const bool must_end = (worker_.shared.events.look() & Worker::Events::kRequests) != 0 ||
                          cell.is_killed.load(std::memory_order_relaxed) != 0;
    return must_end ? lag::Look::end : lag::Look::nothing;
  };
  LagSpan span(worker_.timer.lane(), decider_.events(), waits_.waited());
  decider_.give_up(*record, [&](unsigned delays) {
    has_waited = true;
    return waits_.wait(delays, std::max<std::uint64_t>(switch_.ticks() / delays_, 1), look, seen);
  });
  if (!has_waited) return;
  span.end(decider_.events(), waits_.waited());
  count();
}

void TurnLag::forget_switch() {
  if (std::exchange(switch_began_, 0) == 0) return;
  if (!worker_.timer.is_on()) worker_.seizure.set_timed(false);
}

void TurnLag::note_next(const engine::Task& task) {
  if (is_dear_turn(&task)) return;  // notes it itself
  const bool is_next = worker_.counts.finished.get() == after_ + 1;
  if (is_next && task.code->run == engine::run_actor_turn) {
    // Its first message may be a cache miss away.
    const MessageNode* const first = mailbox_of(*cell_in(&task)).head();
    if (first != nullptr) static_cast<void>(*static_cast<const volatile std::uint64_t*>(&first->word));
    note_switch(ticks() - switch_began_);
  }
  switch_began_ = 0;
}

void TurnLag::note_dear(std::uint64_t before) {
  if (switch_began_ == 0) return;
  if (worker_.counts.finished.get() == after_ + 1) note_switch(ticks() - switch_began_ + before);
  switch_began_ = 0;
}

void TurnLag::note_switch(std::uint64_t ticks) {
  switch_.note(ticks);
  is_worth_it_ = switch_.is_worth_lagging(look_);
  if (is_worth_it_) worker_.until_turn_lag = 1;
  count();
}

void TurnLag::count() const {
  const lag::Events& e = decider_.events();
  Counts& counts = worker_.counts;
  counts.turn_samples.set(e.samples);
  counts.turn_sample_hits.set(e.sample_hits);
  counts.turn_lags.set(e.lags);
  counts.turn_lag_hits.set(e.hits);
  counts.turn_decisions.set(e.decisions);
  counts.turn_drops.set(e.drops);
  counts.turn_lag_ticks.set(waits_.waited());
  counts.turn_preempted.set(waits_.preempted());
  counts.turn_switch_ticks.set(switch_.ticks());
}

}  // namespace rubato::inline v0::native
