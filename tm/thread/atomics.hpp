// The atomics policy of the library: std::atomic, futexes, and the heavy half of an asymmetric fence. The
// protocols of this folder are templates on it, so that tests can explore their interleavings (T51).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "base/atomics.hpp"

namespace rubato::tm {

struct Atomics : HeaderAtomics {
#if defined(__SANITIZE_THREAD__)
  /// ThreadSanitizer does not see what a fence orders, and needs not: the library's own words that depend on
  /// one are atomic, and what they guard is the program's memory, which is read and written atomically, too.
  static void fence(std::memory_order order) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
    std::atomic_thread_fence(order);
#pragma GCC diagnostic pop
  }
#endif
  /// How often a waiter looks at a word before it yields: about a microsecond (T35).
  static constexpr int kSpins = 20;
  /// The same if the other thread is known to run: the length of a transaction and a page fault.
  static constexpr int kLongSpins = 100;
  static constexpr int kYields = 64;

  /// Orders this thread's accesses against those of all other running threads, which need no fence of their
  /// own but a compiler barrier (membarrier). has_heavy_fence() is false where the system call does not
  /// exist.
  static void heavy_fence();
  static bool has_heavy_fence() {
    const Membarrier state = membarrier.load(std::memory_order_relaxed);
    return __builtin_expect(state == Membarrier::registered, true) ||
           (state == Membarrier::unknown && ask_for_membarrier());
  }
  /// The light half: free where heavy_fence() exists, a full fence elsewhere.
  static void light_fence() {
    if (has_heavy_fence()) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
      fence(std::memory_order_seq_cst);
    }
  }

  /// Sleeps while `word` is `seen`, until wake(), at most `microseconds` if not 0; may return early.
  static void sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t microseconds);
  static void wake(std::atomic<std::uint32_t>& word, int threads);
  static void yield();

 private:
  enum class Membarrier : std::uint8_t { unknown, registered, absent };
  static std::atomic<Membarrier> membarrier;
  static bool ask_for_membarrier();
};

}  // namespace rubato::tm
