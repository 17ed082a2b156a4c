// Blocks of the tasks by which threads outside send messages. They are taken first: without memory for them
// no message waits for a turn that never comes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <new>

#include "native/memory/cells.hpp"
#include "native/pool/task_list.hpp"
#include "native/worker/turn_scheduling.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::native {

/// The block of a task that is about to take a message over. Without memory the message is destroyed.
template <std::size_t bytes>
Task* allocate_task_for(engine::ThreadState& self, MessageNode* node) {
  try {
    return static_cast<Task*>(self.heap.allocate<bytes>());
  } catch (const std::bad_alloc&) {
    engine::destroy_payload(node);
    engine::free_node(node);
    throw;
  }
}
/// The same for a turn of that actor.
inline Task* allocate_turn_for(engine::ThreadState& self, const Cell& cell, MessageNode* node) {
  return has_place(cell) ? allocate_task_for<sizeof(engine::ExtendedTask)>(self, node)
                         : allocate_task_for<sizeof(Task)>(self, node);
}
inline void free_turn_of(engine::ThreadState& self, const Cell& cell, Task* task) {
  if (has_place(cell)) return self.heap.free<sizeof(engine::ExtendedTask)>(task);
  self.heap.free<sizeof(Task)>(task);
}

}  // namespace rubato::inline v0::native
