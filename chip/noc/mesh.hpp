// The network on chip: a rectangular mesh with X-Y routing (C20, C22).
//
//   tile t       at column t % width, row t / width
//   link         a tile's way out to its neighbour in one direction; carries one flit a cycle
//   flit         link_bytes of a message; a message of b bytes has ceil(b / link_bytes), at least one
//   hop          the head flit takes `straight` cycles a link, `turn` on the link after a turn; other flits
//                follow one a cycle and hold each link for as many cycles as there are flits
// Without contention a message over h links arrives h * straight + (turn - straight if it turns) + flits - 1
// cycles after it was sent. Injection and ejection take no link: docs/memory-system.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/noc/calendar.hpp"
#include "chip/noc/network.hpp"

namespace rubato::chip {

class StatRegistry;

enum class Direction : std::uint8_t { east, west, south, north };
inline constexpr unsigned kDirections = 4;

class Mesh final : public Network {
 public:
  /// width * height tiles, each at least 1; link_bytes >= 1; straight, turn in cycles, turn >= straight >= 1.
  struct Params {
    std::uint32_t width, height;
    std::uint32_t link_bytes = 16;
    std::uint32_t straight = 1, turn = 2;
    bool contention = true;
  };
  explicit Mesh(Params params);

  Cycle send(TileId from, TileId to, Message message, Cycle now) override;
  std::uint32_t multicast(TileId from, const TileSet& to, Message message, Cycle now,
                          std::span<Cycle> arrivals) override;

  std::uint32_t tiles() const { return tiles_; }
  /// Links between two tiles.
  std::uint32_t hops(TileId from, TileId to) const;
  /// Bytes of messages sent so far, by class; messages within a tile do not count.
  std::uint64_t bytes(TrafficClass traffic) const { return bytes_[static_cast<unsigned>(traffic)]; }
  /// Flits that `tile`'s link towards `direction` has carried.
  std::uint64_t flits(TileId tile, Direction direction) const { return flits_[link(tile.value, direction)]; }
  /// Registers net.bytes.CLASS, net.messages and tile.T.link.DIRECTION.flits.
  void register_stats(StatRegistry& registry) const;

 private:
  struct Place {
    std::int32_t column, row;
    std::uint32_t first_south;  // the link south of its column's first tile
  };
  struct Reach {
    std::uint32_t south = 0, north = 0;
  };
  /// Links on a way lie side by side, in a few host cache lines: rows of tiles for east and west, columns for
  /// south and north.
  std::uint32_t link(std::uint32_t tile, Direction d) const {
    if (d == Direction::east || d == Direction::west) return static_cast<unsigned>(d) * tiles_ + tile;
    const Place& place = places_[tile];
    return place.first_south + static_cast<std::uint32_t>(place.row) + (d == Direction::north ? tiles_ : 0);
  }
  std::uint32_t flits_of(std::uint32_t bytes) const {
    return bytes == 0 ? 1 : (bytes + params_.link_bytes - 1) / params_.link_bytes;
  }
  template <bool contention>
  Cycle travel(TileId from, TileId to, const RunLength& run, Cycle now);
  /// A multicast's way along one direction: books the links until every tile of `to` on it is served, and
  /// says of each router on the way when the head is there.
  template <Direction d, class AtRouter>
  std::uint32_t go_along(TileId from, std::uint32_t links, const RunLength& run, Cycle head,
                         const AtRouter& at_router);
  std::uint32_t go_down(TileId from, const TileSet& to, const RunLength& run, Cycle head, bool turns,
                        std::span<Cycle> arrivals);
  Cycle travel_unusually(TileId from, TileId to, std::uint32_t bytes, Cycle now);
  bool has_link(std::uint32_t tile, Direction d) const;

  Params params_;
  std::uint32_t tiles_;
  Calendars calendars_;  // of links
  std::vector<std::uint64_t> flits_;
  std::vector<Place> places_;  // of tiles
  std::vector<Reach> reach_;   // of multicast(): links that it takes in each column
  std::uint64_t bytes_[kTrafficClasses] = {};
  std::uint64_t messages_ = 0;
  static constexpr std::uint32_t kSmall = 128;  // longer than any message but those of tests
  RunLength small_[kSmall];                     // flits by bytes
};

/// The mesh of a resolved configuration.
std::unique_ptr<Mesh> make_mesh(const Config& config);

/// The tile to which memory controller `index` of `controllers` is attached. The border's tiles are numbered
/// clockwise from tile 0 (top row eastward, right column downward, ...); controller k of n takes number
/// floor((2k + 1) * border / 2n), which puts four controllers at the middles of the four edges.
TileId controller_tile(std::uint32_t width, std::uint32_t height, std::uint32_t index,
                       std::uint32_t controllers);

}  // namespace rubato::chip
