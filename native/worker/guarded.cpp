// Tasks of a GuardedGroup: whether they run, and where their exceptions go. R11.
//
// No other task looks at its group before it runs. A guarded one has Primitive::guarded in its handle, which
// leads it to run_guarded(), and its own primitive in its second line.
// SPDX-License-Identifier: MIT
#include <cstring>

#include "native/worker/execute.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"
#include "rubato/guarded_group.hpp"

namespace rubato::inline v0::native {

/// False: it did not run, and will ask again. A cancelled task ends here as one that has run.
bool Worker::run_guarded(Task* task, bool may_move) {
  const engine::TaskExtension* const extension = engine::extension_of(task);
  if (engine::GroupState::guard(extension->group)->is_cancelled()) return true;
  task->handle = (task->handle & ~engine::handle::kPrimitiveMask) | std::uint64_t{extension->primitive}
                                                                        << engine::handle::kPrimitiveShift;
  if (run_synchronized(task, may_move)) return true;
  Groups::guard(task);
  return false;
}

/// The exception being handled left the task: it is its group's, or ends the run.
void Worker::note_failure(const Task& task) noexcept {
  const std::exception_ptr error = std::current_exception();
  engine::Guard* const guard = engine::GroupState::guard(engine::group_of(&task));
  if (guard == nullptr) {
    shared.failure.add(error, task);
    return shared.stop();
  }
  const void* address = nullptr;
  if (task.code->is_function_pointer) std::memcpy(&address, task.words, sizeof(address));
  guard->add(error, address, *task.code->type, timestamp_if_any(task));
}

}  // namespace rubato::inline v0::native

namespace rubato::inline v0::engine {

const Guard* running_guard() {
  return is_in_task() ? GroupState::guard(group_of(current_thread->running)) : nullptr;
}

}  // namespace rubato::inline v0::engine
