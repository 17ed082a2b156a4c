// SPDX-License-Identifier: MIT
// One task: synchronization around it, its end, its memory. MxTasking, Fig. 5; rules R4, R11.
#include <exception>
#include <optional>
#include <thread>

#include "runtime/engine.hpp"
#include "runtime/fault.hpp"
#include "runtime/sync/choice.hpp"
#include "runtime/sync/latch.hpp"
#include "runtime/sync/shared_latch.hpp"
#include "runtime/sync/version.hpp"
#include "runtime/worker/worker.hpp"

namespace rubato::runtime {
namespace {

using engine::ResourceHeader;

Primitive primitive_of(const Task* task) {
  return static_cast<Primitive>((task->handle & engine::handle::kPrimitiveMask) >>
                                engine::handle::kPrimitiveShift);
}

/// Of a resource whose readers run beside each other and find out afterwards whether a writer was at work.
bool is_optimistic_reader(const Task* task) {
  static_assert(static_cast<int>(Primitive::optimistic_pool) ==
                static_cast<int>(Primitive::optimistic_latch) + 1);
  constexpr std::uint64_t kMask = engine::handle::kReads | engine::handle::kPrimitiveMask;
  constexpr std::uint64_t kFirst = engine::handle::kReads >> engine::handle::kPrimitiveShift |
                                   static_cast<std::uint64_t>(Primitive::optimistic_latch);
  return ((task->handle & kMask) >> engine::handle::kPrimitiveShift) - kFirst < 2;
}

std::atomic<std::uint64_t>& synchronization_word(const Task* task) {
  auto* const object = reinterpret_cast<char*>(task->handle & engine::handle::kLocaleMask);
  return reinterpret_cast<ResourceHeader*>(object - sizeof(ResourceHeader))->synchronization;
}

}  // namespace

void Worker::execute(Slot slot) {
  Task* const task = slot.task();
  bool has_run = false;
  if (is_optimistic_reader(task)) {
    has_run = read_once(task, 1) == Attempt::done;
  } else if ((task->handle & engine::handle::kPrimitiveMask) == 0) {
    call(task);
    has_run = true;
  }
  while (!has_run && !run_synchronized(task, !slot.is_pooled())) {
    if (!slot.is_pooled()) {
      is_put_off_ = true;
      return requeue(task);
    }
    std::this_thread::yield();  // its pool is this worker's until it has run, and may end with it
  }
  if (!deferred_.is_empty()) [[unlikely]]
    route_deferred();
  finish(task);
  perturb();
  destroy(task);
  if (!slot.is_kept()) free_block(task);
  if (TaskPool* const ended = slot.pool()) finish_pool(*ended);
}

/// What the last task asked for by on_commit(): at once, while what it needs is in the cache. Only one, so
/// that whatever waits between two tasks waits for one more at most, and others can have their share of many.
void Worker::run_committed() {
  ++taken_;
  Task* const task = committed.take();
  const bool is_stopped = (engine_.events.look() & Events::kStop) != 0;
  if (committed.is_empty() && !is_stopped) return start_one(Slot(task));
  requeue(task);
  for (; !committed.is_empty(); ++taken_) requeue(committed.take());
}

/// What a task with a resource creates is born when it was; else now.
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
    engine_.failure.add(std::current_exception(), *task);
    engine_.stop();
  }
  running = nullptr;
  perturb();
}

/// False: it did not run. `may_move`: a reader that lost too often may have been marked for its resource's
/// pool.
bool Worker::run_synchronized(Task* task, bool may_move) {
  const bool reads = (task->handle & engine::handle::kReads) != 0;
  std::atomic<std::uint64_t>& word = synchronization_word(task);
  switch (primitive_of(task)) {
    case Primitive::latch: {
      Latch<HeaderAtomics> latch(word);
      if (!latch.lock()) break;
      call(task);
      latch.unlock();
      return true;
    }
    case Primitive::shared_latch: {
      SharedLatch<HeaderAtomics> latch(word);
      if (reads ? !latch.lock_shared() : !latch.lock()) break;
      call(task);
      if (reads) {
        latch.unlock_shared();
      } else {
        latch.unlock();
      }
      return true;
    }
    case Primitive::optimistic_latch:
    case Primitive::optimistic_pool:
      return reads ? run_reader(task, may_move) : run_writer(task);
    case Primitive::none:
    case Primitive::pool:
      call(task);
      return true;
  }
  return false;
}

bool Worker::run_writer(Task* task) {
  Version<HeaderAtomics> version(synchronization_word(task));
  if (primitive_of(task) == Primitive::optimistic_pool) {
    version.begin_write();
    call(task);
    version.end_write();
    return true;
  }
  if (!version.lock()) return false;
  call(task);
  version.unlock();
  return true;
}

/// One attempt of an optimistic reader, which looks up to `tries` times whether a writer is at work. What it
/// created and threw is dropped if it lost.
inline Worker::Attempt Worker::read_once(Task* task, unsigned tries) {
  Version<HeaderAtomics> version(synchronization_word(task));
  const std::optional<std::uint64_t> seen = version.begin(tries);
  if (!seen) [[unlikely]]
    return Attempt::not_begun;
  const TaskList::Mark mark = tasks.mark();
  begin(task);
  is_validating_ = true;
  try {
    task->code->run(task);
  } catch (...) {
    end_reading();
    if (version.validate(*seen)) {
      engine_.failure.add(std::current_exception(), *task);
      engine_.stop();
      return Attempt::done;
    }
    drop_attempt(mark);
    return Attempt::lost;
  }
  end_reading();
  if (version.validate(*seen)) [[likely]]
    return Attempt::done;
  drop_attempt(mark);
  return Attempt::lost;
}

inline void Worker::end_reading() {
  is_validating_ = false;
  running = nullptr;
  perturb();
}

/// What a reader created that lost.
void Worker::drop_attempt(TaskList::Mark mark) {
  counts.reads_repeated.add();
  if (has_fault(Fault::children_of_losers)) return;
  for (Task* created_task = tasks.cut(mark); created_task != nullptr;) {
    Task* const next = next_of(created_task);
    drop_created(created_task);
    ++taken_;
    created_task = next;
  }
  for (; !committed.is_empty(); ++taken_) drop_created(committed.take());
  while (!deferred_.is_empty()) {
    drop_created(deferred_.take());
  }
}

/// An optimistic reader that has tried once: again, until no writer was at work meanwhile or it has lost too
/// often. At least once: a reader that may not move has no other way to run.
bool Worker::run_reader(Task* task, bool may_move) {
  Version<HeaderAtomics> version(synchronization_word(task));
  unsigned losses = 1;
  do {
    const Attempt attempt = read_once(task, kSpinTries);
    if (attempt != Attempt::lost) return attempt == Attempt::done;
  } while (++losses < threshold(kReaderLosses, 1u));
  if (primitive_of(task) == Primitive::optimistic_pool) {
    if (may_move) task->handle = (task->handle & ~engine::handle::kPrimitiveMask) | engine::handle::kPooled;
    return false;
  }
  if (!version.lock()) return false;
  call(task);
  version.unlock_unchanged();
  return true;
}

void Worker::route_deferred() {
  while (!deferred_.is_empty()) route(deferred_.take());
}

/// What finish() need not look for in most tasks.
void Worker::finish_special(Task* task) {
  if (task->is_spec()) counts.alone.add();
  leave_group(task);
  if (task->is_timestamped()) end_timestamped();
}

/// What a reader created that lost: it was never handed on, so timestamp order has not counted it.
void Worker::drop_created(Task* task) {
  counts.finished.add();
  end_birth(task);
  leave_group(task);
  destroy(task);
  free_block(task);
}

void Worker::leave_group(Task* task) {
  TaskGroup* const group = engine::group_of(task);
  if (group == nullptr || !Groups::remove_member(*group) || is_dropping_) return;
  if (has_fault(Fault::group_not_released)) return;
  Chain released = engine_.groups.release(*group);
  while (!released.is_empty()) requeue(released.take());
}

}  // namespace rubato::runtime
