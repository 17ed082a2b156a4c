// Way of a message to its actor's own thread and back (native/worker/own_threads.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "native/worker/own_threads.hpp"
#include "rubato/engine/actor_cell.hpp"

namespace rubato::inline v0::native {

/// By a turn. The first call makes it, without a thread yet.
OwnThread& own_thread_of(engine::Cell& cell);
/// By a turn, or after a failed run: the message that is back from the actor's thread.
OwnThread::Message take_message(engine::Cell& cell);
/// Its node: freed, or left in the mailbox as one of which nothing is left.
void release(const OwnThread::Message& message);

}  // namespace rubato::inline v0::native
