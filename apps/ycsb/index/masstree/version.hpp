// Version of a node of Masstree (Mao, Kohler, Morris, EuroSys 2012, Sec. 4.5): a lock, marks of what its
// holder changes, and how often the node was changed or divided. Readers wait while a mark is set, and look
// again afterwards. A lock alone disturbs no reader.
//
//   bit 0      locked
//   bit 1      entries are being changed so that readers must look again
//   bit 2      the node's range is being changed: a split or a merge
//   bit 3      the node is no longer in the tree
//   bit 4      border node; else interior
//   bits 5...  number of changes; its carry goes to the number of divisions, which costs a retry
//   bits 32... number of divisions
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "apps/ycsb/node_latch.hpp"

namespace rubato::apps::ycsb::index::masstree {

class Version {
 public:
  using Word = std::uint64_t;

  explicit Version(bool is_border) : word_(is_border ? kBorder : 0) {}

  static bool is_deleted(Word word) { return (word & kDeleted) != 0; }
  static bool is_border(Word word) { return (word & kBorder) != 0; }
  /// Whether the node's range is the same at both times.
  static bool is_same_range(Word a, Word b) { return a >> kDivisionsShift == b >> kDivisionsShift; }

  bool is_border() const { return is_border(word_.load(std::memory_order_relaxed)); }
  bool is_deleted() const { return is_deleted(word_.load(std::memory_order_relaxed)); }
  /// The version, at a moment when nothing that readers look at is half done.
  Word stable() const {
    Word word = word_.load(std::memory_order_acquire);
    for (Backoff wait; (word & (kChanging | kDividing)) != 0;) {
      wait();
      word = word_.load(std::memory_order_acquire);
    }
    return word;
  }
  /// Whether all that was read since stable() belongs together. Not read before any of it. ThreadSanitizer
  /// knows no fences, so that it gets a read-modify-write.
  bool is_still(Word word) const {
#if defined(__SANITIZE_THREAD__)
    const Word now = const_cast<std::atomic<Word>&>(word_).fetch_add(0, std::memory_order_acq_rel);
#else
    std::atomic_thread_fence(std::memory_order_acquire);
    const Word now = word_.load(std::memory_order_relaxed);
#endif
    return ((now ^ word) & ~kLocked) == 0;
  }

  /// Waits for the lock. @returns the version.
  Word lock() {
    for (Backoff wait;; wait()) {
      Word word = word_.load(std::memory_order_relaxed);
      if ((word & kLocked) == 0 &&
          word_.compare_exchange_weak(word, word | kLocked, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return word;
      }
    }
  }
  // With the lock held:
  void mark_changing() { mark(kChanging); }
  void mark_dividing() { mark(kDividing); }
  void mark_deleted() { mark(kDividing | kDeleted); }
  void unlock() {
    Word word = word_.load(std::memory_order_relaxed);
    if ((word & kDividing) != 0) word += kDivision;
    if ((word & kChanging) != 0) word += kChange;
    word_.store(word & ~(kLocked | kChanging | kDividing), std::memory_order_release);
  }

 private:
  static constexpr Word kLocked = 1, kChanging = 2, kDividing = 4, kDeleted = 8, kBorder = 16, kChange = 32;
  static constexpr unsigned kDivisionsShift = 32;
  static constexpr Word kDivision = Word{1} << kDivisionsShift;

  void mark(Word marks) {
    word_.store(word_.load(std::memory_order_relaxed) | marks, std::memory_order_relaxed);
#if !defined(__SANITIZE_THREAD__)
    std::atomic_thread_fence(std::memory_order_release);  // readers see the mark before what is written
#endif
  }

  std::atomic<Word> word_;
};

}  // namespace rubato::apps::ycsb::index::masstree
