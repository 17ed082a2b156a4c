// SPDX-License-Identifier: MIT
#include "workloads/sim/simulation.hpp"

namespace rubato::workloads::sim {

namespace {

constexpr Time kMeanPause = 1000000;  // of a node, between packets that it makes
constexpr std::uint32_t kLeastBytes = 64, kMostBytes = 1500;

}  // namespace

template <class Events>
Simulation<Events>::Simulation(const Sizes& sizes, std::uint64_t seed)
    : room_(sizes.queue), network_(sizes.nodes, seed) {
  nodes_.reserve(sizes.nodes);
  for (unsigned node = 0; node < sizes.nodes; ++node) nodes_.emplace_back(mix64(seed) + node);
  // The node of each packet is drawn, so that a node's packets are not side by side.
  Rng rng(seed + 1);
  for (std::uint64_t i = 0; i < std::uint64_t{sizes.nodes} * sizes.packets; ++i)
    make_packet(static_cast<std::uint32_t>(rng.below(sizes.nodes)), std::nullopt);
  for (unsigned node = 0; node < sizes.nodes; ++node)
    announce(rng.below(kMeanPause), Happening::packet_is_made, node, 0, kNone);
}

template <class Events>
void Simulation<Events>::run(std::uint64_t events) {
  for (; events > 0; --events) {
    const Event event = events_.pop_first();
    now_ = event.time;
    switch (event.happening) {
      case Happening::packet_is_made: {
        make_packet(event.at, std::nullopt);
        const Time pause = 1 + nodes_[event.at].rng.below(2 * kMeanPause);
        announce(now_ + pause, Happening::packet_is_made, event.at, 0, kNone);
        break;
      }
      case Happening::packet_arrives:
        arrive(event.at, event.packet);
        break;
      case Happening::link_is_free:
        link_is_free(event.at, event.link);
        break;
    }
  }
}

template <class Events>
void Simulation<Events>::announce(Time time, Happening happening, std::uint32_t at, std::uint32_t link,
                                  std::uint32_t packet) {
  events_.push({time, announced_++, happening, at, link, packet});
}

template <class Events>
void Simulation<Events>::make_packet(std::uint32_t node, std::optional<std::uint32_t> destination) {
  Rng& rng = nodes_[node].rng;
  const std::uint32_t packet = take_packet();
  const auto other = static_cast<std::uint32_t>(rng.below(network_.nodes() - 1));
  Packet& p = packets_[packet];
  p = {.number = totals_.sent++,
       .made = now_,
       .source = node,
       .destination = destination.value_or(other < node ? other : other + 1),
       .bytes = kLeastBytes + static_cast<std::uint32_t>(rng.below(kMostBytes - kLeastBytes + 1)),
       .hops = 0,
       .next = kNone,
       .headers = {}};
  p.headers.front() = p.source ^ p.destination;
  forward(node, packet);
}

template <class Events>
void Simulation<Events>::arrive(std::uint32_t node, std::uint32_t packet) {
  Packet& p = packets_[packet];
  ++p.hops;
  totals_.checksum = mix64(totals_.checksum ^ p.number) ^ mix64(now_ + node);
  p.headers[p.hops % p.headers.size()] ^= node;
  if (p.destination != node) return forward(node, packet);
  Node& n = nodes_[node];
  ++n.received;
  n.delay += now_ - p.made;
  ++totals_.received;
  const std::uint32_t source = p.source;
  give_back(packet);
  make_packet(node, source);
}

template <class Events>
void Simulation<Events>::forward(std::uint32_t node, std::uint32_t packet) {
  Packet& p = packets_[packet];
  const std::uint32_t link = network_.route(node, p.destination);
  Queue& queue = nodes_[node].queues[link];
  if (!queue.is_busy) return send(node, link, packet);
  if (queue.length == room_) {
    ++totals_.dropped;
    return give_back(packet);
  }
  p.next = kNone;
  (queue.length++ == 0 ? queue.first : packets_[queue.last].next) = packet;
  queue.last = packet;
}

template <class Events>
void Simulation<Events>::send(std::uint32_t node, std::uint32_t link, std::uint32_t packet) {
  const Link& l = network_.link(node, link);
  Queue& queue = nodes_[node].queues[link];
  const std::uint32_t bytes = packets_[packet].bytes;
  const Time sent = now_ + (Time{bytes} * l.nanoseconds_byte_256 + 255) / 256;
  queue.is_busy = true;
  queue.bytes += bytes;
  announce(sent, Happening::link_is_free, node, link, kNone);
  announce(sent + l.delay, Happening::packet_arrives, l.to, link, packet);
}

template <class Events>
void Simulation<Events>::link_is_free(std::uint32_t node, std::uint32_t link) {
  Queue& queue = nodes_[node].queues[link];
  queue.is_busy = false;
  if (queue.length == 0) return;
  const std::uint32_t packet = queue.first;
  queue.first = packets_[packet].next;
  --queue.length;
  send(node, link, packet);
}

template <class Events>
std::uint32_t Simulation<Events>::take_packet() {
  if (free_ == kNone) {
    packets_.emplace_back();
    return static_cast<std::uint32_t>(packets_.size() - 1);
  }
  const std::uint32_t packet = free_;
  free_ = packets_[packet].next;
  return packet;
}

template <class Events>
void Simulation<Events>::give_back(std::uint32_t packet) {
  packets_[packet].next = free_;
  free_ = packet;
}

template <class Events>
std::uint64_t Simulation<Events>::in_flight() const {
  std::uint64_t packets = 0;
  events_.for_each(
      [&](const Event& event) { packets += event.happening == Happening::packet_arrives ? 1 : 0; });
  for (const Node& node : nodes_)
    for (const Queue& queue : node.queues) {
      std::uint32_t packet = queue.first;
      for (std::uint32_t i = 0; i < queue.length; ++i, packet = packets_[packet].next) ++packets;
    }
  return packets;
}

template class Simulation<EventHeap>;
template class Simulation<PlainEvents>;

}  // namespace rubato::workloads::sim
