// Keys at which removals left leaves without a pair, to be merged when there are many. Tasks that run beside
// each other add keys; they are taken while no task runs.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>

#include "apps/ycsb/node.hpp"

namespace rubato::apps::ycsb {

class EmptiedLeaves {
 public:
  /// So many notes are worth a pause of all workers.
  static constexpr std::size_t kWorthMerging = 256;

  /// True once until the notes are taken: for the one that makes them worth merging.
  bool note(Key key) {
    const std::size_t i = count_.fetch_add(1, std::memory_order_relaxed);
    if (i < keys_.size()) keys_[i] = key;  // beyond: dropped, the leaf stays until a neighbour is merged
    return i + 1 == kWorthMerging;
  }

  /// Calls use(key) for every note and forgets them.
  template <class Use>
  void take(Use use) {
    const std::size_t count = std::min(count_.load(std::memory_order_relaxed), keys_.size());
    for (const Key key : std::span(keys_).first(count)) use(key);
    count_.store(0, std::memory_order_relaxed);
  }

 private:
  alignas(2 * kLineBytes) std::atomic<std::size_t> count_{0};
  alignas(2 * kLineBytes) std::array<Key, 4096> keys_;
};

}  // namespace rubato::apps::ycsb
