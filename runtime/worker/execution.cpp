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

std::atomic<std::uint64_t>& synchronization_word(const Task* task) {
  auto* const object = reinterpret_cast<char*>(task->handle & engine::handle::kLocaleMask);
  return reinterpret_cast<ResourceHeader*>(object - sizeof(ResourceHeader))->synchronization;
}

}  // namespace

void Worker::execute(const Slot& slot) {
  Task* const task = slot.task;
  if ((task->handle & engine::handle::kPrimitiveMask) != 0) {
    while (!run_synchronized(task, !slot.is_pooled)) {
      if (!slot.is_pooled) {
        is_put_off_ = true;
        return requeue(task);
      }
      std::this_thread::yield();  // its pool is this worker's until it has run, and may end with it
    }
  } else {
    call(task);
  }
  if (!deferred_.is_empty()) [[unlikely]]
    route_deferred();
  finish(task);
  perturb();
  destroy(task);
  if (!slot.is_kept) free_block(task);
  if (slot.pool != nullptr) finish_pool(*slot.pool);
}

/// What a task with a resource creates is born when it was; else now.
void Worker::begin(Task* task) {
  running = task;
  birth = (task->handle & engine::handle::kResource) != 0
              ? task->handle & engine::handle::kBirthMask
              : std::uint64_t{epoch->birth_slot()} << engine::handle::kBirthShift;
}

void Worker::call(Task* task) {
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

/// Runs until no writer was at work meanwhile; what a losing attempt created and threw is dropped.
bool Worker::run_reader(Task* task, bool may_move) {
  Version<HeaderAtomics> version(synchronization_word(task));
  for (unsigned losses = 0; losses < threshold(kReaderLosses, 1u); ++losses) {
    const std::optional<std::uint64_t> seen = version.begin();
    if (!seen) return false;
    const TaskList::Mark mark = tasks.mark();
    std::exception_ptr error;
    begin(task);
    is_validating_ = true;
    try {
      task->code->run(task);
    } catch (...) {
      error = std::current_exception();
    }
    is_validating_ = false;
    running = nullptr;
    perturb();
    if (version.validate(*seen)) {
      if (error) {
        engine_.failure.add(error, *task);
        engine_.stop();
      }
      return true;
    }
    counts.reads_repeated.add();
    if (has_fault(Fault::children_of_losers)) continue;
    for (Task* created_task = tasks.cut(mark); created_task != nullptr;) {
      Task* const next = next_of(created_task);
      drop_created(created_task);
      ++taken_;
      created_task = next;
    }
    while (!deferred_.is_empty()) {
      drop_created(deferred_.take());
    }
  }
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

/// The task has ended, or will never run; its children are handed on.
void Worker::finish(Task* task) {
  counts.finished.add();
  end_birth(task);
  constexpr std::uint64_t kSpecial =
      engine::handle::kTimestamped | engine::handle::kExtended | engine::handle::kSpec;
  if ((task->handle & kSpecial) == 0) [[likely]]
    return;
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

/// It holds no removed object back any more (R7); what it created is counted.
void Worker::end_birth(const Task* task) {
  if ((task->handle & engine::handle::kResource) != 0)
    epoch->count_finished(engine::birth_slot_of(task->handle));
}

void Worker::leave_group(Task* task) {
  TaskGroup* const group = engine::group_of(task);
  if (group == nullptr || !Groups::remove_member(*group) || is_dropping_) return;
  if (has_fault(Fault::group_not_released)) return;
  Chain released = engine_.groups.release(*group);
  while (!released.is_empty()) requeue(released.take());
}

void Worker::destroy(Task* task) {
  if (task->code->destroy != nullptr) [[unlikely]]
    task->code->destroy(task);
}

void Worker::free_block(Task* task) {
  if (task->is_extended()) {
    heap.free<sizeof(engine::ExtendedTask)>(task);
  } else {
    heap.free<sizeof(Task)>(task);
  }
}

}  // namespace rubato::runtime
