// SPDX-License-Identifier: MIT
#include "workloads/sim/network.hpp"

#include <utility>

#include "base/rng.hpp"

namespace rubato::workloads::sim {

namespace {

constexpr std::uint8_t kNoRoute = kLinks;

}  // namespace

// Links come in pairs, one in each direction: number 0 of a node with number 1 of the next one on the ring,
// and number 2 or 3 with that of the node that shares a chord. Nodes are drawn into pairs for the chords
// twice.
Network::Network(unsigned nodes, std::uint64_t seed)
    : nodes_(nodes), links_(nodes), routes_(std::size_t{nodes} * nodes, kNoRoute) {
  Rng rng(seed);
  const auto connect = [&](unsigned a, unsigned number_a, unsigned b, unsigned number_b) {
    const auto speed = static_cast<std::uint32_t>(64 + rng.below(192));  // 1 to 4 bytes a nanosecond
    const auto delay = static_cast<std::uint32_t>(1000 + rng.below(20000));
    links_[a][number_a] = {b, speed, delay};
    links_[b][number_b] = {a, speed, delay};
  };
  for (unsigned node = 0; node < nodes; ++node) connect(node, 0, (node + 1) % nodes, 1);
  for (unsigned number = 2; number < kLinks; ++number) {
    std::vector<unsigned> drawn(nodes);
    for (unsigned i = 0; i < nodes; ++i) drawn[i] = i;
    for (unsigned i = nodes; i > 1; --i) std::swap(drawn[i - 1], drawn[rng.below(i)]);
    for (unsigned i = 0; i + 1 < nodes; i += 2) connect(drawn[i], number, drawn[i + 1], number);
    if (nodes % 2 == 1) connect(drawn[nodes - 1], number, drawn[nodes - 1], number);  // to itself: never used
  }
  for (unsigned node = 0; node < nodes; ++node) find_routes(node);
}

// Breadth first from the destination: links have the same number of hops in both directions.
void Network::find_routes(unsigned destination) {
  std::vector<unsigned> reached{destination};
  std::vector<bool> is_reached(nodes_);
  is_reached[destination] = true;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const Link& out : links_[reached[i]]) {
      if (is_reached[out.to]) continue;
      is_reached[out.to] = true;
      reached.push_back(out.to);
      for (unsigned back = 0; back < kLinks; ++back)
        if (links_[out.to][back].to == reached[i])
          routes_[std::size_t{out.to} * nodes_ + destination] = static_cast<std::uint8_t>(back);
    }
}

}  // namespace rubato::workloads::sim
