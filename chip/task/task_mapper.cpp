// The mappers of task_mapper.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_mapper.hpp"

#include "base/error.hpp"

namespace rubato::chip {

TileId HashTaskMapper::tile_of(Locale locale) const {
  return TileId{static_cast<std::uint32_t>(mix64(locale ^ salt_) % tiles_)};
}

TileId HashTaskMapper::map(const TaskDescriptor& task, TileId) {
  if (tiles_ == 1) return TileId{0};
  if (task.has_place) return TileId{static_cast<std::uint32_t>(task.locale / cores_per_tile_ % tiles_)};
  return task.has_locale ? tile_of(task.locale) : TileId{static_cast<std::uint32_t>(rng_.below(tiles_))};
}

TileId RandomTaskMapper::map(const TaskDescriptor& task, TileId creator) {
  if (task.has_locale && task.type != TaskType::spec) return hash_.map(task, creator);
  return TileId{static_cast<std::uint32_t>(rng_.below(tiles_))};
}

std::unique_ptr<TaskMapper> make_task_mapper(const std::string& name, HashTaskMapper::Params params) {
  if (name == "hash") return std::make_unique<HashTaskMapper>(params);
  if (name == "random") return std::make_unique<RandomTaskMapper>(params);
  throw UsageError("task.mapper is '{}': expected hash or random", name);
}

}  // namespace rubato::chip
