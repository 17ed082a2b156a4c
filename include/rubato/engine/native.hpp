// Engine `native`: tasks on this machine's cores. Link rubato_native (also called rubato::rubato), which
// defines RUBATO_ENGINE_NATIVE; nothing else changes in a program. Here is what create() does before it
// leaves the header; workers, pools, order and memory are in runtime/. Options and counters:
// native_options.hpp.
//
// What a program may rely on beyond the task model:
//   - run() uses the calling thread and workers() - 1 others; without timestamps and locales, tasks of one
//   creator
//     and priority start in the order of their creation on one worker, in any order on several.
//   - Without native::hold() only the thread that calls run(), before it, and tasks create tasks; while a
//   hold is
//     open, every thread may.
//   - A task that ends with an exception stops the run: no further task starts, running ones finish, pending
//   ones
//     are destroyed unrun, run() throws TaskError with the original nested, and the next run() works.
//   - Readers of a resource with shared reads may run twice (optimistic versions): what they create and throw
//     counts once. Results leave them by tracked data of their own, created tasks, or on_commit().
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "rubato/annotations.hpp"
#include "rubato/engine/native_options.hpp"
#include "rubato/engine/native_task.hpp"
#include "rubato/engine/resource_header.hpp"
#include "rubato/group.hpp"
#include "rubato/task_type.hpp"

namespace rubato::inline v0::engine {

/// The members of a TaskGroup, for the runtime.
struct GroupState {
  static std::uint64_t& pending(TaskGroup& group) { return group.pending_; }
};

/// What a thread needs to create tasks: of workers, in runtime/; null for other threads.
struct ThreadState {
  Task* running = nullptr;  ///< the task whose function is called now
};

extern constinit thread_local ThreadState* current_thread;

/// One line, or two if `extended`. Uninitialized.
Task* allocate_task(bool extended);
/// Hands a filled task over.
void submit(Task* task);
void run();
void retire(ResourceHeader* header);

inline bool is_in_task() { return current_thread != nullptr && current_thread->running != nullptr; }
inline bool is_timestamped() { return is_in_task() && current_thread->running->is_timestamped(); }
inline Timestamp timestamp() { return is_timestamped() ? timestamp_of(current_thread->running) : 0; }

/// Finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): spreads locales over pools.
constexpr std::uint64_t mix_locale(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The handle of a task: everything about it that is not in its second line.
template <TaskType type>
[[gnu::always_inline]] inline std::uint64_t handle_of(const Annotations& a, bool extended) {
  std::uint64_t word = std::uint64_t{static_cast<std::uint8_t>(a.priority)} << handle::kPriorityShift;
  if (type == TaskType::spec) word |= handle::kSpec;
  if (extended) word |= handle::kExtended;
  if (a.at) word |= handle::kTimestamped;
  if (!a.on) return word;
  if (a.access == Access::reads && a.on->allows_shared_reads()) word |= handle::kReads;
  if (a.on->is_resource()) return word | handle::kLocale | handle::kResource | (*a.on & handle::kAddressMask);
  return word | handle::kLocale | (mix_locale(*a.on) & handle::kAddressMask);
}

template <TaskType type, class F, class... Args>
[[gnu::always_inline]] inline void create(F function, const Annotations& a, Args... args) {
  constexpr std::size_t words = payload_words<F, Args...>;
  const bool extended = words > kInlineWords || (a.at && words == kInlineWords) || a.group != nullptr ||
                        a.after != nullptr || a.core || a.numa || a.prefetch.bytes != 0;
  Task* const task = allocate_task(extended);
  task->handle = handle_of<type>(a, extended);
  fill_task(task, std::move(function), args...);
  if (extended) {
    TaskExtension* const extension = extension_of(task);
    extension->timestamp = a.at ? std::uint64_t{*a.at} : 0;
    extension->group = a.group;
    extension->after = a.after;
    extension->prefetch_offset = a.prefetch.offset;
    extension->prefetch_bytes = a.prefetch.bytes;
    extension->core = a.core ? *a.core : kAnywhere;
    extension->numa = a.numa ? *a.numa : kAnywhere;
  } else if (a.at) {
    task->words[kInlineWords - 1] = *a.at;
  }
  submit(task);
}

}  // namespace rubato::inline v0::engine
