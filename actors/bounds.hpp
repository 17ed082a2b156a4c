// Bounded mailboxes (A18): who may send, who waits, who goes on. The same on every engine.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "actors/muting.hpp"
#include "rubato/actor/bound.hpp"
#include "rubato/engine/actor_cell.hpp"

namespace rubato::inline v0::engine {

/// The bound of a cell that has one. It stays the cell's for good, so that senders may read it at any time.
struct Bounded : Muting<Threads> {
  std::atomic<WhenFull> when_full{WhenFull::mute};
};
inline Bounded* bounded_of(Cell& cell) {
  return reinterpret_cast<Bounded*>(cell.synchronization.load(std::memory_order_acquire));
}
inline bool has_bound(const Cell& cell) {
  return (cell.waiting.load(std::memory_order_relaxed) & Cell::kHasBound) != 0;
}
/// Sets the bound of a new actor.
void set_bound(Cell& cell, const Bound& bound);

/// Whether a message finds a place in this living actor's mailbox, which then is counted.
enum class Place : std::uint8_t { not_counted, taken, full };
/// For a message whose sender never waits. Not counted by mailboxes without a bound, and by those that drop
/// the oldest.
Place take_place(Cell& receiver);
/// The same of a thread outside, which mailboxes that refuse have not wait either.
Place take_place_or_wait(Cell& receiver);
void give_back(Cell& receiver);
/// The mark of a thread outside, in place of an actor, in the list of muted senders.
inline constexpr std::uint64_t kIsThread = 1;
/// The engine's: a thread outside that waits goes on.
void resume_thread(std::uint64_t waiter);
/// After a failed run, when nothing runs.
void clear_bound(Bounded& bounded);

/// Counts a message that is about to come. False: it does not. May mark `sender`, if not null, as muted: its
/// turn then ends with wait_until_room().
bool admit(Cell& receiver, std::uint64_t handle, const MessageNode* node, Cell* sender);
/// The receiver is about to handle a message. False: it is the oldest of too many, and is dropped.
bool take_counted(Cell& receiver, const MessageNode* node);
/// Between two messages of a muted actor. True: it waits, and must not be touched any more.
bool wait_until_room(Cell& sender);
/// A receiver has failed, or goes on: no sender waits for it meanwhile.
void set_failed(Cell& receiver, bool has_failed);
/// All that wait for this receiver go on.
void release_muted(Bounded& bounded);

}  // namespace rubato::inline v0::engine
