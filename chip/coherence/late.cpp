// See late.hpp.
// SPDX-License-Identifier: MIT
#include "chip/coherence/late.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace rubato::chip {

AccessResult LateMesi::access(CoreId core, LineAddr line, AccessKind kind, Cycle now) {
  std::vector<Asked>& asked = asked_[core.value];
  const auto it = std::find_if(asked.begin(), asked.end(), [line](const Asked& a) { return a.line == line; });
  if (it != asked.end() && it->due <= timeline_->now()) {
    asked.erase(it);
    return mesi_.access(core, line, kind, now);
  }
  const Path path(now);
  if (it != asked.end()) return path.blocked(BlockReason::protocol);
  // Expiry: requests that are no longer wanted, because the task was aborted, are dropped some time after
  // they were due.
  std::erase_if(asked, [now](const Asked& a) { return a.due + (1 << 16) < now; });
  const Latency late = 1 + mix64(++count_) % kMostLate;
  const Cycle due = later(now, timeline_->now()) + late;
  asked.push_back({line, due, late});
  timeline_->schedule(due, this, core.value, line.value);
  return path.blocked(BlockReason::protocol);
}

AccessParts LateMesi::take_waited(CoreId core) { return std::exchange(waited_[core.value], {}); }

void LateMesi::on_event(Cycle now, std::uint32_t core, std::uint64_t line) {
  for (const Asked& a : asked_[core])
    if (a.line.value == line) waited_[core].network = static_cast<std::uint32_t>(a.late);
  client_->on_access_ready(CoreId{core}, LineAddr{line}, now);
}

}  // namespace rubato::chip
