// Choice of the tile for a new task, and only the choice: queues, time and messages belong to the task unit.
// Espresso, Sec. V-A "Locality-aware execution"; C9.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/rng.hpp"
#include "chip/vocabulary/task.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Contract for every mapper:
///   - tasks that may run non-speculatively and have one locale go to one tile for the whole run: mutual
///   exclusion
///     rests on it (C9);
///   - deterministic in (configuration, seed, sequence of calls);
///   - called once a created task; allocates nothing.
class TaskMapper {
 public:
  virtual ~TaskMapper() = default;
  /// The destination of `task`, created on tile `creator`; without a locale any tile is right.
  virtual TileId map(const TaskDescriptor& task, TileId creator) = 0;
};

/// Hashes locales over the tiles, sends a task with a place to the tile of that core, where nothing keeps it
/// from others of the place, and scatters all others: the publication's mapper, and the default.
class HashTaskMapper final : public TaskMapper {
 public:
  struct Params {
    std::uint32_t tiles;
    std::uint32_t cores_per_tile = 1;
    std::uint64_t seed;
  };
  explicit HashTaskMapper(Params p)
      : tiles_(p.tiles), cores_per_tile_(p.cores_per_tile), salt_(mix64(p.seed)), rng_(p.seed) {}
  TileId map(const TaskDescriptor& task, TileId creator) override;
  TileId tile_of(Locale locale) const;

 private:
  std::uint32_t tiles_, cores_per_tile_;
  std::uint64_t salt_;
  Rng rng_;
};

/// Ignores places and the locales of SPEC tasks, to show what placement is worth. SPEC tasks are atomic
/// without exclusion, but for what they share with non-speculative tasks of their locale, on another tile.
class RandomTaskMapper final : public TaskMapper {
 public:
  explicit RandomTaskMapper(HashTaskMapper::Params p) : hash_(p), tiles_(p.tiles), rng_(mix64(p.seed)) {}
  TileId map(const TaskDescriptor& task, TileId creator) override;

 private:
  HashTaskMapper hash_;
  std::uint32_t tiles_;
  Rng rng_;
};

/// @param name a value of task.mapper. @throws UsageError for any other.
std::unique_ptr<TaskMapper> make_task_mapper(const std::string& name, HashTaskMapper::Params params);

}  // namespace rubato::chip
