// Delayed tasks, by the timers of actors: the same on every engine. A timer of a task has no hold: the task's
// OutsideEvent keeps run() open, and ends with a run that fails. It keeps a TimerOwner, which ends the timer.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "actors/timers.hpp"
#include "rubato/delayed.hpp"

namespace rubato::inline v0::engine {
namespace {

struct DelayTimer final : TimerCall {
  explicit DelayTimer(std::shared_ptr<Delay> d) : delay(std::move(d)) {}
  void call() override { delay->set_due(); }
  const std::shared_ptr<Delay> delay;
};

struct TimerOwner {
  explicit TimerOwner(std::shared_ptr<Delay> d) : delay(std::move(d)) {}
  ~TimerOwner() { delay->end_timer(); }
  TimerOwner(const TimerOwner&) = delete;
  TimerOwner& operator=(const TimerOwner&) = delete;
  const std::shared_ptr<Delay> delay;
};

}  // namespace

std::uint64_t clock_nanoseconds() { return actor_nanoseconds(); }

std::uint64_t time_of(Duration delay) {
  const Time at = time_after(actor_nanoseconds(), delay);
  if (at >= kNever) misuse(errors::never_later());
  return at;
}
std::uint64_t time_of(TaskClock::time_point when) {
  const auto at = when.time_since_epoch().count();
  if (at >= static_cast<TaskClock::rep>(kNever)) misuse(errors::never_later());
  return static_cast<std::uint64_t>(std::max<TaskClock::rep>(at, 0));
}

void Delay::begin() {
  if (is_clock_stopped()) misuse(errors::later_on_stopped_clock());
  event_ = OutsideEvent(
      begin_event(due_, {__FILE__, __LINE__, true}, std::make_shared<TimerOwner>(shared_from_this())));
}

void Delay::start() {
  const std::uint64_t number = start_timer(at_, Duration::zero(), 0,
                                           {std::make_unique<DelayTimer>(shared_from_this()), nullptr, true});
  std::uint64_t seen = 0;
  // Another thread's run has failed meanwhile, or the time has come.
  if (!timer_.compare_exchange_strong(seen, number)) cancel_timer(number);
}

void Delay::end_timer() noexcept {
  const std::uint64_t number = timer_.exchange(kNoTimer);
  if (number != 0 && number != kNoTimer) cancel_timer(number);
}

void Delay::withdraw() {
  end_timer();
  event_.withdraw();  // unless its time has come: then it leaves the group by itself
}

bool Delay::cancel() {
  State seen = State::waiting;
  if (!state_.compare_exchange_strong(seen, State::over)) return false;
  if (may_cancel_timers()) end_timer();  // else it ends with the event
  event_.try_set();
  return true;
}

}  // namespace rubato::inline v0::engine
