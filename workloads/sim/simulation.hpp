// Packets that cross a network, simulated event by event. Each node makes packets for others at random times
// and answers those that it receives; each link sends one packet at a time, and others wait for it in a
// queue, which drops packets that it has no room for. `Events`: EventHeap or PlainEvents.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rng.hpp"
#include "workloads/sim/event_list.hpp"
#include "workloads/sim/network.hpp"

namespace rubato::workloads::sim {

struct Sizes {
  unsigned nodes = 1024;
  unsigned packets = 256;  ///< that each node has made when the simulation begins
  unsigned queue = 128;    ///< packets that a queue has room for
};

struct Totals {
  std::uint64_t sent = 0, received = 0, dropped = 0;
  std::uint64_t checksum = 0;  ///< of all arrivals at nodes, in their order: which packet, where, when
  bool operator==(const Totals&) const = default;
};

template <class Events>
class Simulation {
 public:
  Simulation(const Sizes& sizes, std::uint64_t seed);
  /// So many more events.
  void run(std::uint64_t events);
  const Totals& totals() const { return totals_; }
  /// Packets that are on a link or wait for one, counted one by one.
  std::uint64_t in_flight() const;

 private:
  static constexpr std::uint32_t kNone = ~0U;

  /// With its headers, as a simulator keeps them.
  struct Packet {
    std::uint64_t number;
    Time made;
    std::uint32_t source, destination;
    std::uint32_t bytes, hops;
    std::uint32_t next;  ///< in a queue, or of those that are free
    std::array<std::uint32_t, 23> headers;
  };
  static_assert(sizeof(Packet) == 128);
  struct Queue {
    std::uint32_t first = kNone, last = kNone, length = 0;
    bool is_busy = false;  ///< the link sends a packet
    std::uint64_t bytes = 0;
  };
  struct Node {
    explicit Node(std::uint64_t seed) : rng(seed) {}
    Rng rng;
    std::array<Queue, kLinks> queues;
    std::uint64_t received = 0, delay = 0;
  };

  void announce(Time time, Happening happening, std::uint32_t at, std::uint32_t link, std::uint32_t packet);
  /// For `destination`, or for a node that is drawn.
  void make_packet(std::uint32_t node, std::optional<std::uint32_t> destination);
  void arrive(std::uint32_t node, std::uint32_t packet);
  void forward(std::uint32_t node, std::uint32_t packet);
  void send(std::uint32_t node, std::uint32_t link, std::uint32_t packet);
  void link_is_free(std::uint32_t node, std::uint32_t link);
  std::uint32_t take_packet();
  void give_back(std::uint32_t packet);

  unsigned room_;  ///< of a queue
  Network network_;
  std::vector<Node> nodes_;
  std::vector<Packet> packets_;
  std::uint32_t free_ = kNone;  ///< the first of the free packets
  Events events_;
  Time now_ = 0;
  std::uint64_t announced_ = 0;
  Totals totals_;
};

extern template class Simulation<EventHeap>;
extern template class Simulation<PlainEvents>;

}  // namespace rubato::workloads::sim
