// The cache with discipline `tm`, branch IP: its one translation unit (T83).
// SPDX-License-Identifier: MIT
#include "cached/discipline/tm_ip.hpp"

#include "cached/core/cache.hpp"
#include "cached/discipline/disciplines.hpp"

namespace rubato::cached {

std::unique_ptr<CacheEngine> make_tm_engine(const EngineOptions& options, const Clock& clock) {
  return std::make_unique<Cache<TmIp<OnCommit>>>(options, clock);
}

}  // namespace rubato::cached
