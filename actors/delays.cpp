// Delayed tasks, by the timers of actors: the same on every engine. A timer of a task has no hold: the task's
// OutsideEvent keeps run() open, and ends with a run that fails.
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

}  // namespace

std::uint64_t clock_nanoseconds() { return actor_nanoseconds(); }

std::uint64_t time_of(TaskClock::duration delay) {
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
  event_ = OutsideEvent(begin_event(due_, {__FILE__, __LINE__, true}, shared_from_this()));
}

void Delay::start() {
  timer_ = start_timer(at_, Duration::zero(), 0,
                       {std::make_unique<DelayTimer>(shared_from_this()), nullptr, true});
}

void Delay::withdraw() {
  cancel_timer(timer_);
  event_.withdraw();  // unless its time has come: then it leaves the group by itself
}

bool Delay::cancel() {
  State seen = State::waiting;
  if (!state_.compare_exchange_strong(seen, State::cancelled)) return false;
  if (may_cancel_timers()) cancel_timer(timer_);  // else it finds nothing to do
  event_.try_set();
  return true;
}

}  // namespace rubato::inline v0::engine
