// Hardware prefetchers, and cores that turn to another program, as every protocol uses them.
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

// A prefetch under way brings its line to the L2 only (TokenTiles::end_prefetch). An exclusive L2 has ways
// for no more lines than those that have left its L1s one by one: there most lines leave the chip's caches.
void CacheProtocol::enter_program(CoreId core, std::uint32_t program) {
  TileCaches& tile = parts_.tiles[parts_.tile_of(core).value];
  for (const AccessKind kind : {AccessKind::fetch, AccessKind::load}) {
    L1Cache& l1 = parts_.l1s[Hierarchy::l1_of(core, kind)];
    for (std::uint32_t slot = 0; tile.is_exclusive() && slot < l1.slots(); ++slot) {
      if (l1.state_at(slot) == LineState::invalid) continue;
      const LineAddr line = l1.outer(l1.line_at(slot));
      forget(line, line);
    }
    tile.empty_l1(parts_.l1_in_tile(core, kind));
    l1.set_program(program);
  }
  if (has_prefetchers()) prefetchers_[core.value].forget();
}

}  // namespace rubato::chip
