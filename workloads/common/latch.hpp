// Latches of four bytes, for rows, nodes and queues: a thread tries a few times, then sleeps.
//
//   Latch       guards structure: trees, lists, queues
//   DataLatch   guards values; a test's build leaves these out (RUBATO_WITHOUT_DATA_LATCHES) to see that
//               --verify finds it
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::workloads {

class Latch {
 public:
  void lock() {
    std::uint32_t seen = kFree;
    if (!word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire)) wait_for_it();
  }
  void unlock() {
    if (word_.exchange(kFree, std::memory_order_release) == kAwaited) word_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kAwaited = 2;
  static constexpr int kTries = 20;

  void wait_for_it() {
    for (int i = 0; i < kTries; ++i) {
      std::uint32_t seen = word_.load(std::memory_order_relaxed);
      if (seen == kFree && word_.compare_exchange_weak(seen, kHeld, std::memory_order_acquire)) return;
    }
    while (word_.exchange(kAwaited, std::memory_order_acquire) != kFree)
      word_.wait(kAwaited, std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> word_{kFree};
};

#ifdef RUBATO_WITHOUT_DATA_LATCHES
class DataLatch {
 public:
  void lock() {}
  void unlock() {}
};
#else
using DataLatch = Latch;
#endif

}  // namespace rubato::workloads
