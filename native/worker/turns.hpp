// Turns of workers, first come, first served. A request stands until its worker has had its turn, so workers
// that ask again and again starve no other. R9.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::inline v0::native {

class Turns {
 public:
  std::uint32_t ask() { return asked_.fetch_add(1, std::memory_order_relaxed); }
  bool is_on(std::uint32_t turn) const { return on_.load(std::memory_order_acquire) == turn; }
  /// By whose turn it is.
  void end() { on_.fetch_add(1, std::memory_order_release); }
  /// Precondition: no worker has a turn or asks for one.
  void reset() {
    asked_.store(0, std::memory_order_relaxed);
    on_.store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> asked_{0}, on_{0};
};

}  // namespace rubato::inline v0::native
