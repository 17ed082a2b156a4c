// Engine-independent parts of a message in its receiver's turn, and of the end of an actor.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <typeinfo>

#include "rubato/actor/dead_letters.hpp"
#include "rubato/actor/supervision.hpp"
#include "rubato/engine/actor_cell.hpp"
#include "rubato/engine/actor_extras.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::engine {

/// Handles a message of the runtime itself. @returns whether a program's message was handled by it.
bool handle_own(MessageNode* node);

/// Handles a message. Its contents are destroyed afterwards, whether an exception leaves or not. @returns
/// whether it is a message of the program, or stands for one.
[[gnu::always_inline]] inline bool handle_message(const Cell& cell, MessageNode* node) {
  if (cell.type->handle(cell.behavior, node)) [[likely]]
    return true;
  return handle_own(node);
}

/// Whether an exception that it ends with is that of a program's message.
inline bool is_of_program(const MessageType& type) { return type.takes_place || type.withdraw != nullptr; }

/// The engine's. Calls `use` with the actor's cell, which no other actor gets meanwhile; of a thread outside,
/// too, where it must be short. @returns false if there is no such actor.
bool with_living(std::uint64_t actor, const std::function<void(Cell&)>& use);

struct KillMessage {
  void run_in_turn() {}
};

/// The actor has stopped: its behavior is destroyed, no handle reaches it any more, who watches it hears so.
/// What is left in its mailbox is the engine's.
void end_actor(Cell& cell, Reason reason);
/// Fills `cell`, to which there is no handle yet, for an actor; its memory and generation are there. `state`:
/// more bits of its life().
void begin_cell(Cell& cell, const BehaviorType& type, const CellOptions& options, void* behavior,
                std::uint64_t state = 0);

/// The reason of the end of an actor that is about to end.
inline Reason reason_of_end(const Cell& cell) {
  if (cell.is_killed.load(std::memory_order_relaxed) != 0) return Reason::killed;
  return cell.extras != nullptr && cell.extras->has_failed ? Reason::failed : Reason::stopped;
}
/// The cause for a message to an actor that has ended.
inline DeadLetter::Cause cause_of_death(const Cell& cell) {
  return cell.is_killed.load(std::memory_order_relaxed) != 0 ? DeadLetter::Cause::killed
                                                             : DeadLetter::Cause::stopped;
}
/// The type of a cell without a behavior.
const BehaviorType& no_behavior();
/// Its constructor has thrown: there is nothing to destroy, its name is free, and it is to be stopped.
void forget_behavior(Cell& cell);

/// While an exception that left the actor's code is handled. @returns what to post to `cell.parent` once the
/// cell is not touched any more; it has been put aside until then.
/// Errors: TaskError, of the run, if no actor decides about it.
MessageNode* on_exception(Cell& cell, const std::type_info& message);

/// For people: "actor starter (Starter)".
std::string describe(const Cell& cell);

/// Counts and tells about a message that is not handled. The node stays the caller's, what it carries is
/// destroyed.
void dead_letter(std::uint64_t to, MessageNode* node, DeadLetter::Cause cause);

/// The same for a message of a failed run, while nothing runs. An actor that it was to stop ends in the next
/// run.
void drop_of_failed_run(std::uint64_t to, MessageNode* node);
/// Flags about messages of the failed run go. A child goes on waiting to be made again.
void clear_flags_of_failed_run(Cell& cell);
/// Whether it ends before it handles another message.
inline bool is_to_end(const Cell& cell) {
  return (cell.flags & Cell::kStopping) != 0 || cell.is_killed.load(std::memory_order_relaxed) != 0;
}

void forget_name(const std::string& name);
void take_name(const std::string& name, const Cell& cell);

std::uint64_t dead_letters_by(DeadLetter::Cause cause);
/// Since the program started: see count_allocated().
std::uint64_t messages_allocated();

}  // namespace rubato::inline v0::engine
