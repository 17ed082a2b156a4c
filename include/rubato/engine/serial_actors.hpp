// Actors on the serial engine, the reference: a message is a task of its own, and the seed chooses among all
// that may be handled next. Implemented in serial/actors.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "rubato/engine/actor_cell.hpp"
#include "rubato/engine/serial.hpp"

namespace rubato::inline v0::engine {

/// The handle of the actor whose handler, constructor or destructor runs; 0: none.
std::uint64_t& current_actor();

template <class B>
inline constexpr const TaskCode* turn_of = nullptr;

/// 64 or 128 bytes.
template <std::size_t bytes>
void* new_block() {
  return ::operator new(bytes, std::align_val_t{64});
}
template <std::size_t bytes>
void free_block(void* block) {
  ::operator delete(block, std::align_val_t{64});
}

template <bool large>
MessageNode* new_node() {
  constexpr std::size_t kBytes = large ? 128 : 64;
  auto* const node =
      static_cast<MessageNode*>(::operator new(kBytes, std::align_val_t{alignof(MessageNode)}));
  node->word = (current_actor() & Cell::kAddressMask) | (large ? MessageNode::kLarge : 0);
  return node;
}
inline void free_node(MessageNode* node) { ::operator delete(node, std::align_val_t{alignof(MessageNode)}); }

}  // namespace rubato::inline v0::engine
