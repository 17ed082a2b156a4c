// Engine `native`: tasks on this machine's cores. Link rubato_native (also called rubato::rubato), which
// defines RUBATO_ENGINE_NATIVE; nothing else changes in a program. This header has the part of create() that
// is inlined; workers, pools, order and memory are in native/. Options and counters: native_options.hpp.
//
// A program may rely on these properties beyond the task model:
//   - run() uses the calling thread and workers() - 1 others. Without timestamps and locales, tasks of one
//     creator and priority start in the order of their creation on one worker, in any order on several.
//     Among several creators the oldest tasks start first. While over 1024 tasks of normal priority wait,
//     those of the creators that ran last start first: recursion needs as much memory as it is deep. A task
//     that must have its turn says .fair.
//   - Without native::hold() only the thread that calls run(), before it, and tasks create tasks. While a
//     hold is open, or an OutsideEvent (outside_event.hpp) is not set, every thread may.
//   - A task that ends with an exception, and has no GuardedGroup, stops the run: no further task starts,
//     running ones finish, pending ones are destroyed unrun. run() throws TaskError with the original
//     nested, and the next run() works.
//   - Readers of a resource with shared reads run beside a writer, and may run twice (optimistic versions):
//     their creations and exceptions count once. Isolation::shared_reads (resource.hpp) says how the data
//     must be made. Results leave readers by tracked data of their own, created tasks, or on_commit(). A
//     callable that changes itself when it is called (a `mutable` lambda) runs once, and excludes all others
//     there. So do functions of async(), and coroutines.
//   - A removed resource may be destroyed during run(): tasks annotated with a resource hold it back, handles
//     in other tasks do not. See remove() (resource.hpp).
//   - A task that a task with a resource creates by on_commit() starts right behind it, on its worker, if it
//     is the only one.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "rubato/annotations.hpp"
#include "rubato/engine/native_epochs.hpp"
#include "rubato/engine/native_fork.hpp"
#include "rubato/engine/native_heap.hpp"
#include "rubato/engine/native_options.hpp"
#include "rubato/engine/native_task.hpp"
#include "rubato/engine/resource_header.hpp"
#include "rubato/group.hpp"
#include "rubato/task_type.hpp"

namespace rubato::inline v0::engine {

/// The members of a TaskGroup, for the runtime.
struct GroupState {
  static std::uint64_t& pending(TaskGroup& group) { return group.pending_; }
  static void*& held(TaskGroup& group) { return group.held_; }
  static Guard* guard(const TaskGroup* group) { return group != nullptr ? group->guard() : nullptr; }
  /// Sets the guard, before the group has members.
  static void set_guard(TaskGroup& group, Guard* guard) { group.set_guard(guard); }
};

/// The task whose function a thread calls now, or null. Only its thread writes it. Another that reads a task
/// by seen() sees what the thread did before it called the function (native/worker/seizure.hpp).
class RunningTask {
 public:
  operator Task*() const { return task_.load(std::memory_order_relaxed); }
  Task* operator->() const { return *this; }
  Task& operator*() const { return *task_.load(std::memory_order_relaxed); }
  RunningTask& operator=(Task* task) {
    task_.store(task, std::memory_order_release);
    return *this;
  }
  Task* seen() const { return task_.load(std::memory_order_acquire); }

 private:
  std::atomic<Task*> task_{nullptr};
};

/// State that a thread needs to create tasks. Each worker has one; another thread gets one when it first
/// creates.
struct ThreadState {
  ThreadState(native::TaskHeap& task_heap, unsigned group) : heap(task_heap, group) {}

  RunningTask running;
  TaskList tasks;      ///< a worker's private tasks of normal priority
  TaskList committed;  ///< from on_commit() of the running task, which has a resource
  std::atomic<std::uint64_t> created{0};
  const std::uint64_t* choices = nullptr;  ///< kChoices words, see there
  bool is_worker = false;                  ///< may link into `tasks`
  /// A worker's: turns of actors just go to the end of `tasks`. The watch clears it, too.
  std::atomic<bool> lists_turns{false};
  bool has_pools = false;        ///< several workers: locales need pools
  std::uint64_t birth = 0;       ///< the birth epoch that resources' tasks inherit, where the handle has it
  EpochMember* epoch = nullptr;  ///< a worker's
  std::uint64_t actor = 0;       ///< the handle of the actor whose code runs; 0: none
  WorkerHeap heap;
  Forks* forks = nullptr;  ///< a worker's that is not the only one
  unsigned number = ~0u;   ///< a worker's
};

/// The worker that this thread is at the moment; null: none.
extern constinit thread_local ThreadState* current_thread;

/// Gives a thread that is not a worker the state it needs to create tasks.
ThreadState& attach_thread();
[[gnu::always_inline]] inline ThreadState& this_thread() {
  ThreadState* const self = current_thread;
  return self != nullptr ? *self : attach_thread();
}
/// Hands a filled task over that cannot just be linked into the worker's own list.
void submit(ThreadState& self, Task* task);
/// Called now and then by a task that creates many: idle workers may want some of them.
void created_many(ThreadState& self);
void run();
/// For an algorithm that is called outside tasks: `start(work)` creates one task or none, a member of
/// `group`. Runs it as run() does, or sleeps until another thread's run has run it. Returns when the group is
/// complete. Errors: TaskError, of the run, or before there is a task.
void run_group(TaskGroup& group, void (*start)(void*), void* work);
void retire(ResourceHeader* header);

inline bool is_in_task() { return current_thread != nullptr && current_thread->running != nullptr; }
inline bool is_timestamped() { return is_in_task() && current_thread->running->is_timestamped(); }
inline Timestamp timestamp() { return is_timestamped() ? timestamp_of(current_thread->running) : 0; }

/// A locale that is no resource, in a handle. Multiplicative hashing (D. E. Knuth, "The Art of Computer
/// Programming", vol. 3, Sec. 6.4): every bit of the locale counts, in three instructions.
constexpr std::uint64_t locale_bits(std::uint64_t x) {
  return x * 0x9e3779b97f4a7c15u >> (64 - handle::kAddressBits);
}

/// How tasks of a resource are kept apart: for each of its options and each access the bits of a handle that
/// follow from them.
inline constexpr unsigned kChoices = 1536;
inline constexpr unsigned kReadsChoice = 512;
/// Readers that may not run again: optimistic ones exclude all others.
inline constexpr unsigned kReadsOnceChoice = 1024;

inline unsigned birth_slot_of(std::uint64_t word) {
  return static_cast<unsigned>((word & handle::kBirthMask) >> handle::kBirthShift);
}

/// Whether the hint needs the second line: it begins behind the first 1024 bytes.
[[gnu::always_inline]] inline bool is_far(const Prefetch& p) { return p.bytes != 0 && p.offset >= 1024; }

/// Code of a prefetch in a handle, see handle::kPrefetchMask. At most 3 lines.
[[gnu::always_inline]] inline std::uint64_t prefetch_code(const Prefetch& p) {
  if (p.bytes == 0 || is_far(p)) return 0;
  const std::uint32_t first = p.offset / 64, lines = (p.offset % 64 + p.bytes + 63) / 64;
  return (lines < 3 ? lines : 3) << 4 | first;
}

/// Everything about a task that is not in its second line. `may_repeat`: it may run as an optimistic reader.
template <TaskType type, bool may_repeat = true>
[[gnu::always_inline]] inline std::uint64_t handle_of(const ThreadState& self, const Annotations& a,
                                                      bool extended) {
  std::uint64_t word = std::uint64_t{static_cast<std::uint8_t>(a.priority)} << handle::kPriorityShift;
  if (a.fair && a.priority == Priority::normal) word |= handle::kFair;
  if (type == TaskType::spec) word |= handle::kSpec;
  if (extended) word |= handle::kExtended;
  if (a.at) word |= handle::kTimestamped;
  if (!a.on) return word;
  if (!a.on->is_resource()) {
    word |= handle::kLocale;
    return self.has_pools ? word | handle::kPooled | locale_bits(*a.on) : word;
  }
  constexpr unsigned kReads = may_repeat ? kReadsChoice : kReadsOnceChoice;
  const unsigned choice = (a.on->choices() & (kReadsChoice - 1)) | (a.access == Access::reads ? kReads : 0);
  return word | self.choices[choice] | self.birth | (*a.on & handle::kLocaleMask) | prefetch_code(a.prefetch);
}

[[gnu::always_inline]] inline void count_created(ThreadState& self) {
  const std::uint64_t created = self.created.load(std::memory_order_relaxed) + 1;
  self.created.store(created, std::memory_order_relaxed);
  if (created % 256 == 0) [[unlikely]]
    created_many(self);
}

/// Whether the task needs its second line.
template <class F, class... Args>
[[gnu::always_inline]] inline bool is_extended(const Annotations& a) {
  constexpr std::size_t words = payload_words<F, Args...>;
  return words > kInlineWords || (a.at && words == kInlineWords) || a.group != nullptr ||
         a.after != nullptr || a.core || a.numa || is_far(a.prefetch);
}

/// The place that a task asks for, as TaskExtension::core has it. Numbers that no machine has mean any place.
[[gnu::always_inline]] inline std::uint32_t place_of(const Annotations& a) {
  if (a.core) return *a.core < kOnNode ? *a.core : kAnywhere;
  return a.numa && *a.numa < kOnNode ? *a.numa | kOnNode : kAnywhere;
}

/// Fills a block that was just allocated: `fill` may throw, and then the block is given back.
template <class Fill>
inline void fill_or_free(WorkerHeap& heap, Task* task, bool extended, Fill fill) {
  try {
    fill();
  } catch (...) {
    if (extended) {
      heap.free<sizeof(ExtendedTask)>(task);
    } else {
      heap.free<sizeof(Task)>(task);
    }
    throw;
  }
}

template <TaskType type, class F, class... Args>
[[gnu::always_inline]] inline void create_by(ThreadState& self, bool is_worker, F function,
                                             const Annotations& a, Args... args) {
  const bool extended = is_extended<F, Args...>(a);
  auto* const task = static_cast<Task*>(extended ? self.heap.allocate<sizeof(ExtendedTask)>()
                                                 : self.heap.allocate<sizeof(Task)>());
  task->handle = handle_of<type, is_repeatable<F, Args...>>(self, a, extended);
  if constexpr (is_filled_noexcept<F, Args...>) {
    fill_task(task, std::move(function), args...);
  } else {
    fill_or_free(self.heap, task, extended, [&] { fill_task(task, std::move(function), args...); });
  }
  if (is_worker && a.on && a.on->is_resource()) self.epoch->count_created(birth_slot_of(task->handle));
  if (extended) {
    TaskExtension* const extension = extension_of(task);
    extension->timestamp = a.at ? std::uint64_t{*a.at} : 0;
    extension->group = a.group;
    extension->after = a.after;
    extension->prefetch_offset = a.prefetch.offset;
    extension->prefetch_bytes = a.prefetch.bytes;
    extension->core = place_of(a);
  } else if (a.at) {
    task->words[kInlineWords - 1] = *a.at;
  }
  const bool is_private = type != TaskType::spec && !a.at && a.group == nullptr && a.after == nullptr &&
                          !a.core && !a.numa && a.priority == Priority::normal && !a.fair &&
                          (!a.on || (task->handle & handle::kPooled) == 0);
  if (!is_private || !is_worker) return submit(self, task);
  self.tasks.append(task);
  count_created(self);
}

/// Creation on the slow path: by a thread that is no worker, or whose heap has no block at hand.
template <TaskType type, class F, class... Args>
[[gnu::noinline, gnu::cold]] void create_slowly(F function, const Annotations& a, Args... args) {
  ThreadState& self = this_thread();
  create_by<type>(self, self.is_worker, std::move(function), a, args...);
}

/// Creation on the fast path. Rare cases are tested first and leave at once: without a call in its middle the
/// rest needs no saved registers.
template <TaskType type, class F, class... Args>
[[gnu::always_inline]] inline void create(F function, const Annotations& a, Args... args) {
  ThreadState* const self = current_thread;
  if (self == nullptr || !(is_extended<F, Args...>(a) ? self->heap.has_block<sizeof(ExtendedTask)>()
                                                      : self->heap.has_block<sizeof(Task)>())) [[unlikely]] {
    const Annotations copy = a;  // so that only this path has them in memory
    return create_slowly<type>(std::move(function), copy, args...);
  }
  create_by<type>(*self, true, std::move(function), a, args...);
}

/// Appends a task that starts when the running one, which has a resource, has ended.
template <class F, class... Args>
[[gnu::always_inline]] inline void append_committed(ThreadState& self, F function, Args... args) {
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  task->handle = 0;
  if constexpr (is_filled_noexcept<F, Args...>) {
    fill_task(task, std::move(function), args...);
  } else {
    fill_or_free(self.heap, task, false, [&] { fill_task(task, std::move(function), args...); });
  }
  self.committed.append(task);
  count_created(self);
}
template <class F, class... Args>
[[gnu::noinline, gnu::cold]] void append_committed_slowly(F function, Args... args) {
  append_committed(*current_thread, std::move(function), args...);
}

/// Creates a task when the running one commits. The new task of a task with a resource is kept until that has
/// ended, and is not undone.
template <class F, class... Args>
[[gnu::always_inline]] inline void create_on_commit(F function, Args... args) {
  if constexpr (payload_words<F, Args...> <= kInlineWords) {
    if (is_in_task() && (current_thread->running->handle & handle::kResource) != 0) {
      if (!current_thread->heap.has_block<sizeof(Task)>()) [[unlikely]]
        return append_committed_slowly(std::move(function), args...);
      return append_committed(*current_thread, std::move(function), args...);
    }
  }
  engine::create<TaskType::nonspec>(std::move(function), Annotations{}, args...);
}

}  // namespace rubato::inline v0::engine
