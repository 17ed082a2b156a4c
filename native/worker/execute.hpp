// Execution of a usual task: synchronization that takes no latch, the call, the end. Inlined into the
// worker's loop; rare steps are called (execution.cpp). MxTasking, Fig. 5; R4, R11.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <exception>
#include <optional>

#include "native/sync/primitive.hpp"
#include "native/sync/version.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

inline Primitive primitive_of(const Task* task) {
  return static_cast<Primitive>((task->handle & engine::handle::kPrimitiveMask) >>
                                engine::handle::kPrimitiveShift);
}

/// A task that reads a resource whose readers run beside each other and find out afterwards whether a writer
/// was at work.
inline bool is_optimistic_reader(const Task* task) {
  static_assert(static_cast<int>(Primitive::optimistic_pool) ==
                static_cast<int>(Primitive::optimistic_latch) + 1);
  constexpr std::uint64_t kMask = engine::handle::kReads | engine::handle::kPrimitiveMask;
  constexpr std::uint64_t kFirst = engine::handle::kReads >> engine::handle::kPrimitiveShift |
                                   static_cast<std::uint64_t>(Primitive::optimistic_latch);
  return ((task->handle & kMask) >> engine::handle::kPrimitiveShift) - kFirst < 2;
}

/// The header of the resource that a task is called on. Other tasks, also guarded ones, may have no address
/// in their handle.
inline engine::ResourceHeader& header_of(const Task* task) {
  auto* const object = reinterpret_cast<char*>(task->handle & engine::handle::kLocaleMask);
  return *reinterpret_cast<engine::ResourceHeader*>(object - sizeof(engine::ResourceHeader));
}
inline std::atomic<std::uint64_t>& synchronization_word(const Task* task) {
  return header_of(task).synchronization;
}

[[gnu::always_inline]] inline void Worker::execute(Slot slot) {
  Task* const task = slot.task();
  bool has_run = false;
  if (primitive_of(task) == Primitive::none) {
    call(task);
    has_run = true;
  } else if (is_optimistic_reader(task)) {
    has_run = read_once(task, 1) == Attempt::done;
  }
  if (!has_run && !run_or_put_back(slot)) [[unlikely]]
    return;
  if (task->code->destroy != nullptr) [[unlikely]]
    destroy_run(task);
  if (!deferred_.is_empty()) [[unlikely]]
    route_deferred();
  count_finished(task);
  if (slot.is_pooled() || is_special(task)) [[unlikely]]
    return finish_rest(slot);
  perturb();
  heap.free<sizeof(Task)>(task);
}

/// Tasks that a task with a resource creates get its own birth epoch; others get the present one.
inline void Worker::begin(Task* task) {
  running = task;
  birth = (task->handle & engine::handle::kResource) != 0
              ? task->handle & engine::handle::kBirthMask
              : std::uint64_t{epoch->birth_slot()} << engine::handle::kBirthShift;
}

inline void Worker::call(Task* task) {
  begin(task);
  perturb();
  try {
    task->code->run(task);
  } catch (...) {
    note_failure(*task);
  }
  end_call();
  perturb();
}

/// The task's function has returned: this worker uses its lists again, if no other thread does.
[[gnu::always_inline]] inline void Worker::end_call() {
  running = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (seizure.is_wanted()) [[unlikely]]
    seizure.wait_until_let_go();
}

/// An attempt of an optimistic reader, which looks up to `tries` times whether a writer is at work. If it
/// lost, the tasks that it created and its exception are dropped.
inline Worker::Attempt Worker::read_once(Task* task, unsigned tries) {
  Version<HeaderAtomics> version(synchronization_word(task));
  const std::optional<std::uint64_t> began = version.begin(tries);
  if (!began) [[unlikely]]
    return Attempt::not_begun;
  const TaskList::Mark mark = tasks.mark();
  is_validating_.store(true, std::memory_order_relaxed);
  begin(task);
  try {
    task->code->run(task);
  } catch (...) {
    end_reading();
    if (version.validate(*began)) {
      note_failure(*task);
      return Attempt::done;
    }
    drop_attempt(mark);
    return Attempt::lost;
  }
  end_reading();
  if (version.validate(*began)) [[likely]]
    return Attempt::done;
  drop_attempt(mark);
  return Attempt::lost;
}

inline void Worker::end_reading() {
  end_call();
  is_validating_.store(false, std::memory_order_relaxed);
  perturb();
}

}  // namespace rubato::inline v0::native
