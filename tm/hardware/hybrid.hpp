// Hardware transactions beside software ones that validate by value (T45). A hardware transaction is not
// inside the gate. It reads, and so watches, the regime and the sequence of the software writers: closing the
// gate, or a write-back, aborts it. If there are software transactions it moves the sequence in its own
// commit, so that they look at their reads again. Invariant: the stores of a hardware transaction and, if a
// software transaction is under way, the move of the sequence become visible at one moment.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tm/fault.hpp"
#include "tm/thread/gate.hpp"
#include "tm/thread/sequence_lock.hpp"

namespace rubato::tm {

template <class A>
class Hybrid {
 public:
  constexpr Hybrid(Gate<A>& gate, SequenceLock<A>& sequence) : gate_(gate), sequence_(sequence) {}

  /// Inside a hardware transaction, first of all.
  [[gnu::always_inline]] bool lets_in() const { return gate_.lets_hardware_in() && sequence_.now() % 2 == 0; }
  /// Before one: waits until neither gate nor a writer is in the way. False: another algorithm runs.
  bool waits() {
    if (!gate_.waits_for_hardware()) return false;
    sequence_.wait_until_free();
    return true;
  }
  /// Inside one, last of all. @returns the time of its commit, or 0 if no software transaction is under way
  /// that might have read its stores: a software transaction that begins from now on aborts it.
  [[gnu::always_inline]] std::uint64_t pass() {
    if (__builtin_expect(!has_software(), true) || has_fault(Fault::hardware_unseen)) return 0;
    return sequence_.pass();
  }
  [[gnu::always_inline]] bool has_software() const { return software_.load(std::memory_order_relaxed) != 0; }

  /// A software transaction, before its snapshot and after its last access.
  void begin_software() { software_.fetch_add(1, std::memory_order_seq_cst); }
  void end_software() { software_.fetch_sub(1, std::memory_order_release); }
  /// In the child of a fork, whose only thread is in a software transaction or not.
  void reset_after_fork(bool is_inside) { software_.store(is_inside ? 1 : 0, std::memory_order_relaxed); }

 private:
  Gate<A>& gate_;
  SequenceLock<A>& sequence_;
  alignas(64) typename A::template atomic<std::uint32_t> software_{0};  ///< transactions under way
};

}  // namespace rubato::tm
