// SPDX-License-Identifier: MIT
#include "actors/children.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "actors/bounds.hpp"
#include "actors/timers.hpp"
#include "rubato/engine/actor_extras.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::engine {
namespace {

struct Block {
  Block* next = nullptr;
  static constexpr std::uint32_t kMost = 7;
  std::uint64_t handles[kMost] = {};
};
static_assert(sizeof(Block) == 64);

/// In one place from the first child to the parent's end. The first few children are listed here.
struct Children {
  static constexpr std::uint32_t kMost = 5;
  std::uint32_t spawned = 0;
  std::uint32_t listed = 0;
  std::uint32_t used = Block::kMost;  ///< of the first block; the others are full
  static constexpr std::uint32_t kParentWaits = std::uint32_t{1} << 31;
  std::atomic<std::uint32_t> ended{0};  ///< how many; and whether their parent is told of each that ends
  Block* first = nullptr;
  std::uint64_t handles[kMost];
  std::uint32_t living() const { return spawned - (ended.load(std::memory_order_acquire) & ~kParentWaits); }
};
static_assert(sizeof(Children) == 64);

Children* children_of(const Cell& parent) { return reinterpret_cast<Children*>(parent.children()); }

void push_block(Children& children) {
  auto* const block = ::new (new_block<64>()) Block;
  block->next = children.first;
  children.first = block;
  children.used = 0;
}
void append(Children& children, std::uint64_t child) {
  if (children.listed < Children::kMost) {
    children.handles[children.listed++] = child;
    return;
  }
  if (children.used == Block::kMost) push_block(children);
  children.first->handles[children.used++] = child;
  ++children.listed;
}
template <class Use>
void for_each_living(const Children& children, Use use) {
  for (std::uint32_t i = 0; i < std::min(children.listed, Children::kMost); ++i)
    if (is_alive(children.handles[i])) use(children.handles[i]);
  std::uint32_t used = children.used;
  for (const Block* block = children.first; block != nullptr; block = block->next) {
    for (std::uint32_t i = 0; i < used; ++i)
      if (is_alive(block->handles[i])) use(block->handles[i]);
    used = Block::kMost;
  }
}
void free_blocks(Block* block) {
  while (block != nullptr) {
    Block* const next = block->next;
    free_block<64>(block);
    block = next;
  }
}
void drop_stopped(Children& children) {
  Children kept;
  for_each_living(children, [&kept](std::uint64_t child) { append(kept, child); });
  free_blocks(std::exchange(children.first, kept.first));
  std::copy_n(kept.handles, std::min(kept.listed, Children::kMost), children.handles);
  children.used = kept.used;
  children.listed = kept.listed;
}

/// Nothing but a turn of the parent, which looks whether it may end now.
struct ChildEnded {
  static constexpr bool while_stopping = true;
  void run_in_turn() {}
};
void tell_parent(std::uint64_t parent) { post(parent, make_node<ChildEnded>()); }

/// After all that the parent sent before.
struct StopChild {
  static constexpr bool while_stopping = true;
  void run_in_turn() { cell_of(current_actor())->flags |= Cell::kStopping; }
};

void tell_children(Cell& cell, const Children& children, bool is_killed) {
  extras_of(cell).has_killed_children = is_killed;
  for_each_living(children, [is_killed](std::uint64_t child) {
    post(child, make_node<StopChild>());
    if (is_killed) kill(child);
  });
}

}  // namespace

void add_child(Cell& parent, std::uint64_t child) {
  Children* children = children_of(parent);
  if (children == nullptr) {
    children = ::new (new_block<64>()) Children;
    parent.children() = reinterpret_cast<std::uint64_t>(children);
  }
  // A parent that spawns again and again does not keep its stopped children. The sweep is amortized: it costs
  // a few steps for each of them.
  if (children->listed >= Children::kMost && children->used == Block::kMost &&
      2 * children->living() < children->listed)
    drop_stopped(*children);
  append(*children, child);
  ++children->spawned;
}

void child_ended(const Cell& child) {
  if (child.parent == 0) return;
  const std::uint64_t parent = child.parent & ~Cell::kUnsupervised;
  // A single step: a parent that begins to wait either sees this child in the count, or gets a message.
  const std::uint32_t before = children_of(*cell_of(parent))->ended.fetch_add(1, std::memory_order_acq_rel);
  if ((before & Children::kParentWaits) != 0) tell_parent(parent);
}

void forget_children(Cell& parent) {
  Children* const children = children_of(parent);
  if (children == nullptr) return;
  free_blocks(children->first);
  free_block<64>(children);
  parent.children() = 0;
}

void kill_children(Cell& parent) {
  if (const Children* const children = children_of(parent))
    for_each_living(*children, [](std::uint64_t child) { kill(child); });
}

void tell_siblings(const Cell& parent, std::uint64_t child, MessageNode* (*make)()) {
  if (const Children* const children = children_of(parent))
    for_each_living(*children, [child, make](std::uint64_t other) {
      if (other != child) post(other, make());
    });
}

std::size_t child_blocks(const Cell& parent) {
  const Children* const children = children_of(parent);
  std::size_t blocks = children == nullptr ? 0 : 1;
  for (const Block* block = children == nullptr ? nullptr : children->first; block != nullptr;
       block = block->next)
    ++blocks;
  return blocks;
}

bool may_end(Cell& cell) {
  Children* const children = children_of(cell);
  if (children == nullptr || children->living() == 0) return true;
  const bool is_killed = cell.is_killed.load(std::memory_order_relaxed) != 0;
  if (is_ending(cell) && cell.extras->has_killed_children == is_killed) return false;
  const ActorScope scope(cell.self);
  // A child that no handle reaches any more may not have been counted yet: it is not told to stop, but tells.
  children->ended.fetch_or(Children::kParentWaits, std::memory_order_acq_rel);
  if (children->living() == 0) return true;
  tell_children(cell, *children, is_killed);
  if (is_ending(cell)) return false;
  cancel_timers_of(cell, true);
  cell.flags = static_cast<std::uint8_t>((cell.flags & ~Cell::kMuted) | Cell::kEnding);
  set_failed(cell, true);  // who sends to it does not wait: it might be a child
  return false;
}

}  // namespace rubato::inline v0::engine
