// The cache with discipline `tm-it`: its one translation unit (T83).
// SPDX-License-Identifier: MIT
#include "cached/discipline/tm_it.hpp"

#include "cached/core/cache.hpp"
#include "cached/discipline/disciplines.hpp"

namespace rubato::cached {

std::unique_ptr<CacheEngine> make_tm_it_engine(const EngineOptions& options, const Clock& clock) {
  return std::make_unique<Cache<TmIt<OnCommit>>>(options, clock);
}

}  // namespace rubato::cached
