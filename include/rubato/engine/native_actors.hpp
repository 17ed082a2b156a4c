// Actors on the native engine: the inline part of sending. Turns, cells and timers are in native/actor/.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <typeinfo>

#include "rubato/engine/actor_cell.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::engine {

/// The handle of the actor whose turn, constructor or destructor runs on this thread; 0: none.
inline std::uint64_t& current_actor() { return this_thread().actor; }

/// 64 or 128 bytes.
template <std::size_t bytes>
void* new_block() {
  return this_thread().heap.allocate<bytes>();
}
template <std::size_t bytes>
void free_block(void* block) {
  this_thread().heap.free<bytes>(block);
}

void run_actor_turn(Task* task);
template <class B>
inline constexpr TaskCode turn_code{run_actor_turn, nullptr, &typeid(B), false, false, 1, 0};
/// Named after behavior B in traces and among long tasks.
template <class B>
inline constexpr const TaskCode* turn_of = &turn_code<B>;

template <bool large>
[[gnu::always_inline]] inline MessageNode* new_node() {
  ThreadState& self = this_thread();
  // A push waits for its message to have left for the cache: a thread that sends many finds their lines in
  // the cache.
  self.heap.prefetch_coming<large ? 128 : 64>();
  void* const block = large ? self.heap.allocate<128>() : self.heap.allocate<64>();
  auto* const node = static_cast<MessageNode*>(block);
  node->word = (self.actor & Cell::kAddressMask) | (large ? MessageNode::kLarge : 0);
  return node;
}
inline void free_node(MessageNode* node) {
  WorkerHeap& heap = this_thread().heap;
  if (node->is_large()) {
    heap.free<128>(node);
  } else {
    heap.free<64>(node);
  }
}

}  // namespace rubato::inline v0::engine
