// Messages of actors that are dropped: of an actor that ends, and of all after a failed run, see also
// native/memory/cells.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "rubato/actor/dead_letters.hpp"
#include "rubato/engine/actor_cell.hpp"

namespace rubato::inline v0::native {

/// Drops the messages that an actor's turn has taken from its mailbox and not handled.
void drop_lanes(engine::Cell& cell, DeadLetter::Cause cause);
/// A message that is in no mailbox, of a failed run or of a reader that has lost.
void drop_message(std::uint64_t to, engine::MessageNode* node);
/// A message that a thread sends beside a run that nothing holds open. No dead letter: its sender gets the
/// error. @throws TaskError
[[noreturn]] void refuse_message(engine::MessageNode* node);

}  // namespace rubato::inline v0::native
