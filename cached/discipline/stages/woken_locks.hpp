// Discipline `locks14` with a maintainer that storing threads wake, as memcached 1.4.15 does: the baseline of
// the publication's Fig. 4, and its curve with semaphores (T85).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "cached/core/table.hpp"
#include "cached/core/wake.hpp"
#include "cached/discipline/locks14.hpp"

namespace rubato::cached {

template <class W>
class WokenLocks : public Locks14 {
 public:
  using Locks14::Locks14;

  /// A thread that stores one item too many wakes the maintainer, once a growth.
  void linked(std::size_t buckets) {
    const std::size_t items = items_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (items <= most_items(buckets) || growing_.exchange(true)) return;
    wake_.post();
  }
  void unlinked() { items_.fetch_sub(1, std::memory_order_relaxed); }
  void has_grown() { growing_ = false; }
  Wake* wakes() { return &wake_; }

 private:
  alignas(64) std::atomic<std::size_t> items_{0};
  std::atomic<bool> growing_{false};
  W wake_;
};

struct ConditionLocks : WokenLocks<ConditionWake> {
  static constexpr const char* kName = "locks14-condition";
  using WokenLocks::WokenLocks;
};

struct SemaphoreLocks : WokenLocks<SemaphoreWake> {
  static constexpr const char* kName = "locks14-semaphore";
  using WokenLocks::WokenLocks;
};

}  // namespace rubato::cached
