// A network of nodes and links between them: a ring with chords, in which every node knows the first link of
// a shortest way to every other.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace rubato::workloads::sim {

constexpr unsigned kLinks = 4;  // of a node, outgoing

struct Link {
  std::uint32_t to;                    ///< node
  std::uint32_t nanoseconds_byte_256;  ///< to send a byte, in 256ths of a nanosecond
  std::uint32_t delay;                 ///< from one end to the other, in nanoseconds
};

class Network {
 public:
  /// `nodes`: at least 2.
  Network(unsigned nodes, std::uint64_t seed);
  unsigned nodes() const { return nodes_; }
  const Link& link(unsigned node, unsigned number) const { return links_[node][number]; }
  /// The number of the link towards `destination`, another node.
  unsigned route(unsigned node, unsigned destination) const {
    return routes_[std::size_t{node} * nodes_ + destination];
  }

 private:
  void find_routes(unsigned destination);

  unsigned nodes_;
  std::vector<std::array<Link, kLinks>> links_;
  std::vector<std::uint8_t> routes_;  ///< of node and destination
};

}  // namespace rubato::workloads::sim
