// The atomic operations that the protocols of runtime/ are written in. Production code uses std::atomic; the
// interleaving explorer (tests/runtime/pool) puts its own policy in, whose every operation is a scheduling
// point. No fences anywhere: what needs the order of a store and a later load makes both of them seq_cst,
// which ThreadSanitizer understands.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

namespace rubato::runtime {

struct StdAtomics {
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
};

}  // namespace rubato::runtime
