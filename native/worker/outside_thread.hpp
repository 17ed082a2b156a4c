// State of a thread that is no worker, but creates tasks or actors.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "native/memory/cells.hpp"
#include "native/memory/reached.hpp"
#include "native/memory/task_heap.hpp"
#include "native/pool/task_list.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {

struct OutsideThread : engine::ThreadState {
  OutsideThread(TaskHeap& task_heap, CellHeap& cell_heap, Reached& reached)
      : ThreadState(task_heap, 0), cells(cell_heap), place(reached.take()) {}
  ~OutsideThread() { Reached::give(place); }
  OutsideThread(const OutsideThread&) = delete;
  OutsideThread& operator=(const OutsideThread&) = delete;
  CellCache cells;
  Reached::Place& place;
  bool is_joining = false;       ///< an algorithm joins another thread's run: what it creates is
  Chain joining;                 ///< kept here, so that all of it comes into the inbox at once
  std::uint64_t joined_run = 0;  ///< the last run that an algorithm of this thread was part of
};
/// Its task, which never ran; destroyed.
inline void free_outside(engine::ThreadState& self, Task* task) {
  if (task->is_extended()) {
    self.heap.free<sizeof(engine::ExtendedTask)>(task);
  } else {
    self.heap.free<sizeof(Task)>(task);
  }
}

}  // namespace rubato::inline v0::native
