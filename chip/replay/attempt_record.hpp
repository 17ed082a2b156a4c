// The record of an attempt: the actions that its serial replay must be given or must reproduce (C19), and the
// progress of that replay. Kept from dispatch to abort or to the end of its replay.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "chip/isa/hart_state.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// An action of a task. The meaning of the members depends on the kind; others are 0.
struct TaskAction {
  enum class Kind : std::uint8_t {
    load,               ///< address, bytes, value
    store,              ///< address, bytes
    atomic,             ///< address, bytes, value: the old one
    store_conditional,  ///< address, bytes, value: 1 if stored
    counter,            ///< value
    task_read,          ///< bytes: the selector; value
    create,             ///< value: the child's id; index: into created
    on_abort,           ///< index: into handlers
    kernel_read,        ///< address; index: into kernel_data
    kernel_write,       ///< the same
    map,                ///< address, value: length, bytes: attributes
    unmap,              ///< address, value: length
    protect,            ///< as map
    discard,            ///< as unmap
    move,               ///< address: from; value: to; index: pages
    kernel_exit,        ///< index: into harts
    heap_call,          ///< address: the function; index: into heap_calls
  };
  Kind kind = Kind::load;
  std::uint8_t bytes = 0;
  std::uint32_t index = 0;
  Addr address = 0;
  std::uint64_t value = 0;
};

/// A call of the ideal allocator (run.alloc=ideal): it gives blocks as chip time says, not the serial order.
struct HeapCall {
  std::array<std::uint64_t, 3> given{}, left{};  ///< a0 to a2, before and after
  Addr next = 0;                                 ///< where the task went on
  Addr taken = 0, freed = 0;  ///< blocks; 0: none. Both: what was freed is still to be copied
  std::uint64_t freer = 0;    ///< the task that freed the block it took; 0: none of the region
  std::size_t freed_by = 0;   ///< that task's action
};

/// A task that waited in a system call, non-speculatively: what it did before has effect, and the other may
/// have met it in untracked memory.
struct Precedence {
  std::size_t action = 0;  ///< of the one that follows: before this
  std::uint64_t task = 0;
  std::size_t end = 0;  ///< so many of that task's actions
};

struct AttemptRecord {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  TaskDescriptor descriptor{};
  CoreId core{};
  Cycle dispatched{}, finished{};
  bool is_speculative = false;  ///< when dispatched
  bool may_abort = false;       ///< it still speculates
  HartState first_registers{};
  std::pair<Addr, Addr> stack{};  ///< of its worker, [low, high)

  std::vector<TaskAction> actions;
  std::vector<TaskDescriptor> created, handlers;
  std::vector<std::vector<std::byte>> kernel_data;
  std::vector<HartState> harts;
  std::vector<HeapCall> heap_calls;
  std::vector<Precedence> precedences;  ///< by action
  std::size_t entered_kernel = 0;       ///< so many actions before, the last time
  std::size_t waited = 0;               ///< so many before the last system call in which it waited
  std::uint64_t suspensions_seen = 0;   ///< of all that there were, when it last used untracked memory

  // State of the replay.
  bool has_begun = false, has_ended = false;
  HartState hart{};
  std::size_t next = 0;             ///< action
  std::size_t next_precedence = 0;  ///< to be heeded
  /// Bytes of its core's stack that it has written, by distance from the stack's end; and their contents
  /// while another task of that core may be replayed.
  std::vector<bool> stack_written;
  std::vector<std::byte> stack_saved;
};

}  // namespace rubato::chip
