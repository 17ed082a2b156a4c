// Accesses of tasks on a window core, as far as they need more than those of threads (K72). Some go alone. A
// store has room in the undo log before it is dispatched, and is logged when memory has it (C14). Pages may
// change while stores are in the queue.
//
// Invariant: the log has room for all queued stores of a speculative task.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "chip/core/access_value.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/core/undo_logger.hpp"
#include "chip/core/window/store_queue.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class TaskAccesses {
 public:
  /// Both outlive this.
  TaskAccesses(PipelineState& state, UndoLogger& log) : state_(state), log_(log) {}

  /// An access to one line goes alone, since only the load-store unit can check it:
  /// - in a capsule whose task is speculative or doomed, each access;
  /// - by a speculative task, one to untracked memory;
  /// - one to the stack of another worker.
  bool is_guarded(Addr address) const {
    const RunningTask& task = state_.task;
    if (!task.is_task) return false;
    if (task.is_doomed || (task.attempt != nullptr && state_.hart.capsule_depth != 0)) return true;
    const auto flags = state_.ports.memory->attributes(address);
    if ((flags & Page::kUntracked) != 0 && task.attempt != nullptr) return true;
    const auto [low, high] = state_.rights.own_stack();
    return (flags & Page::kWorkerStack) != 0 && (address < low || address >= high);
  }

  /// The log has room for this store besides the queued ones; slot.issue may advance. False: the pipeline
  /// leaves.
  bool make_log_room(const StoreQueue& queue, Addr address, unsigned bytes, IssueSlot& slot) {
    if (state_.task.attempt == nullptr) return true;
    std::size_t entries = log_.entries_of(address, bytes);
    for (std::size_t i = 0; i < queue.size(); ++i)
      entries += log_.entries_of(queue[i].address, queue[i].bytes);
    return log_.make_room(entries, slot);
  }

  /// Guest memory has the bytes. The old ones are logged if the task is speculative.
  void write(Addr address, unsigned bytes, std::uint64_t value) {
    if (state_.task.attempt != nullptr) log_.log(address, bytes);
    raw_store(*state_.ports.memory, address, bytes, value);
  }

  /// The task has lost the right to the page of a committed store.
  bool has_lost_page(const QueuedStore& store) const {
    return state_.task.is_task && store.is_committed &&
           !state_.ports.memory->allows(store.address, store.bytes, Page::kWrite);
  }

 private:
  PipelineState& state_;
  UndoLogger& log_;
};

}  // namespace rubato::chip
