// The names of the network's statistics (C22, link load of C24).
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/noc/mesh.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

void Mesh::register_stats(StatRegistry& registry) const {
  for (unsigned c = 0; c < kTrafficClasses; ++c)
    registry.counter(fmt::format("net.bytes.{}", name_of(static_cast<TrafficClass>(c))), "bytes",
                     "bytes of messages between tiles, by traffic class", &bytes_[c]);
  registry.counter("net.messages", "messages", "messages between tiles", &messages_);
  constexpr std::string_view names[] = {"east", "west", "south", "north"};
  for (std::uint32_t t = 0; t < tiles(); ++t)
    for (unsigned d = 0; d < kDirections; ++d)
      if (has_link(t, static_cast<Direction>(d)))
        registry.counter(fmt::format("tile.{}.link.{}.flits", t, names[d]), "flits",
                         "flits carried by the tile's link in this direction: its load a cycle",
                         &flits_[link(t, static_cast<Direction>(d))]);
}

}  // namespace rubato::chip
