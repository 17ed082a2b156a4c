// The atomics policy of real threads, for tests of the primitives alone.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <thread>

namespace rubato::runtime::test {

struct StdAtomics {
  template <class T>
  using atomic = std::atomic<T>;
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  static void fence([[maybe_unused]] std::memory_order order) {
#if !defined(__SANITIZE_THREAD__)
    std::atomic_thread_fence(order);
#endif
  }
};

}  // namespace rubato::runtime::test
