// The atomics policy of protocols whose interleavings tests explore: production code uses std::atomic. The
// explorer (tests/base/explorer.hpp) puts its own policy in, whose every operation is a scheduling point.
// Code that needs the order of a store and a later load makes both of them seq_cst. So no fence is needed,
// and ThreadSanitizer understands it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

namespace rubato {

/// For words that public headers declare.
struct HeaderAtomics {
  template <class T>
  using atomic = std::atomic<T>;

  /// In a loop that waits for another thread, at most a microsecond (R10).
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__riscv)
    asm volatile("" : : : "memory");
#endif
  }

#if !defined(__SANITIZE_THREAD__)
  /// Only in optimistic versions (native/sync/version.hpp), and not under ThreadSanitizer.
  static void fence(std::memory_order order) { std::atomic_thread_fence(order); }
#endif
};

}  // namespace rubato
