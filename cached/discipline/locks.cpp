// The cache with discipline `locks`: its one translation unit (T83).
// SPDX-License-Identifier: MIT
#include "cached/discipline/locks.hpp"

#include "cached/core/cache.hpp"
#include "cached/discipline/disciplines.hpp"

namespace rubato::cached {

std::unique_ptr<CacheEngine> make_locks_engine(const EngineOptions& options, const Clock& clock) {
  return std::make_unique<Cache<Locks>>(options, clock);
}

}  // namespace rubato::cached
