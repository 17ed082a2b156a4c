// SPDX-License-Identifier: MIT
#include "apps/nocsim/network.hpp"

#include "base/rng.hpp"

namespace rubato::apps::nocsim {

Schedule random_schedule(const Network& network, Traffic traffic, std::uint64_t cycles,
                         std::uint32_t load_percent, std::uint64_t seed) {
  const std::uint32_t width = network.width, offset = (width + 1) / 2 - 1;
  Rng rng(seed);
  Schedule schedule;
  for (std::uint32_t source = 0; source < network.routers(); ++source) {
    schedule.first.push_back(static_cast<std::uint32_t>(schedule.injections.size()));
    const std::uint32_t row = source / width * width;
    for (std::uint64_t cycle = 0; cycle < cycles; ++cycle) {
      if (rng.below(std::uint64_t{100} * kFlits) >= load_percent) continue;
      const std::uint32_t destination = traffic == Traffic::uniform
                                            ? static_cast<std::uint32_t>(rng.below(network.routers()))
                                            : row + (source - row + offset) % width;
      schedule.injections.push_back({cycle, destination});
    }
  }
  schedule.first.push_back(static_cast<std::uint32_t>(schedule.injections.size()));
  return schedule;
}

std::uint64_t total_latency(const Schedule& schedule, const Arrivals& arrivals) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) sum += arrivals[i] - schedule.injections[i].cycle;
  return sum;
}

std::uint64_t checksum(const Arrivals& arrivals) {
  std::uint64_t sum = arrivals.size();
  for (const std::uint64_t cycle : arrivals) sum = mix64(sum ^ cycle);
  return sum;
}

}  // namespace rubato::apps::nocsim
