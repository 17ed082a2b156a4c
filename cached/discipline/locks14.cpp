// The cache with discipline `locks14`: its one translation unit (T83).
// SPDX-License-Identifier: MIT
#include "cached/discipline/locks14.hpp"

#include "cached/core/cache.hpp"
#include "cached/discipline/disciplines.hpp"

namespace rubato::cached {

std::unique_ptr<CacheEngine> make_locks14_engine(const EngineOptions& options, const Clock& clock) {
  return std::make_unique<Cache<Locks14>>(options, clock);
}

}  // namespace rubato::cached
