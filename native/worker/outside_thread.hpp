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
  /// Not null: tasks that this thread creates are kept here and not handed over, see Keeping.
  Chain* kept = nullptr;
  std::uint64_t joined_run = 0;  ///< the last run that an algorithm of this thread was part of
};
/// While it lives, `tasks` gets what a thread creates: the tasks of an algorithm that joins another thread's
/// run, so that all of them come into the inbox at once; or those of destructors of tasks that are dropped.
class Keeping {
 public:
  Keeping(OutsideThread& thread, Chain& tasks) : thread_(thread) { thread.kept = &tasks; }
  ~Keeping() { thread_.kept = nullptr; }
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;

 private:
  OutsideThread& thread_;
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
