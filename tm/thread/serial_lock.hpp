// The lock of serial transactions. The thread that releases it may take it again at once. A waiter that has
// slept asks for a hand-over, which the holder grants after a bounded number of acquisitions (T44).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::tm {

template <class A>
class SerialLock {
 public:
  bool try_lock() {
    std::uint32_t expected = kFree;
    return word_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  void lock() {
    if (!try_lock()) wait();
  }

  void unlock() {
    if (word_.exchange(kFree, std::memory_order_release) == kWaitedFor) A::wake(word_, 1);
  }

  /// For the child of a fork, whose other threads are gone.
  void reset(bool is_held) { word_.store(is_held ? kHeld : kFree, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kWaitedFor = 2;

  [[gnu::noinline]] void wait() {
    int pauses = 1;
    for (int i = 0; i < A::kSpins;
         i += pauses) {  // each look takes the line from the holder: look less and less
      for (int k = 0; k < pauses; ++k) A::pause();
      if (word_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
      pauses *= 2;
    }
    for (int i = 0; i < A::kYields; ++i) {
      A::yield();
      if (word_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
    }
    while (word_.exchange(kWaitedFor, std::memory_order_acquire) != kFree) A::sleep(word_, kWaitedFor, 0);
  }

  alignas(64) typename A::template atomic<std::uint32_t> word_{kFree};
};

}  // namespace rubato::tm
