// A lock for all writers, whose value readers compare (T43). Even: free; each writer adds two.
// Invariant: memory that transactions share changes only while the value is odd.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tm/fault.hpp"
#include "tm/thread/line.hpp"
#include "tm/thread/waiting.hpp"

namespace rubato::tm {

template <class A>
class SequenceLock {
 public:
  std::uint64_t now() const { return value_.load(std::memory_order_acquire); }

  /// Waits until no writer is inside. @returns the value, which is even.
  std::uint64_t wait_until_free() {
    while (true) {
      const std::uint32_t turn = turn_.load(std::memory_order_acquire);
      const std::uint64_t value = value_.load(std::memory_order_seq_cst);
      if (value % 2 == 0) return value;
      wait_until<A>(
          turn_, turn, waited_, false, [this] { return value_.load(std::memory_order_acquire) % 2 == 0; },
          [] {});
    }
  }

  /// For a transaction that begins. While it waits for a writer it has read nothing, so that no commit needs
  /// to wait for it: it counts as new (T36). It counts as one without a snapshot before it looks again.
  /// @returns the value, which is even.
  std::uint64_t wait_at_begin(Line<A>& line) {
    while (true) {
      const std::uint64_t value = value_.load(std::memory_order_seq_cst);
      if (__builtin_expect(value % 2 == 0, true)) return value;
      line.snapshot.store(kNew, std::memory_order_release);
      wait_until_free();
      line.snapshot.exchange(0, std::memory_order_seq_cst);
    }
  }

  /// A value at which all reads of a transaction were valid together, while no writer was inside; 0: there is
  /// none. are_valid(): do the reads have their values now?
  template <class AreValid>
  std::uint64_t validate(AreValid are_valid) {
    std::uint64_t now = wait_until_free();
    while (are_valid()) {
      A::fence(std::memory_order_acquire);
      const std::uint64_t after = wait_until_free();
      if (after == now) return now;
      now = after;
    }
    return 0;
  }

  /// Has the caller's reads been looked at up to `seen`, nothing has changed since, and the caller writes
  /// now?
  bool try_lock(std::uint64_t seen) {
    if (has_fault(Fault::no_commit_validation)) seen = wait_until_free();
    if (!value_.compare_exchange_strong(seen, seen + 1, std::memory_order_seq_cst, std::memory_order_relaxed))
      return false;
    A::fence(std::memory_order_release);  // a reader of our values then finds the lock taken
    return true;
  }
  void unlock() {
    value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    turn_.store(turn_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    wake_waiters<A>(turn_, waited_);
  }

  /// For a writer in hardware, whose stores become visible together with this one: no lock. The value must be
  /// even. @returns the new one.
  std::uint64_t pass() {
    const std::uint64_t next = value_.load(std::memory_order_relaxed) + 2;
    value_.store(next, std::memory_order_relaxed);
    return next;
  }

  /// In the child of a fork: a writer has left, unless it is the child's only thread.
  void reset_after_fork(bool is_own) {
    if (now() % 2 != 0 && !is_own) value_.store(now() + 1, std::memory_order_relaxed);
    waited_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kNew = ~std::uint64_t{0};

  alignas(64) typename A::template atomic<std::uint64_t> value_{2};
  typename A::template atomic<std::uint32_t> turn_{0};  ///< what waiters sleep on
  typename A::template atomic<std::uint32_t> waited_{0};
};

}  // namespace rubato::tm
