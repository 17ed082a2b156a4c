// A worker's part of epoch-based reclamation: its local epoch and the birth epochs of tasks, with the inline
// calls of the hot path. The decision to free is in native/memory/epochs.hpp. R7; MxTasking, Sec. 4.4.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "rubato/engine/resource_header.hpp"

namespace rubato::inline v0::native {
template <class Rules>
class BasicEpochs;
}

namespace rubato::inline v0::engine {

/// Birth epochs in use at once span fewer than this many epochs, so that a birth epoch modulo it is enough: a
/// slot, 4 bits of a task's handle.
inline constexpr unsigned kBirthWindow = 16;

/// Member of the epochs: each worker is one, and so is each further thread that creates tasks. Written by one
/// thread at a time.
///
/// Pending tasks annotated with a resource that were born in a slot's epoch = the sum over all members of
/// created minus finished: a task is counted where it is created and where it ends, which may be two workers.
class alignas(64) EpochMember {
 public:
  static constexpr std::uint64_t kParked = ~std::uint64_t{0};

  /// The birth slot of a task whose creator has none: the member's own epoch. Not while parked.
  unsigned birth_slot() const {
    return static_cast<unsigned>(local_.load(std::memory_order_relaxed) % kBirthWindow);
  }
  /// Counts a task before it is published. A child of an annotated task gets its creator's slot, else
  /// birth_slot().
  void count_created(unsigned slot) {
    created_[slot].store(created_[slot].load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /// Counts a task after it ran, or was destroyed unrun; its children are counted already.
  void count_finished(unsigned slot) {
    finished_[slot].store(finished_[slot].load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  template <class Rules>
  friend class native::BasicEpochs;

  std::atomic<std::uint64_t> local_{kParked};
  // The objects that this member waits to free: [oldest, first_untagged) carry the epoch of their removal,
  // the rest was removed since the last refresh.
  ResourceHeader* oldest_ = nullptr;
  ResourceHeader* first_untagged_ = nullptr;
  ResourceHeader* newest_ = nullptr;
  std::uint64_t newest_tag_ = 0;
  std::uint32_t refreshes_ = 0;
  std::atomic<std::uint64_t> retired_bytes_{0};
  std::atomic<std::uint64_t> freed_bytes_{0};
  alignas(64) std::array<std::atomic<std::uint64_t>, kBirthWindow> created_{};
  std::array<std::atomic<std::uint64_t>, kBirthWindow> finished_{};
};

}  // namespace rubato::inline v0::engine
