// Hand-over of the tasks that wait behind a long task on its worker: the watch publishes them, for idle
// workers. R2 and R10. The time of it: watch.cpp; the permission: seizure.hpp.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <new>

#include "native/policy.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/turn_scheduling.hpp"
#include "native/worker/worker.hpp"
#include "rubato/engine/native_check.hpp"

namespace rubato::inline v0::native {
namespace {

struct HandedOver {};

}  // namespace

const engine::TaskCode Worker::kHuskCode{run_husk, nullptr, &typeid(HandedOver), false,
                                         false,    0,       engine::kNoPointer};

void Worker::run_husk(Task*) {
  auto& self = static_cast<Worker&>(*engine::current_thread);
  self.timer.leave_out();  // its copy has the task's place in a trace
  self.husks_.add();
}

/// The last task of a list cannot be taken, since the worker may be about to link another behind it. So its
/// work goes into another block, and a task that does nothing stays. @returns null if that is done already,
/// or there is no memory.
Task* Worker::copy_last(TaskList& list, engine::WorkerHeap& from) {
  Task* const last = list.first_seen();
  if (last == nullptr || last->code == &kHuskCode) return nullptr;
  const bool is_extended = last->is_extended();
  Task* copy = nullptr;
  try {
    copy = static_cast<Task*>(is_extended ? from.allocate<sizeof(engine::ExtendedTask)>()
                                          : from.allocate<sizeof(Task)>());
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  copy->code = last->code;
  copy->handle = last->handle;
  std::memcpy(copy->words, last->words, sizeof(copy->words));
  if (is_extended) {
    std::memcpy(static_cast<void*>(engine::extension_of(copy)), engine::extension_of(last),
                sizeof(engine::TaskExtension));
  }
  if (last->code->move != nullptr) last->code->move(last, copy);
  engine::check::note_moved(last, copy);
  last->code = &kHuskCode;
  last->handle &= engine::handle::kExtended;
  if (is_extended) engine::extension_of(last)->group = nullptr;
  shared.copies.fetch_add(1, std::memory_order_seq_cst);  // before it can end
  return copy;
}

bool Worker::hand_over(engine::WorkerHeap& from) {
  // A reader that loses takes back what it created; what is published waits for a worker already.
  if (is_validating() || seen.published.load(std::memory_order_relaxed) != nullptr) return false;
  Chain chain;
  ring.take_out([&chain](const Slot& slot) {
    const bool may = !slot.is_pooled() && !slot.task()->is_timestamped();
    if (may) chain.append(slot.task());
    return may;
  });
  // The turn that is to run next; what on_commit() has put there belongs behind the running task.
  if (const Task* const next = committed.first_seen(); next != nullptr && is_turn(next)) {
    if (Task* const copy = copy_last(committed, from)) chain.append(copy);
  }
  lists.hand_over(chain, policy::kMostChunk, [&](TaskList& list) { return copy_last(list, from); });
  if (chain.is_empty()) return false;
  sharing.publish_for_worker(chain);
  return true;
}

}  // namespace rubato::inline v0::native
