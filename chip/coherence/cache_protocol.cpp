// Hardware prefetchers, as every protocol uses them.
// SPDX-License-Identifier: MIT
#include "chip/coherence/cache_protocol.hpp"

#include <fmt/format.h>

namespace rubato::chip {

/// A prefetched line was used for the first time, and comes at `there`.
void CacheProtocol::end_first_use(CoreId core, Cycle there, AccessResult& result) {
  seen_ = Seen::first_use;
  if (is_warming()) return;
  Prefetcher::Counters& counters = prefetchers_[core.value].counters;
  ++counters.useful;
  if (!result.done || there <= result.cycle) return;
  ++counters.late;
  result.parts.l2 += static_cast<std::uint32_t>(there - result.cycle);
  result.cycle = there;
}

void CacheProtocol::train(CoreId core, LineAddr own, AccessKind kind, Cycle now) {
  if (kind != AccessKind::load && kind != AccessKind::store) return;
  Prefetcher& prefetcher = prefetchers_[core.value];
  if (seen_ == Seen::miss) ++prefetcher.counters.uncovered;
  for (const LineAddr line : prefetcher.observe(own)) {
    if (l1d(core).find_any(line) != L1Cache::kNoSlot) continue;
    if (prefetcher.is_full(now)) {
      ++prefetcher.counters.dropped;
    } else {
      prefetch_line(core, line, own, now);
    }
  }
}

void CacheProtocol::register_prefetchers(StatRegistry& registry) const {
  for (std::uint32_t core = 0; core < prefetchers_.size(); ++core)
    prefetchers_[core].register_stats(registry, fmt::format("core.{}.l1d", core), parts_.l1s[core * 2 + 1]);
}

}  // namespace rubato::chip
