// SPDX-License-Identifier: MIT
#include "cached/maintenance/page_balance.hpp"

#include <algorithm>

namespace rubato::cached {

void PageBalance::note(const ClassLoads& now) {
  for (unsigned c = 1; c < kMaxClasses; ++c) {
    // Counts that are lower than before were reset.
    evicted_[c] = now[c].evicted - std::min(before_[c].evicted, now[c].evicted);
    const bool grew = now[c].pages > before_[c].pages || now[c].out_of_memory > before_[c].out_of_memory;
    at_rest_[c] = grew || evicted_[c] ? 0 : at_rest_[c] + 1;
  }
  before_ = now;
}

std::optional<PageMove> PageBalance::choose(const ClassLoads& now, double ratio, bool eager) {
  note(now);
  for (unsigned c = 1; c < kMaxClasses; ++c)
    if (at_rest_[c] >= kRest && can_give(now[c])) return PageMove{c, 0};

  const auto most_at = std::max_element(evicted_.begin(), evicted_.end());
  const unsigned most = *most_at ? static_cast<unsigned>(most_at - evicted_.begin()) : 0;
  in_a_row_ = most && most == most_ ? in_a_row_ + 1 : most ? 1u : 0u;
  most_ = most;
  if (!most || (!eager && in_a_row_ < kWindows)) return {};
  // The class whose oldest items are oldest gives: what it loses was asked for least.
  unsigned giver = 0;
  double oldest = static_cast<double>(now[most].age) / ratio;
  for (unsigned c = 1; c < kMaxClasses; ++c) {
    if (c == most || now[c].spare_pages == 0) continue;
    const bool nearly_empty = now[c].free_chunks >= 2 * now[c].chunks_per_page;
    const double age = nearly_empty ? 1e18 : static_cast<double>(now[c].age);
    if (age > oldest) oldest = age, giver = c;
  }
  if (!giver) return {};
  return PageMove{giver, most};
}

}  // namespace rubato::cached
