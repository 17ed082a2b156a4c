// SPDX-License-Identifier: MIT
#include "chip/replay/order_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rubato::chip {

std::string OrderCheck::commit(const AttemptRecord& record) {
  if (expected_.erase(record.id) == 0)
    return "commits, but no committed task has created it, or it has committed before";
  const TaskDescriptor& d = record.descriptor;
  if (d.has_timestamp) {
    if (last_ && d.timestamp < *last_) return fmt::format("commits after a task with timestamp {}", *last_);
    last_ = d.timestamp;
  }
  if (!d.has_locale) return {};
  if (spec_runs_anywhere_) {
    Stays& stays = stays_of_tiles_[d.locale][record.core.value / cores_per_tile_];
    if (std::string wrong = check_locale(record, stays); !wrong.empty() || d.type == TaskType::spec)
      return wrong;
  }
  return check_locale(record, stays_[d.locale]);
}

std::string OrderCheck::check_locale(const AttemptRecord& record, Stays& stays) {
  const bool reads = record.descriptor.reads;
  const auto overlap = [&](const std::pair<const Cycle, Stay>& other) {
    if (reads && other.second.reads) return std::string{};
    return fmt::format("ran from cycle {} to {}, while task {} with the same locale ran from {} to {},",
                       record.dispatched.value, record.finished.value, other.second.id, other.first.value,
                       other.second.end.value);
  };
  const auto after = stays.lower_bound(record.dispatched);
  if (after != stays.end() && after->first < record.finished) return overlap(*after);
  if (after != stays.begin() && std::prev(after)->second.end > record.dispatched)
    return overlap(*std::prev(after));
  stays.insert_or_assign(after, record.dispatched, Stay{record.finished, record.id, reads});
  return {};
}

std::string OrderCheck::end() const {
  if (expected_.empty()) return {};
  const auto first = std::min_element(expected_.begin(), expected_.end());
  return fmt::format(
      "at the end of the region {} task{} that committed tasks created never committed, the first "
      "is task {}, created by task {}",
      expected_.size(), expected_.size() == 1 ? "" : "s", first->first, first->second);
}

}  // namespace rubato::chip
