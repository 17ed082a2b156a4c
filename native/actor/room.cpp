// SPDX-License-Identifier: MIT
#include "native/actor/room.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "actors/bounds.hpp"
#include "actors/lifecycle.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/waiting_threads.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::native {
namespace {

using engine::Cell;
using Clock = std::chrono::steady_clock;

/// Waits for a full mailbox: until there is room, the run has ended, or that time has come.
void wait_for_room(std::uint64_t to, Clock::time_point until) {
  Cell& cell = *engine::cell_of(to);  // its bound stays the cell's
  engine::Bounded& bounded = *engine::bounded_of(cell);
  WaitsForRoom waiter;
  engine::WaitsForRun run{[](void* w) { static_cast<WaitsForRoom*>(w)->interrupt(); }, &waiter};
  Shared& shared = the_shared();
  const auto may_wait = [&shared] { return shared.is_running(); };
  if (!shared.waiting_threads.begin(run, may_wait, [&shared] { return shared.run_time(); })) return;
  if (bounded.wait_outside(waiter.word(), [to] { return engine::is_alive(to); }) &&
      !waiter.wait_until(until) && !bounded.stop_waiting(waiter.word()))
    waiter.wait_for_resume();
  shared.waiting_threads.end(run);
}

}  // namespace

bool count_from_outside(std::uint64_t to, engine::MessageNode* node, std::chrono::nanoseconds patience) {
  if (!node->type->takes_place || node->is_admitted() || node->is_high()) return true;
  std::optional<Clock::time_point> until;
  for (;;) {
    auto place = engine::Place::not_counted;
    engine::with_living(to, [&place](Cell& cell) { place = engine::take_place_or_wait(cell); });
    if (place == engine::Place::taken) node->word |= engine::MessageNode::kAdmitted;
    // If nothing runs, this thread may be the one that is to run. A worker may wait for a thread that ends.
    const Shared& shared = the_shared();
    const bool may_wait = shared.is_running() && !shared.is_left_behind() && !shared.is_stranger();
    if (place != engine::Place::full || !may_wait) return true;
    const Clock::time_point now = Clock::now();
    if (!until) {
      const bool is_forever = patience >= Clock::time_point::max() - now;
      until = is_forever ? Clock::time_point::max() : now + std::max(patience, std::chrono::nanoseconds(0));
    }
    if (now >= *until) return false;
    wait_for_room(to, *until);
  }
}

}  // namespace rubato::inline v0::native
