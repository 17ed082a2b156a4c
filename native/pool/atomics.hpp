// The atomics policy that the protocols of native/ are written in (base/atomics.hpp), with sleep and wake-up,
// and perturbed where a test asks for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "base/atomics.hpp"
#include "base/perturbation.hpp"

namespace rubato::inline v0::native {

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
