// Actors that wait for a step of rubato/actor/single_steps.hpp, on this engine: their turns have ended with
// messages left, like those of actors that wait for a full mailbox.
// SPDX-License-Identifier: MIT
#pragma once

#include "rubato/engine/actor_cell.hpp"

namespace rubato::inline v0::native {

/// By its turn, which touches the actor no more.
void put_aside(engine::Cell& cell);
/// After a failed run: their mailboxes are empty, and they wait for nothing.
void forget_put_aside();

}  // namespace rubato::inline v0::native
