// Routing and booking of messages on the mesh (C20).
// SPDX-License-Identifier: MIT
#include "chip/noc/mesh.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace rubato::chip {

Mesh::Mesh(Params params)
    : params_(params),
      tiles_(params.width * params.height),
      calendars_(params.width * params.height * kDirections),
      flits_(std::size_t{params.width} * params.height * kDirections),
      reach_(params.width) {
  RUBATO_CHECK(params.width >= 1 && params.height >= 1 && params.link_bytes >= 1);
  RUBATO_CHECK(params.straight >= 1 && params.turn >= params.straight);
  for (std::uint32_t bytes = 0; bytes < kSmall; ++bytes) small_[bytes] = RunLength{flits_of(bytes)};
  for (std::uint32_t t = 0; t < tiles(); ++t) {
    const std::uint32_t column = t % params.width;
    places_.push_back({static_cast<std::int32_t>(column), static_cast<std::int32_t>(t / params.width),
                       2 * tiles() + column * params.height});
  }
}

Cycle Mesh::send(TileId from, TileId to, Message message, Cycle now) {
  if (from == to) return now;
  RUBATO_DCHECK(from.value < tiles() && to.value < tiles());
  bytes_[static_cast<unsigned>(message.traffic)] += message.bytes;
  ++messages_;
  if (message.bytes >= kSmall || !params_.contention) return travel_unusually(from, to, message.bytes, now);
  return travel<true>(from, to, small_[message.bytes], now);
}

// Both legs in one loop, and a branch-free turn: the next message's way is unpredictable for the host.
template <bool contention>
inline Cycle Mesh::travel(TileId from, TileId to, const RunLength& run, Cycle now) {
  const std::uint32_t flits = run.length(), straight = params_.straight, turn = params_.turn - straight;
  const Place &start = places_[from.value], &end = places_[to.value];
  const std::int32_t dx = end.column - start.column, dy = end.row - start.row;
  // All ones where it goes west, or north; then the first link of each leg, as link() numbers them.
  const auto west = static_cast<std::uint32_t>(dx >> 31), north = static_cast<std::uint32_t>(dy >> 31);
  const std::uint32_t across = from.value + (tiles_ & west);
  const std::uint32_t down = end.first_south + static_cast<std::uint32_t>(start.row) + (tiles_ & north);
  const std::uint32_t step_across = west | 1, step_down = north | 1;
  std::uint32_t before_turn = (static_cast<std::uint32_t>(dx) ^ west) - west;
  std::uint32_t hops = before_turn + ((static_cast<std::uint32_t>(dy) ^ north) - north);

  // Increments at the turn: from the link behind the last one across.
  const std::uint32_t jump = down - across - static_cast<std::uint32_t>(dx),
                      step_turn = step_down - step_across;
  std::uint32_t turns = before_turn == 0 ? ~0U : 0;  // all ones
  std::uint32_t link = across + (jump & turns), step = step_across + (step_turn & turns);
  std::uint64_t* const carried = flits_.data();
  for (Cycle head = now;;) {
    carried[link] += flits;
    if (contention) head = calendars_.book(link, head, run);
    head += straight;
    if (--hops == 0) return head + (flits - 1);
    turns = 0U - static_cast<std::uint32_t>(--before_turn == 0);
    link += step + (jump & turns);
    step += step_turn & turns;
    head += turn & turns;
  }
}

[[gnu::noinline]] Cycle Mesh::travel_unusually(TileId from, TileId to, std::uint32_t bytes, Cycle now) {
  const RunLength run{flits_of(bytes)};
  return params_.contention ? travel<true>(from, to, run, now) : travel<false>(from, to, run, now);
}

template <Direction d, class AtRouter>
std::uint32_t Mesh::go_along(TileId from, std::uint32_t links, const RunLength& run, Cycle head,
                             const AtRouter& at_router) {
  constexpr bool is_back = d == Direction::west || d == Direction::north;
  constexpr bool is_across = d == Direction::east || d == Direction::west;
  const std::uint32_t step = is_across ? 1 : params_.width;
  std::uint32_t tile = from.value;
  for (std::uint32_t i = 0; i < links; ++i) {
    const std::uint32_t l = link(tile, d);
    flits_[l] += run.length();
    if (params_.contention) head = calendars_.book(l, head, run);
    head += params_.straight;
    tile = is_back ? tile - step : tile + step;
    at_router(TileId{tile}, head);
  }
  return links;
}

/// From a router of the sender's row to the tiles of `to` in its column.
std::uint32_t Mesh::go_down(TileId from, const TileSet& to, const RunLength& run, Cycle head, bool turns,
                            std::span<Cycle> arrivals) {
  const Reach reach = reach_[static_cast<std::uint32_t>(places_[from.value].column)];
  const auto arrive = [&](TileId t, Cycle at) {
    if (to.has(t)) arrivals[t.value] = at + (run.length() - 1);
  };
  if (turns) head += params_.turn - params_.straight;
  return go_along<Direction::south>(from, reach.south, run, head, arrive) +
         go_along<Direction::north>(from, reach.north, run, head, arrive);
}

// Along the sender's row first, as every message; a copy leaves at each column that has one of the tiles.
std::uint32_t Mesh::multicast(TileId from, const TileSet& to, Message message, Cycle now,
                              std::span<Cycle> arrivals) {
  if (to.count() == 1) {  // as often as not
    TileId only{};
    to.for_each([&](TileId t) { only = t; });
    arrivals[only.value] = send(from, only, message, now);
    return hops(from, only);
  }
  const RunLength run = message.bytes < kSmall ? small_[message.bytes] : RunLength{flits_of(message.bytes)};
  const Place start = places_[from.value];
  std::fill(reach_.begin(), reach_.end(), Reach{});
  std::uint32_t east = 0, west = 0;
  to.for_each([&](TileId t) {
    const Place& end = places_[t.value];
    const std::int32_t dx = end.column - start.column, dy = end.row - start.row;
    if (dx > 0) east = std::max(east, static_cast<std::uint32_t>(dx));
    if (dx < 0) west = std::max(west, static_cast<std::uint32_t>(-dx));
    Reach& reach = reach_[static_cast<std::uint32_t>(end.column)];
    if (dy > 0) reach.south = std::max(reach.south, static_cast<std::uint32_t>(dy));
    if (dy < 0) reach.north = std::max(reach.north, static_cast<std::uint32_t>(-dy));
  });
  if (to.has(from)) arrivals[from.value] = now;
  std::uint32_t links = go_down(from, to, run, now, false, arrivals);
  const auto at_column = [&](TileId t, Cycle head) {
    if (to.has(t)) arrivals[t.value] = head + (run.length() - 1);
    links += go_down(t, to, run, head, true, arrivals);
  };
  const std::uint32_t eastward = go_along<Direction::east>(from, east, run, now, at_column);
  const std::uint32_t westward = go_along<Direction::west>(from, west, run, now, at_column);
  links += eastward + westward;
  if (links != 0) {
    bytes_[static_cast<unsigned>(message.traffic)] += message.bytes;
    ++messages_;
  }
  return links;
}

std::uint32_t Mesh::hops(TileId from, TileId to) const {
  const Place &start = places_[from.value], &end = places_[to.value];
  const auto distance = [](std::int32_t a, std::int32_t b) {
    return static_cast<std::uint32_t>(a < b ? b - a : a - b);
  };
  return distance(start.column, end.column) + distance(start.row, end.row);
}

bool Mesh::has_link(std::uint32_t tile, Direction d) const {
  switch (d) {
    case Direction::east:
      return places_[tile].column + 1U < params_.width;
    case Direction::west:
      return places_[tile].column > 0;
    case Direction::south:
      return places_[tile].row + 1U < params_.height;
    case Direction::north:
      return places_[tile].row > 0;
  }
  return false;
}

std::unique_ptr<Mesh> make_mesh(const Config& config) {
  RUBATO_CHECK(config.chip.mesh_width * config.chip.mesh_height == config.tiles(),
               "configuration is resolved");
  return std::make_unique<Mesh>(Mesh::Params{.width = config.chip.mesh_width,
                                             .height = config.chip.mesh_height,
                                             .link_bytes = config.net.link_bytes,
                                             .straight = config.net.straight,
                                             .turn = config.net.turn,
                                             .contention = config.net.contention});
}

TileId controller_tile(std::uint32_t width, std::uint32_t height, std::uint32_t index,
                       std::uint32_t controllers) {
  RUBATO_CHECK(width >= 1 && height >= 1 && index < controllers);
  const std::uint32_t border = width == 1 ? height : (height == 1 ? width : 2 * (width + height) - 4);
  std::uint32_t number =
      static_cast<std::uint32_t>(std::uint64_t{2 * index + 1} * border / (2 * controllers));
  if (number < width) return TileId{number};
  number -= width;  // right column, below its first tile
  if (number < height - 1) return TileId{(number + 1) * width + width - 1};
  number -= height - 1;  // bottom row, westward
  if (number < width - 1) return TileId{(height - 1) * width + (width - 2 - number)};
  number -= width - 1;  // left column, upward
  return TileId{(height - 2 - number) * width};
}

}  // namespace rubato::chip
