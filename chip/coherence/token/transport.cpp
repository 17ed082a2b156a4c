// See transport.hpp.
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/transport.hpp"

#include <fmt/format.h>

#include "chip/stats/registry.hpp"

namespace rubato::chip {

namespace {
constexpr auto kWayPart = &AccessParts::network;

std::uint32_t flits(std::uint32_t bytes, const Config& config) {
  return (bytes + config.net.link_bytes - 1) / config.net.link_bytes;
}
}  // namespace

Transport::Transport(const Config& config, const Ports& ports)
    : network_(ports.network),
      timeline_(ports.timeline),
      homes_(ports.homes),
      warming_(ports.warming),
      receiver_(ports.receiver),
      word_flits_(flits(bytes_of({.has_data = false}), config)),
      data_flits_(flits(bytes_of({.has_data = true}), config)),
      arrivals_(config.tiles()) {
  for (std::uint32_t t = 0; t < config.tiles(); ++t)
    places_.push_back({static_cast<std::uint16_t>(t % config.chip.mesh_width),
                       static_cast<std::uint16_t>(t / config.chip.mesh_width)});
}

void Transport::send(const Flight& cause, const TokenMessage& m, TileId from, TileId to) {
  const std::uint32_t index = flights.add(cause);
  Flight& flight = flights[index];
  flight.message = m;
  if (!warming_.is_on()) {
    begin(flight, from);
    book_way(flight, from, to);
  }
  arrive(index);
}

void Transport::send_to_all(const Flight& cause, const TokenMessage& m, TileId from, const TileSet& to) {
  Flight flight = cause;
  flight.message = m;
  begin(flight, from);
  const std::span<const Cycle> arrivals = book_multicast(flight, from, to);
  to.for_each([&](TileId t) {
    const std::uint32_t index = flights.add(flight);
    Flight& copy = flights[index];
    copy.message.agent = static_cast<std::uint16_t>(t.value);
    spend(copy, kWayPart, arrivals[t.value]);
    arrive(index);
  });
}

void Transport::book_way(Flight& flight, TileId from, TileId to) {
  const TokenMessage& m = flight.message;
  const TrafficClass traffic = traffic_of_flight(flight);
  if (from == to) return count(m, traffic, 0);
  const auto distance = [](std::uint32_t a, std::uint32_t b) { return a < b ? b - a : a - b; };
  const Place a = places_[from.value], b = places_[to.value];
  count(m, traffic, distance(a.column, b.column) + distance(a.row, b.row));
  flight.spend(kWayPart, network_.send(from, to, {bytes_of(m), traffic}, flight.at));
}

std::span<const Cycle> Transport::book_multicast(const Flight& flight, TileId from, const TileSet& to) {
  if (warming_.is_on()) return arrivals_;
  const TokenMessage& m = flight.message;
  const TrafficClass traffic = traffic_of_flight(flight);
  count(m, traffic, network_.multicast(from, to, {bytes_of(m), traffic}, flight.at, arrivals_));
  return arrivals_;
}

void Transport::arrive(std::uint32_t index) {
  if (warming_.is_on()) return immediate_.push_back(index);
  const Flight& flight = flights[index];
  if (observer_ != nullptr) {
    using To = TokenMessage::To;
    using Node = SeenMessage::Node;
    const To to = flight.message.to;
    const TileId at = to == To::agent  ? TileId{flight.message.agent}
                      : to == To::home ? homes_.home_of(flight.line)
                                       : homes_.controller_tile_of(flight.line);
    show(flight, at, to == To::agent ? Node::tile : to == To::home ? Node::home : Node::memory, false);
  }
  timeline_.schedule(flight.at, this, 0, index);
}

bool Transport::drain() {
  const bool were_some = !immediate_.empty();
  while (!immediate_.empty()) {
    const std::uint32_t index = immediate_.front();
    immediate_.pop_front();
    deliver(index);
  }
  return were_some;
}

void Transport::show_begin(Flight& flight, TileId from) {
  flight.transaction = ++transactions_;
  const bool is_homes = flight.message.from == TokenMessage::kHome;  // it takes copies back
  show(flight, from, is_homes ? SeenMessage::Node::home : SeenMessage::Node::tile, true);
}

void Transport::show(const Flight& flight, TileId at, SeenMessage::Node node, bool is_sent) const {
  observer_->on_message({.transaction = flight.transaction,
                         .kind = name_of(flight.message.kind),
                         .line = flight.line,
                         .at = at,
                         .node = node,
                         .when = flight.at,
                         .is_sent = is_sent});
}

void Transport::register_stats(StatRegistry& registry) const {
  for (unsigned k = 0; k < kTokenMessageKinds; ++k)
    registry.counter(fmt::format("coherence.messages.{}", name_of(static_cast<TokenMessage::Kind>(k))),
                     "messages", "coherence messages of this kind", &messages_[k]);
  for (const TrafficClass c : {TrafficClass::memory, TrafficClass::abort, TrafficClass::coherence})
    registry.counter(fmt::format("coherence.flit_hops.{}", name_of(c)), "flits",
                     "flits of coherence messages, each counted on every link of its way",
                     &flit_hops_[static_cast<unsigned>(c)]);
}

}  // namespace rubato::chip
