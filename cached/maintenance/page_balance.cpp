// SPDX-License-Identifier: MIT
#include "cached/maintenance/page_balance.hpp"

#include <algorithm>

namespace rubato::cached {

void PageBalance::note(const ClassLoads& now) {
  unsigned most = 0;
  std::uint64_t most_evicted = 0;
  for (unsigned c = 1; c < kMaxClasses; ++c) {
    // Counts that are lower than before were reset.
    const std::uint64_t evicted = now[c].evicted - std::min(before_[c].evicted, now[c].evicted);
    const bool grew = now[c].pages > before_[c].pages || now[c].out_of_memory > before_[c].out_of_memory;
    evicting_[c] = evicted ? evicting_[c] + 1 : 0;
    pressure_[c] = pressure_[c] / 2 + evicted;
    at_rest_[c] = grew || evicted ? 0 : at_rest_[c] + 1;
    if (evicted > most_evicted) most_evicted = evicted, most = c;
  }
  in_a_row_ = most == most_ ? in_a_row_ + 1 : 1;
  most_ = most;
  ++since_move_;
  before_ = now;
}

unsigned PageBalance::taker(bool eager) const {
  if (most_ && (eager || in_a_row_ >= kWindows)) return most_;
  if (since_move_ < kTurns) return 0;
  unsigned found = 0;
  for (unsigned c = 1; c < kMaxClasses; ++c)
    if (evicting_[c] >= kTurns && (!found || pressure_[c] > pressure_[found])) found = c;
  return found;
}

std::optional<PageMove> PageBalance::choose(const ClassLoads& now, double ratio, bool eager) {
  note(now);
  for (unsigned c = 1; c < kMaxClasses; ++c)
    if (at_rest_[c] >= kRest && can_give(now[c])) return PageMove{c, 0};

  const unsigned to = taker(eager);
  if (!to) return {};
  // The class whose oldest items are oldest gives: what it loses was asked for least.
  unsigned giver = 0;
  double oldest = static_cast<double>(now[to].age) / ratio;
  for (unsigned c = 1; c < kMaxClasses; ++c) {
    if (c == to || now[c].spare_pages == 0) continue;
    const bool nearly_empty = now[c].free_chunks >= 2 * now[c].chunks_per_page;
    const double age = nearly_empty ? 1e18 : static_cast<double>(now[c].age);
    if (age > oldest) oldest = age, giver = c;
  }
  if (!giver) return {};
  since_move_ = 0;
  return PageMove{giver, to};
}

}  // namespace rubato::cached
