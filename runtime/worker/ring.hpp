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
  Task* task = nullptr;
  TaskPool* pool = nullptr;            ///< its pool's batch ends with this task: finish the pool
  std::uintptr_t prefetch_header = 0;  ///< of a later task's resource, to be prefetched when this one starts
  std::uint32_t prefetch_offset = 0;   ///< from there: the lines that it will touch
  std::uint16_t prefetch_lines = 0;    ///< how many, beside the header; 0: nothing at all is to be prefetched
  bool is_pooled = false;              ///< belongs to a pool's batch
  bool is_kept = false;                ///< the pool still needs it when it has run
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
    if (distance_ != 0) {
      if ((task->handle & engine::handle::kResource) != 0) {
        announce(task);
      } else if (const void* const target = engine::first_pointer_of(task)) {
        prefetch_at(reinterpret_cast<std::uintptr_t>(target), 0, 1);
      }
    }
    ++end_;
    return slot;
  }

  /// What the task at the front's start is the moment for.
  static void prefetch(const Slot& slot) {
    if (slot.prefetch_lines == 0) return;
    prefetch(slot.prefetch_header, slot.prefetch_offset, slot.prefetch_lines);
  }

 private:
  static void prefetch(std::uintptr_t header, std::uint32_t offset, unsigned lines) {
    __builtin_prefetch(reinterpret_cast<const void*>(header));  // latch or version
    const std::uintptr_t from = header + offset;
    for (unsigned i = 0; i < lines; ++i) {
      __builtin_prefetch(reinterpret_cast<const void*>(from + std::uintptr_t{i} * kLineBytes));
    }
  }

  /// Leaves what the task will touch of its resource with the one `distance` earlier.
  void announce(const Task* task) {
    const std::uint64_t code = task->handle & engine::handle::kPrefetchMask;
    std::uint32_t offset = kLineBytes + static_cast<std::uint32_t>(code % 16) * kLineBytes;
    auto lines = static_cast<unsigned>(code / 16);
    if (code == 0) {
      lines = kMaxPrefetchLines - 1;
      if (task->is_extended() && engine::extension_of(task)->prefetch_bytes != 0) {
        const engine::TaskExtension& extension = *engine::extension_of(task);
        const std::uint32_t first = extension.prefetch_offset / kLineBytes;
        const std::uint32_t end =
            (extension.prefetch_offset + extension.prefetch_bytes + kLineBytes - 1) / kLineBytes;
        offset += first * kLineBytes;
        if (end - first < lines) lines = end - first;
      }
    }
    prefetch_at((task->handle & engine::handle::kLocaleMask) - kLineBytes, offset, lines);
  }

  void prefetch_at(std::uintptr_t header, std::uint32_t offset, unsigned lines) {
    if (size() < distance_) return prefetch(header, offset, lines);
    Slot& earlier = slots_[(end_ - distance_) % kSlots];
    earlier.prefetch_header = header;
    earlier.prefetch_offset = offset;
    earlier.prefetch_lines = static_cast<std::uint16_t>(lines);
  }

  unsigned begin_ = 0;
  unsigned end_ = 0;
  unsigned distance_ = 4;
  std::array<Slot, kSlots> slots_;
};

}  // namespace rubato::runtime
