// Whole batches of one class's blocks on their way between cores (P72): half of what a core's cache may
// hold. A batch changes hands by its number, so the lock is held for a few instructions only, however many
// cores ask. Each core keeps the batch it emptied last, to fill it next.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "guest/capalloc/arena.hpp"

namespace rubato::capalloc {

inline constexpr std::uint32_t kDepotBatches = 512;

/// Addresses of blocks; as many as half a cache of the class.
struct alignas(64) Batch {
  std::uint64_t blocks[64];
};
/// A batch's number and 1; 0: none.
using BatchNumber = std::uint64_t;

template <class Lock>
class alignas(64) Depot {
 public:
  /// A full batch, or 0. `empty` (or 0) is given for it if there is one.
  BatchNumber take_full(BatchNumber empty) {
    const Locked guard(lock_);
    if (full_count_ == 0) return 0;
    if (empty != 0) empty_[empty_count_++] = static_cast<std::uint16_t>(empty);
    return full_[--full_count_];
  }
  /// An empty one, or 0.
  BatchNumber take_empty() {
    const Locked guard(lock_);
    if (empty_count_ != 0) return empty_[--empty_count_];
    return used_ < kDepotBatches ? ++used_ : 0;
  }
  void give_full(BatchNumber batch) {
    const Locked guard(lock_);
    full_[full_count_++] = static_cast<std::uint16_t>(batch);
  }

  std::uint32_t full_count() const { return full_count_; }
  BatchNumber full(std::uint32_t i) const { return full_[i]; }

 private:
  Lock lock_;
  std::uint32_t full_count_ = 0, empty_count_ = 0;
  std::uint32_t used_ = 0;  ///< of all batches, ever
  std::uint16_t full_[kDepotBatches] = {}, empty_[kDepotBatches] = {};
};

}  // namespace rubato::capalloc
