// The places of commit_room.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/commit_room.hpp"

#include <algorithm>
#include <bit>

namespace rubato::chip {

std::size_t CommitRoom::latest_index() const {
  const auto& times = state_.commit_queue.times();
  const auto max = std::max_element(times.begin(), times.end());
  if (max == times.end()) return times.size();
  const auto is_safe = [&](std::size_t i) {
    return state_.context.arbiter->is_deciding(state_.tile, times[i]) &&
           state_.context.aborts->is_fate_pending(*state_.commit_queue.attempts()[i]);
  };
  if (const auto first = static_cast<std::size_t>(max - times.begin()); !is_safe(first)) return first;
  std::size_t latest = times.size();
  for (std::size_t i = 0; i < times.size(); ++i)
    if ((latest == times.size() || times[latest] < times[i]) && !is_safe(i)) latest = i;
  return latest;
}

Attempt* CommitRoom::latest() const {
  const std::size_t latest = latest_index();
  return latest == state_.commit_queue.size() ? nullptr : state_.commit_queue.attempts()[latest];
}

std::uint32_t CommitRoom::running_attempts() const {
  std::uint32_t count = 0;
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot)
    if (const Task* const task = state_.slots[slot].task; task != nullptr && task->attempt != nullptr)
      ++count;
  return count;
}

// Spilled tasks show that there is enough work; without them the core has nothing better to do than to run
// ahead. With spilled tasks there are two reasons to hold. A full commit queue has no place for an attempt
// later than all in it, such as another one of the latest timestamp. The other reason: the GVT's timestamp
// has had more tasks than the commit queue holds, and others of it are in memory. Tasks that run ahead then
// only add to the spilled ones. When the last of them are running, cores that have ended theirs would wait
// for other tiles: they run ahead if each attempt that runs has a place, for one that stalls would keep its
// core from the next timestamp's tasks.
std::optional<Timestamp> CommitRoom::hold_from(bool has_earliest) const {
  const CommitQueue& queue = state_.commit_queue;
  if (has_started_many() && (has_earliest || queue.size() + running_attempts() >= queue.capacity())) return 0;
  if (!queue.full()) return std::nullopt;
  const std::size_t latest = latest_index();
  return latest != queue.size() ? queue.times()[latest].timestamp : 0;
}

Attempt* CommitRoom::displaced_by(const Attempt& attempt) const {
  Attempt* const latest = this->latest();
  return latest != nullptr && attempt.virtual_time < latest->virtual_time ? latest : nullptr;
}

bool CommitRoom::make_room(const Attempt& attempt, Cycle now) {
  if (!state_.commit_queue.full()) return true;
  Attempt* const latest = displaced_by(attempt);
  if (latest == nullptr) return false;
  state_.context.aborts->abort({&latest, 1},
                               {AbortCause::commit_queue, LineAddr{}, attempt.core, attempt.task}, now);
  return true;
}

void CommitRoom::wake_finishing(Cycle now) {
  std::uint32_t rest = state_.states.in(CoreState::finishing);
  if (rest == 0) return;
  // The latest attempt may have been safe from a finish only while its fate was pending.
  const bool is_full = state_.commit_queue.full();
  const Attempt* const latest = is_full ? this->latest() : nullptr;
  if (is_full && latest == nullptr) return;
  for (; rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
    const CoreSlot& c = state_.slots[slot];
    if (!c.borrowed && (latest == nullptr || c.task->attempt->virtual_time < latest->virtual_time))
      state_.context.host.wake(state_.core_of(slot), now);
  }
}

}  // namespace rubato::chip
