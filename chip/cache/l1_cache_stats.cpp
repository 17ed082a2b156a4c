// The names of an L1's statistics.
// SPDX-License-Identifier: MIT
#include "chip/cache/l1_cache.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

void L1Cache::register_stats(StatRegistry& registry, const std::string& prefix) const {
  registry.counter(prefix + ".hits", "accesses", "accesses that this cache served alone", &hits_);
  registry.counter(prefix + ".misses", "accesses", "accesses that needed the tile's L2 or more", &misses_);
}

}  // namespace rubato::chip
