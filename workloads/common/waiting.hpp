// Waits of threads for each other: they look at an atomic variable for a while, then let other threads run
// between looks. No other memory is touched, so that a protocol is measured with the program's sharing alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace rubato::workloads {

/// Returns when `value` is at least `least`. All writes before that value's store with release are visible
/// then.
inline void wait_until(const std::atomic<std::uint64_t>& value, std::uint64_t least) {
  constexpr unsigned kLooks = 32;
  for (unsigned looks = 0; value.load(std::memory_order_acquire) < least; ++looks)
    if (looks >= kLooks) std::this_thread::yield();
}

/// For so many threads, again and again: wait() returns when all have called it.
class Barrier {
 public:
  explicit Barrier(unsigned threads) : threads_(threads) {}
  void wait() {
    const std::uint64_t before = arrived_.fetch_add(1, std::memory_order_acq_rel),
                        round = before / threads_ + 1;
    if (before + 1 == round * threads_)
      complete_.store(round, std::memory_order_release);
    else
      wait_until(complete_, round);
  }

 private:
  std::uint64_t threads_;
  alignas(64) std::atomic<std::uint64_t> arrived_{0};   ///< threads, ever
  alignas(64) std::atomic<std::uint64_t> complete_{0};  ///< rounds
};

}  // namespace rubato::workloads
