// The network on chip as its users see it: a message goes from tile to tile and arrives at a cycle.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "chip/vocabulary/message.hpp"
#include "chip/vocabulary/sharers.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Contract:
///   - send() books the message on every link of its route and returns the cycle at which its last flit is at
///     `to`; a message to the sender's own tile takes no link, no time and counts no bytes;
///   - calls need not come in time order: links keep an occupancy calendar and a message takes the first gap
///   at
///     or after its arrival (C20);
///   - every byte sent is accounted to message.traffic (C22).
class Network {
 public:
  virtual ~Network() = default;
  virtual Cycle send(TileId from, TileId to, Message message, Cycle now) = 0;
  /// A message to every tile of `to`: routers copy it where ways part, so each link carries it once, and its
  /// bytes count once (K25). Fills arrivals[t] for those t; @returns the links that carry it.
  virtual std::uint32_t multicast(TileId from, const TileSet& to, Message message, Cycle now,
                                  std::span<Cycle> arrivals) {
    // A network that does not know its links sends a message to each tile.
    std::uint32_t messages = 0;
    to.for_each([&](TileId t) { arrivals[t.value] = send(from, t, message, now), ++messages; });
    return messages;
  }
};

}  // namespace rubato::chip
