// oneTBB's concurrent ordered map, a skip list.
// SPDX-License-Identifier: MIT
#include <atomic>

#include <tbb/concurrent_map.h>

#include "apps/ycsb/operation.hpp"
#include "bench/indexes/contestant.hpp"

namespace indexes {
namespace {

class TbbMap {
 public:
  ycsb::Answer lookup(Key key, Session&) {
    const auto found = map_.find(key);
    if (found == map_.end()) return {};
    return {found->second.load(std::memory_order_acquire), true};
  }
  ycsb::Answer insert(Key key, Value value, Session&) { return {0, !map_.emplace(key, value).second}; }
  ycsb::Answer update(Key key, Value value, Session&) {
    const auto found = map_.find(key);
    if (found == map_.end()) return {};
    return {found->second.exchange(value, std::memory_order_acq_rel), true};
  }

 private:
  tbb::concurrent_map<Key, std::atomic<Value>> map_;
};

}  // namespace

std::unique_ptr<Contestant> make_tbb_map() { return make<TbbMap>(); }

}  // namespace indexes
