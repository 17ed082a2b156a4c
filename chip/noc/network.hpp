// The network on chip as its users see it: a message goes from tile to tile and arrives at a cycle.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "chip/vocabulary/message.hpp"
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
  /// One message to every tile of `to` (bit t: tile t, below 64): routers copy it where ways part, so each
  /// link carries it once, and its bytes count once (K25). Fills arrivals[t]; @returns the links that carry
  /// it.
  virtual std::uint32_t multicast(TileId from, std::uint64_t to, Message message, Cycle now,
                                  std::array<Cycle, 64>& arrivals) {
    // Where nothing is known of ways: a message each.
    std::uint32_t messages = 0;
    for (std::uint32_t t = 0; t < 64; ++t)
      if ((to >> t & 1) != 0) arrivals[t] = send(from, TileId{t}, message, now), ++messages;
    return messages;
  }
};

}  // namespace rubato::chip
