// State of a thread that is no worker, but creates tasks or actors.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
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
  bool drops_messages = false;   ///< messages that this thread sends are dead letters, see Dropping
  std::uint64_t joined_run = 0;  ///< the last run that an algorithm of this thread was part of
  std::chrono::steady_clock::duration joined_for{};  ///< how long that call took
};
/// While it lives, `tasks` gets the tasks that a thread creates: those of an algorithm that joins another
/// thread's run, so that all of them come into the inbox at once; or see Dropping.
class Keeping {
 public:
  Keeping(OutsideThread& thread, Chain& tasks) : thread_(thread) { thread.kept = &tasks; }
  ~Keeping() { thread_.kept = nullptr; }
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;

 private:
  OutsideThread& thread_;
};
/// While it lives, the thread drops what a failed run has left. Destructors, and listeners of dead letters,
/// create tasks meanwhile, which are to be dropped, too. What they send is dropped at once: a listener that
/// answers each dead letter with a message would go on for ever.
class Dropping {
 public:
  Dropping(OutsideThread& thread, Chain& tasks) : thread_(thread), keeping_(thread, tasks) {
    thread.drops_messages = true;
  }
  ~Dropping() { thread_.drops_messages = false; }
  Dropping(const Dropping&) = delete;
  Dropping& operator=(const Dropping&) = delete;

 private:
  OutsideThread& thread_;
  const Keeping keeping_;
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
