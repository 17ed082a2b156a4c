// The stopped attempts of stopped_attempts.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/stopped_attempts.hpp"

namespace rubato::chip {

void StoppedAttempts::end(Attempt* attempt, Cycle now) {
  state_.account_commits(now);
  state_.account_occupancy(now);
  state_.commit_queue.remove(attempt);
  state_.context.speculation->end(*attempt);
  attempt->task->attempt = nullptr;
  state_.context.attempts.release(attempt);
}

void StoppedAttempts::request_promotions(Cycle now) {
  Promotion* const promotion = state_.context.promotion;
  state_.commit_queue.for_each_exceptioned([&](const Attempt* attempt) {
    Task* const task = attempt->task;
    if (state_.is_earliest(*attempt) && !attempt->is_rolling_back && task->uncommitted_parent == nullptr &&
        !promotion->is_requested(task))
      promotion->request(state_.tile, task, now);
  });
}

void StoppedAttempts::report_quiet(bool has_suspended, Cycle now) {
  if (!owes_quiet_ || has_suspended) return;
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot)
    if (state_.slots[slot].task != nullptr && state_.slots[slot].task->attempt == nullptr) return;
  owes_quiet_ = false;
  state_.context.promotion->quiet(state_.tile, now);
}

}  // namespace rubato::chip
