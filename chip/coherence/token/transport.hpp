// How messages of the token protocols get to their places: their ways on the network, the events in which
// they arrive, and their statistics. The meaning of a message is the receiver's.
//
//   flight       a message on its way, in `flights` until it was delivered
//   warming      messages are delivered at once, in the order in which they were sent
//   observed     the first message of a transaction is shown when it is sent, each one when it arrives
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "chip/coherence/home_map.hpp"
#include "chip/coherence/message_observer.hpp"
#include "chip/coherence/token/flights.hpp"
#include "chip/coherence/warming.hpp"
#include "chip/config/config.hpp"
#include "chip/noc/network.hpp"
#include "chip/time/timeline.hpp"

namespace rubato::chip {

class StatRegistry;

class MessageReceiver {
 public:
  /// The message is where it goes to. `flight` is its own until it returns.
  virtual void deliver(Flight& flight) = 0;

 protected:
  ~MessageReceiver() = default;
};

class Transport final : private EventHandler {
 public:
  struct Ports {
    Network& network;
    Timeline& timeline;
    const HomeMap& homes;
    const Warming& warming;
    MessageReceiver& receiver;
  };
  Transport(const Config& config, const Ports& ports);

  /// Sends a message of a node at `from`, which `cause` led to.
  void send(const Flight& cause, const TokenMessage& m, TileId from, TileId to);
  /// The same to each of `to`, as agents, by one message of the network.
  void send_to_all(const Flight& cause, const TokenMessage& m, TileId from, const TileSet& to);
  /// A message without a flight of its own, which a conflict check sends. @returns when it is there.
  Cycle send_word(TileId from, TileId to, Cycle at) {
    return network_.send(from, to, {message::kRequest, TrafficClass::coherence}, at);
  }

  // ---- The parts of a sending ----
  /// A transaction begins with this flight, unless it belongs to one.
  void begin(Flight& flight, TileId from) {
    if (observer_ != nullptr && !warming_.is_on() && flight.transaction == 0) show_begin(flight, from);
  }
  /// Moves its clock to `until`, which counts as time spent in `part`; warming takes none.
  void spend(Flight& flight, std::uint32_t AccessParts::*part, Cycle until) const {
    if (!warming_.is_on()) flight.spend(part, until);
  }
  /// Moves its clock to when it is there, and counts it; not while warming.
  void book_way(Flight& flight, TileId from, TileId to);
  /// To each of `to`, by one message of the network. @returns when it is there, by tile, until the next call;
  /// not while warming.
  std::span<const Cycle> book_multicast(const Flight& flight, TileId from, const TileSet& to);
  /// The flight of this number, whose way is booked, is delivered when its clock says so.
  void arrive(std::uint32_t index);

  /// Delivers what was sent while warming, and what that makes nodes send. False: nothing was.
  bool drain();
  /// The cycle of the event that runs; 0 while warming.
  Cycle now() const { return warming_.is_on() ? Cycle{} : timeline_.now(); }

  void observe(MessageObserver& observer) { observer_ = &observer; }
  /// Registers coherence.messages.* and coherence.flit_hops.*.
  void register_stats(StatRegistry& registry) const;

  FlightPool flights;

 private:
  struct Place {
    std::uint16_t column, row;
  };
  void on_event(Cycle, std::uint32_t, std::uint64_t index) override {
    deliver(static_cast<std::uint32_t>(index));
  }
  void deliver(std::uint32_t index) {
    receiver_.deliver(flights[index]);
    flights.release(index);
  }
  void count(const TokenMessage& m, TrafficClass traffic, std::uint32_t hops) {
    ++messages_[static_cast<unsigned>(m.kind)];
    flit_hops_[static_cast<unsigned>(traffic)] +=
        std::uint64_t{hops} * (m.has_data ? data_flits_ : word_flits_);
  }
  static TrafficClass traffic_of_flight(const Flight& flight) {
    return flight.is_rollback ? TrafficClass::abort : traffic_of(flight.message);
  }
  void show_begin(Flight& flight, TileId from);
  void show(const Flight& flight, TileId at, SeenMessage::Node node, bool is_sent) const;

  Network& network_;
  Timeline& timeline_;
  const HomeMap& homes_;
  const Warming& warming_;
  MessageReceiver& receiver_;
  MessageObserver* observer_ = nullptr;
  std::uint32_t word_flits_, data_flits_;  // of messages without and with data
  std::vector<Place> places_;              // of tiles
  std::vector<Cycle> arrivals_;            // of book_multicast()
  std::deque<std::uint32_t> immediate_;    // of warming: flights
  std::uint64_t transactions_ = 0;
  std::uint64_t messages_[kTokenMessageKinds] = {}, flit_hops_[kTrafficClasses] = {};
};

}  // namespace rubato::chip
