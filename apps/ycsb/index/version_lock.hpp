// Optimistic lock of a node (Leis et al., DaMoN 2016, Sec. 3): readers remember a version and look again,
// writers upgrade the version that they have read to the lock. A node that is unlinked is obsolete for ever.
//
//   bit 0   obsolete
//   bit 1   locked
//   others  the version, which the unlock makes larger by carry
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "apps/ycsb/node_latch.hpp"

namespace rubato::apps::ycsb::index {

class VersionLock {
 public:
  using Version = std::uint64_t;

  /// Waits while a writer is in. @returns false if the node is obsolete.
  bool begin_read(Version& version) const {
    version = word_.load(std::memory_order_acquire);
    for (Backoff wait; (version & kLocked) != 0;) {
      wait();
      version = word_.load(std::memory_order_acquire);
    }
    return (version & kObsolete) == 0;
  }
  /// Whether all that was read since begin_read() belongs together. Not read before any of it.
  /// ThreadSanitizer knows no fences, so that it gets a read-modify-write.
  bool is_still(Version version) const {
#if defined(__SANITIZE_THREAD__)
    return const_cast<std::atomic<Version>&>(word_).fetch_add(0, std::memory_order_acq_rel) == version;
#else
    std::atomic_thread_fence(std::memory_order_acquire);
    return word_.load(std::memory_order_relaxed) == version;
#endif
  }
  /// Locks the node if it is as it was at begin_read().
  bool try_lock(Version version) {
    if (!word_.compare_exchange_strong(version, version + kLocked, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      return false;
    }
#if !defined(__SANITIZE_THREAD__)
    std::atomic_thread_fence(std::memory_order_release);  // readers see the lock before what is written
#endif
    return true;
  }
  void unlock() { leave(kLocked); }
  void unlock_obsolete() { leave(kLocked + kObsolete); }

 private:
  /// A plain store: only the owner of the lock changes the word.
  void leave(Version step) {
    word_.store(word_.load(std::memory_order_relaxed) + step, std::memory_order_release);
  }

  static constexpr Version kObsolete = 1, kLocked = 2;
  std::atomic<Version> word_{4};
};

}  // namespace rubato::apps::ycsb::index
