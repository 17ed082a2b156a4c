// SPDX-License-Identifier: MIT
#include "workloads/path/map.hpp"

#include <algorithm>

namespace rubato::workloads::path {

namespace {

constexpr unsigned kPatch = 16;        // fields of a side that have about the same cost
constexpr unsigned kWallPercent = 12;  // of the fields

}  // namespace

Map::Map(unsigned side, std::uint64_t seed) : side_(side), fields_(std::size_t{side} * side) {
  Rng rng(seed);
  const unsigned patches = (side + kPatch - 1) / kPatch;
  std::vector<std::uint8_t> ground(std::size_t{patches} * patches);
  for (auto& g : ground) g = static_cast<std::uint8_t>(1 + rng.below(7));
  for (unsigned y = 1; y + 1 < side; ++y)
    for (unsigned x = 1; x + 1 < side; ++x) {
      const bool is_wall = rng.below(100) < kWallPercent;
      const unsigned cost = ground[std::size_t{y / kPatch} * patches + x / kPatch] + unsigned(rng.below(3));
      fields_[std::size_t{y} * side + x].cost = is_wall ? 0 : static_cast<std::uint8_t>(cost);
    }
  fields_[std::size_t{1} * side + 1].cost = 1;  // at least one field is free
}

Journey draw_journey(const Map& map, unsigned span, Rng& rng) {
  const unsigned side = map.side();
  std::size_t start = 0;
  while (map[start].cost == 0) start = rng.below(map.fields());
  const auto near = [&](std::size_t at) {
    const std::size_t first = at > span ? at - span : 0, end = std::min<std::size_t>(at + span + 1, side);
    return first + rng.below(end - first);
  };
  std::size_t goal = 0;
  while (map[goal].cost == 0) {
    const std::size_t y = near(start / side), x = near(start % side);
    goal = y * side + x;
  }
  return {start, goal};
}

}  // namespace rubato::workloads::path
