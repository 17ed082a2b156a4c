// What a worker is about to run: up to 64 tasks, in the order of their start, and what to prefetch on the
// way. Rule R6; MxTasking, Sec. 3, Fig. 3.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "runtime/worker/task_list.hpp"

namespace rubato::runtime {

struct TaskPool;

inline constexpr unsigned kLineBytes = 64;
inline constexpr unsigned kMaxPrefetchLines = 5;

struct Slot {
  Task* task;
  TaskPool* pool;                ///< its pool's batch ends with this task: finish the pool
  std::uintptr_t prefetch_from;  ///< of a later task, to be prefetched when this one starts
  std::uint16_t prefetch_lines;
  bool is_pooled;  ///< belongs to a pool's batch
  bool is_kept;    ///< the pool still needs it when it has run
};

/// `distance` is how many tasks ahead prefetches are issued; 0: never.
class Ring {
 public:
  static constexpr unsigned kSlots = 64;

  unsigned size() const { return end_ - begin_; }
  unsigned room() const { return kSlots - size(); }
  bool is_empty() const { return begin_ == end_; }
  Slot& front() { return slots_[begin_ % kSlots]; }
  Slot& at(unsigned i) { return slots_[(begin_ + i) % kSlots]; }
  void pop() { ++begin_; }
  void drop_last() { --end_; }

  void set_distance(unsigned distance) { distance_ = distance; }
  unsigned distance() const { return distance_; }

  Slot& push(Task* task) {
    Slot& slot = slots_[end_ % kSlots];
    slot.task = task;
    slot.pool = nullptr;
    slot.prefetch_lines = 0;
    slot.is_pooled = slot.is_kept = false;
    if ((task->handle & engine::handle::kResource) != 0 && distance_ != 0) announce(task);
    ++end_;
    return slot;
  }

  /// What the task at the front's start is the moment for.
  static void prefetch(const Slot& slot) {
    for (unsigned i = 0; i < slot.prefetch_lines; ++i) {
      __builtin_prefetch(reinterpret_cast<const void*>(slot.prefetch_from + std::uintptr_t{i} * kLineBytes));
    }
  }

 private:
  /// Leaves what the task will touch with the one `distance` earlier.
  void announce(const Task* task) {
    std::uintptr_t from =
        (task->handle & engine::handle::kAddressMask) - kLineBytes;  // with the resource's header
    unsigned lines = kMaxPrefetchLines;
    if (task->is_extended() && engine::extension_of(task)->prefetch_bytes != 0) {
      const engine::TaskExtension& extension = *engine::extension_of(task);
      from += kLineBytes + extension.prefetch_offset / kLineBytes * kLineBytes;
      lines =
          (extension.prefetch_offset % kLineBytes + extension.prefetch_bytes + kLineBytes - 1) / kLineBytes;
      if (lines > kMaxPrefetchLines) lines = kMaxPrefetchLines;
    }
    if (size() < distance_) {
      prefetch({nullptr, nullptr, from, static_cast<std::uint16_t>(lines), false, false});
      return;
    }
    Slot& earlier = slots_[(end_ - distance_) % kSlots];
    earlier.prefetch_from = from;
    earlier.prefetch_lines = static_cast<std::uint16_t>(lines);
  }

  unsigned begin_ = 0;
  unsigned end_ = 0;
  unsigned distance_ = 4;
  std::array<Slot, kSlots> slots_;
};

}  // namespace rubato::runtime
