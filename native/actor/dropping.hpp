// Messages of actors that are dropped: of an actor that ends, and of all after a failed run
// (native/memory/cells.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/actor/dead_letters.hpp"
#include "rubato/engine/actor_cell.hpp"

namespace rubato::inline v0::native {

/// Drops the messages that an actor's turn has taken from its mailbox and not handled.
void drop_lanes(engine::Cell& cell, DeadLetter::Cause cause);

}  // namespace rubato::inline v0::native
