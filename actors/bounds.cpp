// SPDX-License-Identifier: MIT
#include "actors/bounds.hpp"

#include <utility>

#include "rubato/engine/actor_extras.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::engine {
namespace {

void resume(std::uint64_t sender) {
  if ((sender & kIsThread) != 0) return resume_thread(sender);
  resume_actor(*cell_of(sender));
}

}  // namespace

Place take_place(Cell& receiver) {
  if ((receiver.life().load(std::memory_order_relaxed) & Cell::kHasBound) == 0) return Place::not_counted;
  Bounded& bounded = *bounded_of(receiver);
  if (bounded.when_full.load(std::memory_order_relaxed) == WhenFull::drop_oldest) return Place::not_counted;
  return bounded.come_if_room() ? Place::taken : Place::full;
}
Place take_place_or_wait(Cell& receiver) {
  if ((receiver.life().load(std::memory_order_relaxed) & Cell::kHasBound) == 0 ||
      bounded_of(receiver)->when_full.load(std::memory_order_relaxed) != WhenFull::mute)
    return Place::not_counted;
  return take_place(receiver);
}
void give_back(Cell& receiver) {
  if ((receiver.life().load(std::memory_order_relaxed) & Cell::kHasBound) != 0)
    static_cast<void>(bounded_of(receiver)->go(resume));
}

void clear_bound(Bounded& bounded) {
  bounded.clear([](std::uint64_t sender) {
    if ((sender & kIsThread) != 0) resume_thread(sender);
  });
}

void set_bound(Cell& cell, const Bound& bound) {
  Bounded* bounded = bounded_of(cell);
  if (bounded == nullptr) {
    bounded = new Bounded;
    cell.synchronization.store(reinterpret_cast<std::uint64_t>(bounded), std::memory_order_release);
  }
  bounded->begin(bound.capacity);
  bounded->when_full.store(bound.when_full, std::memory_order_relaxed);
}

bool admit(Cell& receiver, std::uint64_t handle, const MessageNode* node, Cell* sender) {
  if (!node->type->takes_place) return true;  // the runtime's own: never refused
  if (node->is_admitted()) return true;
  Bounded& bounded = *bounded_of(receiver);
  const std::uint32_t before = bounded.come();
  if (before < bounded.capacity.load(std::memory_order_relaxed)) return true;
  const WhenFull when_full = bounded.when_full.load(std::memory_order_relaxed);
  if (node->is_high() || when_full == WhenFull::drop_oldest) return true;
  if (when_full != WhenFull::mute) {
    static_cast<void>(bounded.leave());
    return false;
  }
  if (sender == nullptr || sender == &receiver) return true;
  extras_of(*sender).muted_by = handle;
  sender->flags |= Cell::kMuted;
  return true;
}

bool take_counted(Cell& receiver, const MessageNode* node) {
  if (!node->type->takes_place) return true;
  Bounded& bounded = *bounded_of(receiver);
  const std::uint32_t before = bounded.go(resume);
  return bounded.when_full.load(std::memory_order_relaxed) != WhenFull::drop_oldest || node->is_high() ||
         before <= bounded.capacity.load(std::memory_order_relaxed);
}

bool wait_until_room(Cell& sender) {
  const std::uint64_t by = std::exchange(sender.extras->muted_by, 0);
  sender.flags &= static_cast<std::uint8_t>(~Cell::kMuted);
  const Bounded* const own = (sender.flags & Cell::kBounded) != 0 ? bounded_of(sender) : nullptr;
  return bounded_of(*cell_of(by))->wait(sender.self, own, [by] { return is_alive(by); });
}

void set_failed(Cell& receiver, bool has_failed) {
  if ((receiver.flags & Cell::kBounded) != 0) bounded_of(receiver)->set_failed(has_failed, resume);
}

void release_muted(Bounded& bounded) { bounded.release(resume); }

}  // namespace rubato::inline v0::engine
