// SPDX-License-Identifier: MIT
#include "actors/bounds.hpp"

#include <utility>

#include "rubato/engine/actor_extras.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::engine {

void set_bound(Cell& cell, const Bound& bound) {
  Bounded* bounded = bounded_of(cell);
  if (bounded == nullptr) {
    bounded = new Bounded;
    cell.synchronization.store(reinterpret_cast<std::uint64_t>(bounded), std::memory_order_release);
  }
  bounded->count.store(0, std::memory_order_relaxed);
  bounded->capacity.store(bound.capacity, std::memory_order_relaxed);
  bounded->when_full.store(bound.when_full, std::memory_order_relaxed);
}

bool admit(Cell& receiver, std::uint64_t handle, const MessageNode* node, Cell* sender) {
  if (node->type->run != nullptr) return true;  // the runtime's own: never refused
  if (node->is_admitted()) return true;
  Bounded& bounded = *bounded_of(receiver);
  if (bounded.count.fetch_add(1, std::memory_order_seq_cst) <
      bounded.capacity.load(std::memory_order_relaxed))
    return true;
  const WhenFull when_full = bounded.when_full.load(std::memory_order_relaxed);
  if (node->is_high() || when_full == WhenFull::drop_oldest) return true;
  if (when_full != WhenFull::mute) {
    bounded.count.fetch_sub(1, std::memory_order_seq_cst);
    return false;
  }
  if (sender == nullptr || sender == &receiver) return true;
  // Above its own bound it goes on, or two could wait for each other.
  if ((sender->flags & Cell::kBounded) != 0 && bounded_of(*sender)->is_full()) return true;
  extras_of(*sender).muted_by = handle;
  sender->flags |= Cell::kMuted;
  return true;
}

bool take_counted(Cell& receiver, const MessageNode* node) {
  if (node->type->run != nullptr) return true;
  Bounded& bounded = *bounded_of(receiver);
  const std::uint32_t before = bounded.count.fetch_sub(1, std::memory_order_seq_cst);
  if (bounded.has_muted.load(std::memory_order_seq_cst) && bounded.has_room()) release_muted(bounded);
  return bounded.when_full.load(std::memory_order_relaxed) != WhenFull::drop_oldest || node->is_high() ||
         before <= bounded.capacity.load(std::memory_order_relaxed);
}

bool wait_until_room(Cell& sender) {
  const std::uint64_t by = std::exchange(sender.extras->muted_by, 0);
  sender.flags &= static_cast<std::uint8_t>(~Cell::kMuted);
  const std::uint64_t self = sender.self;
  Bounded& bounded = *bounded_of(*cell_of(by));
  const std::lock_guard lock(bounded.mutex);
  bounded.muted.push_back(self);
  bounded.has_muted.store(true, std::memory_order_seq_cst);
  // Either this look sees the room, or who makes room sees that there is somebody to let go.
  if (is_alive(by) && !bounded.has_room()) return true;
  bounded.muted.pop_back();
  return false;
}

void release_muted(Bounded& bounded) {
  std::vector<std::uint64_t> muted;
  {
    const std::lock_guard lock(bounded.mutex);
    muted = std::exchange(bounded.muted, {});
    bounded.has_muted.store(false, std::memory_order_seq_cst);
  }
  for (const std::uint64_t actor : muted) resume_actor(*cell_of(actor));
}

}  // namespace rubato::inline v0::engine
