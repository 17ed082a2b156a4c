// The children of an actor: those that it has spawned and that may still live. They stop before it
// (A14). The same on every engine; used by the parent's turn, but for child_ended().
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "rubato/engine/actor_cell.hpp"

namespace rubato::inline v0::engine {

void add_child(Cell& parent, std::uint64_t child);
/// At the next boundaries between their messages.
void kill_children(Cell& parent);
/// In a turn of the parent: a message of the runtime to each living child but this one.
void tell_siblings(const Cell& parent, std::uint64_t child, MessageNode* (*make)());
/// When all of them have ended.
void forget_children(Cell& parent);
/// How much memory they take, in blocks of 64 bytes with up to 7 children each, 5 the first. For tests.
std::size_t child_blocks(const Cell& parent);

/// Between two messages of an actor that stops or is killed. False: its children have yet to stop; meanwhile
/// it handles only messages that stay possible (MessageType::while_stopping).
bool may_end(Cell& cell);
/// The actor waits for its children.
inline bool is_ending(const Cell& cell) { return (cell.flags & Cell::kEnding) != 0; }

/// By a child whose behavior is destroyed, on its own thread. The parent has not ended before.
void child_ended(const Cell& child);

}  // namespace rubato::inline v0::engine
