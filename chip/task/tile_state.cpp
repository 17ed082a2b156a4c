// The tile's state of tile_state.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/tile_state.hpp"

namespace rubato::chip {

namespace {

/// The capacity of a queue with `entries` a core; 0: unlimited.
std::uint32_t capacity(const Config& config, std::uint32_t entries) {
  return config.task.unlimited_queues ? 0 : entries * config.chip.cores_per_tile;
}

}  // namespace

TileState::TileState(TaskContext& chip, EventHandler& handler, TileId id)
    : context(chip),
      unit(handler),
      tile(id),
      first_core(id.value * chip.config.chip.cores_per_tile),
      cores(chip.config.chip.cores_per_tile),
      states(cores),
      send(chip.config.task.unlimited_queues ? 0 : chip.config.task.send_buffer),
      commit_queue(capacity(chip.config, chip.config.task.commit_queue)),
      queue(capacity(chip.config, chip.config.task.task_queue), chip.config.task.uncommitted_share) {}

void TileState::begin_region(Cycle now) {
  own_gvt = {};
  occupancy_since = now;
  commit_occupancy_since = now;
  held_back_since = now;
  held_back_cores = 0;
  for (CoreSlot& c : slots) c = CoreSlot{};
  yields_before.fill(kMaxVirtualTime.timestamp);
  states.reset();
}

Attempt* TileState::latest_to_yield() const {
  Attempt *outside = nullptr, *inside = nullptr;
  for (std::uint32_t slot = 0; slot < cores; ++slot) {
    const Task* task = slots[slot].task;
    if (task == nullptr || task->attempt == nullptr) continue;
    Attempt*& latest = context.host.is_in_capsule(CoreId{first_core + slot}) ? inside : outside;
    if (latest == nullptr || latest->virtual_time < task->attempt->virtual_time) latest = task->attempt;
  }
  if (outside != nullptr) return outside;
  return states.in(CoreState::doomed) == 0 ? inside : nullptr;
}

}  // namespace rubato::chip
