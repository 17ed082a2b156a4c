// The tasks that a worker is about to run: up to 64, in the order of their start, and the addresses to
// prefetch on the way. R6; MxTasking, Sec. 3, Fig. 3.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "native/pool/task_list.hpp"

namespace rubato::inline v0::native {

struct TaskPool;

inline constexpr unsigned kLineBytes = 64;
inline constexpr unsigned kMaxPrefetchLines = 5;

/// Two words, so that it is passed in registers. The second is 0 for a task of no pool.
class Slot {
 public:
  Slot() = default;
  explicit Slot(Task* task) : task_(task) {}
  /// A slot of a pool's batch. `is_kept`: the pool still needs the task when it has run. `ended`: null, or
  /// the pool whose batch ends with this task.
  Slot(Task* task, bool is_kept, TaskPool* ended)
      : task_(task), word_(reinterpret_cast<std::uintptr_t>(ended) | kPooled | (is_kept ? kKept : 0)) {}

  Task* task() const { return task_; }
  bool is_pooled() const { return word_ != 0; }
  bool is_kept() const { return (word_ & kKept) != 0; }
  /// Finish it when the task has run.
  TaskPool* pool() const { return reinterpret_cast<TaskPool*>(word_ & ~(kPooled | kKept)); }

 private:
  static constexpr std::uintptr_t kPooled = 1, kKept = 2;  // pools are aligned to more
  Task* task_ = nullptr;
  std::uintptr_t word_ = 0;
};

/// `distance` is how many tasks ahead prefetches are issued; 0: never.
class Ring {
 public:
  static constexpr unsigned kSlots = 64;

  unsigned size() const { return end_ - begin_; }
  unsigned room() const { return kSlots - size(); }
  bool is_empty() const { return begin_ == end_; }
  const Slot& at(unsigned i) const { return slots_[(begin_ + i) % kSlots]; }
  void drop_last() { --end_; }
  /// Takes out what `take(slot)` is true for; the rest keeps its order.
  template <class Take>
  void take_out(Take take) {
    unsigned kept = begin_;
    for (unsigned i = begin_; i != end_; ++i) {
      const Slot slot = slots_[i % kSlots];
      if (!take(slot)) slots_[kept++ % kSlots] = slot;
    }
    end_ = kept;
  }

  void set_distance(unsigned distance) {
    distance_ = distance;
    ahead_ = distance != 0 ? distance : kSlots;
  }
  unsigned distance() const { return distance_; }

  void push(const Slot& slot) {
    if (size() < distance_) prefetch(slot.task());  // no task that starts before it is `distance` ahead
    slots_[end_++ % kSlots] = slot;
  }
  /// Up to `count` from the list's front. @returns how many there were, with room for them.
  unsigned push_from(TaskList& list, std::uint64_t count) {
    Task* first = list.first();
    const unsigned pushed = push_from(first, count);
    list.drop_until(first);
    return pushed;
  }
  /// The same from a list that ends with null, of which `first` is the first task then.
  unsigned push_from(Task*& first, std::uint64_t count) {
    const unsigned before = end_;
    unsigned left = static_cast<unsigned>(std::min<std::uint64_t>(count, room()));
    Task* task = first;
    for (; left != 0 && task != nullptr && size() < distance_; --left) {
      Task* const next = next_of(task);
      push(Slot(task));
      task = next;
    }
    // The others have tasks enough before them to be prefetched later: nothing but the slots changes.
    unsigned end = end_;
    for (; left != 0 && task != nullptr; --left) {
      slots_[end++ % kSlots] = Slot(task);
      task = next_of(task);
    }
    first = task;
    end_ = end;
    return end - before;
  }
  /// The task that starts now; what one `distance` later will touch is prefetched. The ring is not empty.
  Slot pop() {
    if (size() > ahead_) [[likely]]
      prefetch(at(ahead_).task());
    return slots_[begin_++ % kSlots];
  }

 private:
  // Inlined, since GCC drops calls of a function that does nothing but prefetch: it looks pure.
  [[gnu::always_inline]] static void prefetch(const Task* task) {
    if ((task->handle & engine::handle::kResource) != 0) {
      prefetch_resource(task);
    } else if (const void* const target = engine::first_pointer_of(task)) {
      __builtin_prefetch(target);
    }
  }

  /// The header, for latch or version, and the lines that were announced.
  [[gnu::always_inline]] static void prefetch_resource(const Task* task) {
    const auto* const object = reinterpret_cast<const char*>(task->handle & engine::handle::kLocaleMask);
    __builtin_prefetch(object - kLineBytes);
    const std::uint64_t code = task->handle & engine::handle::kPrefetchMask;
    if (code == 0) return prefetch_extended(task, object);
    const char* const first = object + code % 16 * kLineBytes;
    __builtin_prefetch(first);
    if (code < 32) return;
    __builtin_prefetch(first + kLineBytes);
    if (code >= 48) __builtin_prefetch(first + 2 * kLineBytes);
  }

  [[gnu::always_inline]] static void prefetch_extended(const Task* task, const char* object) {
    std::uint32_t first = 0, lines = kMaxPrefetchLines - 1;
    if (task->is_extended() && engine::extension_of(task)->prefetch_bytes != 0) {
      const engine::TaskExtension& extension = *engine::extension_of(task);
      first = extension.prefetch_offset / kLineBytes;
      const std::uint32_t end =
          (extension.prefetch_offset + extension.prefetch_bytes + kLineBytes - 1) / kLineBytes;
      lines = std::min(end - first, lines);
    }
    for (std::uint32_t i = 0; i < lines; ++i) __builtin_prefetch(object + (first + i) * kLineBytes);
  }

  unsigned begin_ = 0;
  unsigned end_ = 0;
  unsigned distance_ = 4;
  unsigned ahead_ = 4;  // distance_, or more than there ever are
  std::array<Slot, kSlots> slots_;
};

}  // namespace rubato::inline v0::native
