// SPDX-License-Identifier: MIT
#include "actors/timers.hpp"

#include <string>

namespace rubato::inline v0::engine {
namespace {

/// @returns 0 if it will never be due.
std::uint64_t begin_timer(Duration delay, Duration period, TimedAction action) {
  const Time at = time_after(actor_nanoseconds(), delay);
  const std::uint64_t owner = current_actor();
  if (at == kNever) return 0;
  if (owner != 0) {
    if (!is_alive(owner)) {  // its destructor runs
      if (action.message != nullptr) post(owner, action.message->make());
      return 0;
    }
    extras_of(*cell_of(owner)).has_had_timers = true;
  }
  return start_timer(at, period, owner, std::move(action));
}

}  // namespace

std::uint64_t add_timer(Duration delay, std::unique_ptr<TimerCall> call) {
  return begin_timer(delay, Duration::zero(), {std::move(call), nullptr});
}
std::uint64_t add_timer(Duration delay, Duration period, std::shared_ptr<TimedMessage> message) {
  return begin_timer(delay, period, {nullptr, std::move(message)});
}

void check_period(Duration period) {
  if (period > Duration::zero()) return;
  misuse("every() is called with a period of " + std::to_string(period.count()) +
         " ns: a period must be above 0");
}

bool handle_due(std::uint64_t number) {
  const std::shared_ptr<TimedMessage> message = take_due(number);
  if (message == nullptr) return false;
  Cell& cell = *cell_of(current_actor());
  const std::unique_ptr<MessageNode, void (*)(MessageNode*)> node(message->make(), free_node);
  if (!cell.type->handle(cell.behavior, node.get())) destroy_payload(node.get());
  return true;
}
bool withdraw_due(std::uint64_t number) { return take_due(number) != nullptr; }

namespace {

/// To an actor whose time-out for idleness may be due.
struct IdleCheck {
  using shown_message = Idle;
  std::uint64_t round;
  bool run_in_turn();
};
struct IdleTimer final : TimerCall {
  IdleTimer(std::uint64_t a, std::uint64_t r) : actor(a), round(r) {}
  void call() override { post(actor, make_node<IdleCheck>(IdleCheck{round})); }
  std::uint64_t actor, round;
};

void arm(std::uint64_t actor, IdleTimeout& idle, Duration delay) {
  idle.due = 0;  // if there is no memory for a timer
  ++idle.round;
  // Read before the timer begins: when it has called, `due` is past, also if this thread was kept from going
  // on.
  const Time due = time_after(actor_nanoseconds(), delay);
  idle.timer = add_timer(delay, std::make_unique<IdleTimer>(actor, idle.round));
  idle.due = due;
}

bool IdleCheck::run_in_turn() {
  const std::uint64_t actor = current_actor();
  Cell& cell = *cell_of(actor);
  if (cell.extras == nullptr) return false;
  IdleTimeout& idle = cell.extras->idle;
  if (idle.due == 0 || idle.round != round) return false;
  idle.due = 0;
  const Time due = time_after(idle.last, Duration(idle.period)), now = actor_nanoseconds();
  if (now < due) {
    arm(actor, idle, Duration(static_cast<std::int64_t>(due - now)));
    return false;
  }
  const std::unique_ptr<MessageNode, void (*)(MessageNode*)> node(make_node<Idle>(), free_node);
  cell.type->handle(cell.behavior, node.get());
  return true;
}

}  // namespace

void set_idle_timeout(std::uint64_t actor, Duration period) {
  if (period <= Duration::zero())
    misuse("idle_after() is called with a period of " + std::to_string(period.count()) +
           " ns: a period must be above 0");
  Cell& cell = *cell_of(actor);
  if (!is_alive(actor)) return;  // its destructor runs
  forget_idle_timeout(cell);
  if (period == kForever) return;
  IdleTimeout& idle = extras_of(cell).idle;
  idle.period = period.count();
  idle.last = actor_nanoseconds();
  arm(actor, idle, period);
}

void note_activity() {
  const std::uint64_t actor = current_actor();
  if (actor == 0) return;
  Extras* const extras = cell_of(actor)->extras;
  if (extras == nullptr || extras->idle.period == 0 || !is_alive(actor)) return;
  IdleTimeout& idle = extras->idle;
  idle.last = actor_nanoseconds();
  // None, or its check is on its way and would begin another, or has been dropped with a run that failed.
  if (idle.due <= idle.last) arm(actor, idle, Duration(idle.period));
}

void forget_idle_timeout(Cell& cell) {
  if (cell.extras == nullptr) return;
  IdleTimeout& idle = cell.extras->idle;
  if (idle.due != 0) cancel_timer(idle.timer);
  idle.due = 0;
  idle.period = 0;
}

void cancel_timers_of(Cell& cell, bool all) {
  if (cell.extras == nullptr || !cell.extras->has_had_timers) return;
  while (cancel_one_of(*cell.extras, all)) {
  }
}

}  // namespace rubato::inline v0::engine
