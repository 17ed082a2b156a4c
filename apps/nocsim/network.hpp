// A mesh of wormhole routers, its traffic and the fate of each packet: the common part of nocsim's tasks and
// its serial reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace rubato::apps::nocsim {

inline constexpr std::uint32_t kFlits = 5;  // of a packet

enum class Traffic : std::uint32_t {
  tornado,  ///< to the router half a row further, less one, around the end of the row
  uniform,  ///< to a random router
};

struct Network {
  std::uint32_t width = 1, height = 1;
  std::uint32_t routers() const { return width * height; }
};

struct Injection {
  std::uint64_t cycle = 0;
  std::uint32_t destination = 0;
};

/// Packets that the sources send, in the order of cycles.
struct Schedule {
  std::vector<Injection> injections;  // source by source
  std::vector<std::uint32_t> first;   // of each source, in `injections`; one more is their end
};

/// In every one of `cycles` cycles each router sends a packet at random, so that all flits are `load_percent`
/// of its links' capacity.
Schedule random_schedule(const Network& network, Traffic traffic, std::uint64_t cycles,
                         std::uint32_t load_percent, std::uint64_t seed);

/// The cycle in which the last flit of each packet left the network, in the order of injections.
using Arrivals = std::vector<std::uint64_t>;

/// The sum of the cycles from the injection to the arrival.
std::uint64_t total_latency(const Schedule& schedule, const Arrivals& arrivals);
std::uint64_t checksum(const Arrivals& arrivals);

}  // namespace rubato::apps::nocsim
