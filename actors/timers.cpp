// SPDX-License-Identifier: MIT
#include "actors/timers.hpp"

#include <string>

#include "actors/lifecycle.hpp"

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

void cancel_timers_of(Cell& cell, bool all) {
  if (cell.extras == nullptr || !cell.extras->has_had_timers) return;
  while (cancel_one_of(*cell.extras, all)) {
  }
}

}  // namespace rubato::inline v0::engine
