// An exclusive spinning latch in the synchronization word of a resource. R4 and R10; MxTasking,
// Sec. 4.1.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/fault.hpp"
#include "native/sync/spin.hpp"

namespace rubato::inline v0::native {

/// Word: 0 free, 1 held. `Atomics`: see native/pool/atomics.hpp.
template <class Atomics>
class Latch {
 public:
  using Word = typename Atomics::template atomic<std::uint64_t>;
  explicit Latch(Word& word) : word_(word) {}

  bool try_lock() {
    if (has_fault(Fault::open_latch)) return true;
    return word_.load(std::memory_order_relaxed) == 0 && word_.exchange(1, std::memory_order_acquire) == 0;
  }
  /// False: another holder kept it all the time; try again later.
  bool lock(unsigned tries = kSpinTries) {
    return spin<Atomics>(tries, [this] { return try_lock(); });
  }
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  Word& word_;
};

}  // namespace rubato::inline v0::native
