// The atomic operations that the protocols of native/ are written in. Production code uses std::atomic; the
// interleaving explorer (tests/native/pool) puts its own policy in, whose every operation is a scheduling
// point. Code that needs the order of a store and a later load makes both of them seq_cst. So no fence is
// needed, and ThreadSanitizer understands it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/pool/perturbation.hpp"

namespace rubato::inline v0::native {

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

struct StdAtomics : HeaderAtomics {
#if defined(RUBATO_PERTURBED)
  template <class T>
  using atomic = PerturbedAtomic<T>;
#endif

  /// Sleeps while `word` is `seen`, until wake(), spuriously shorter, or at most `microseconds` if not 0.
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t microseconds = 0);
  /// The same without a limit, for wake_at() of a place in `places`, a set of bits, and wake().
  static void wait_at(std::uint32_t places, std::atomic<std::uint32_t>& word, std::uint32_t seen);
  /// @param threads  how many sleepers at most
  static void wake(std::atomic<std::uint32_t>& word, int threads);
  /// Wakes one that sleeps at this place. @returns whether there was one.
  static bool wake_at(std::uint32_t place, std::atomic<std::uint32_t>& word);
};

/// Other words that threads share.
template <class T>
using Atomic = StdAtomics::atomic<T>;

}  // namespace rubato::inline v0::native
