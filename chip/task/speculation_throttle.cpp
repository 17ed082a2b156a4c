// The throttles of speculation_throttle.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/speculation_throttle.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/rng.hpp"

namespace rubato::chip {

std::uint64_t ReachThrottle::tag_of_function(const TaskDescriptor& task) { return mix64(task.function) | 1; }

std::uint64_t ReachThrottle::tag_of_locale(const TaskDescriptor& task) {
  return mix64(task.function ^ mix64(task.locale)) | 1;
}

// Tags are odd, so that an entry without one is found by none.
const ReachThrottle::Entry* ReachThrottle::find(std::uint64_t tag) const {
  const Entry& entry = entries_[index(tag)];
  return entry.tag == tag ? &entry : nullptr;
}

const ReachThrottle::Entry* ReachThrottle::find(const TaskDescriptor& task) const {
  if (task.has_locale)
    if (const Entry* const own = find(tag_of_locale(task)); own != nullptr) return own;
  return find(tag_of_function(task));
}

Timestamp ReachThrottle::reach(const Entry& entry) {
  if (entry.level >= kUnlimited) return std::numeric_limits<Timestamp>::max();
  if (entry.level == 0) return 0;
  const Timestamp octave = Timestamp{1} << (entry.level / 2);
  return entry.level % 2 != 0 ? octave + octave / 2 : octave;
}

bool ReachThrottle::admits(const TaskDescriptor& task, Timestamp distance) const {
  if (!is_used_) return true;
  const Entry* const entry = find(task);
  return entry == nullptr || distance <= reach(*entry);
}

void ReachThrottle::aborted(const TaskDescriptor& task, Timestamp distance) {
  is_used_ = true;
  const std::uint64_t function = tag_of_function(task);
  const Entry* const found = find(task);
  Entry& entry = found != nullptr ? place(found->tag) : place(function);
  if (found == nullptr) entry = {.tag = function};
  // The locale's begins with the limit that its function's had, which answers for this abort.
  if (const std::uint64_t own = tag_of_locale(task); task.has_locale && entry.tag == function)
    if (Entry& target = place(own); &target != &entry) target = {.tag = own, .level = entry.level};
  if (distance > reach(entry)) return;  // it began under an earlier limit
  if (++entry.balance < kLowersAt) return;
  entry.balance = 0;
  const auto octave = distance == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(distance) - 1);
  entry.level = std::min(2 * octave, entry.level == 0 ? 0 : entry.level - 1);
}

void ReachThrottle::committed(const TaskDescriptor& task) {
  if (!is_used_) return;
  const Entry* const found = find(task);
  if (found == nullptr) return;
  Entry& entry = place(found->tag);
  entry.balance -= kCommitWeight;
  if (entry.balance > kRaisesAt) return;
  if (entry.level < kUnlimited) {
    ++entry.level;
    entry.balance = 0;
  } else {
    entry.balance = kRaisesAt;
  }
}

std::unique_ptr<SpeculationThrottle> make_speculation_throttle(const Config& config) {
  if (config.task.throttle == "none") return nullptr;
  return std::make_unique<ReachThrottle>(config.task.throttle_entries);
}

}  // namespace rubato::chip
