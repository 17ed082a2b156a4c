// The line of a thread: its state that others read, one cache line; and the list of all lines. The
// list only grows and is walked without a lock (T31, T32).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::tm {

template <class A>
struct alignas(64) Line {
  template <class T>
  using Atomic = typename A::template atomic<T>;

  Atomic<std::uint32_t> slot{0};    ///< odd inside a transaction; +2 when its snapshot was extended
  Atomic<std::uint32_t> waited{0};  ///< how many sleep until `slot` changes
  Atomic<std::uint64_t> snapshot{
      0};  ///< the time that this transaction's reads are valid at; 0: not taken yet
  Atomic<std::uint64_t> limit{
      0};                ///< reads of versions from here on have to validate; others set it to 0 (T36)
  Line* next = nullptr;  ///< written before the line is published
};

template <class A>
class Lines {
 public:
  /// Publishes a line. The caller holds the registry's lock.
  void add(Line<A>& line) {
    line.next = head_.load(std::memory_order_relaxed);
    head_.store(&line, std::memory_order_seq_cst);
  }
  /// For the child of a fork: none is left, and those of its threads are added again.
  void clear() { head_.store(nullptr, std::memory_order_relaxed); }
  Line<A>* first() const { return head_.load(std::memory_order_acquire); }

 private:
  typename A::template atomic<Line<A>*> head_{nullptr};
};

}  // namespace rubato::tm
