// A wormhole router: five ports, four virtual channels of four flits, X-Y routing, credits, round robin. One
// cycle is step(). It touches only the router, so a router is a locale.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/nocsim/network.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::nocsim {

enum Port : std::uint32_t { kEast, kWest, kNorth, kSouth, kLocal, kPorts };
inline constexpr std::uint32_t kLinks = kLocal;  // the ports before it lead to other routers
inline constexpr std::uint32_t kChannels = 4;    // of a port
inline constexpr std::uint32_t kDepth = 4;       // flits that a channel holds
inline constexpr std::uint8_t kNone = 0xff;

inline std::uint32_t opposite(std::uint32_t link) { return link ^ 1; }

/// Allocated at its injection, freed at the arrival of its last flit.
struct Packet {
  std::uint32_t number = 0;  // in the order of injections
  std::uint32_t source = 0, destination = 0;
};

/// Allocated at the injection of its packet, freed at its arrival.
struct Flit {
  Packet* packet = nullptr;
  Flit* next = nullptr;  // at its source
  std::uint32_t index = 0;
  bool is_head() const { return index == 0; }
  bool is_tail() const { return index + 1 == kFlits; }
};

/// Output of a router in a cycle.
struct Sent {
  struct Link {
    Flit* flit = nullptr;
    std::uint8_t channel = kNone;  ///< of the flit
    std::uint8_t credit = kNone;   ///< channel in which the neighbour's flit made room
  };
  Link links[kLinks];
  Flit* arrived = nullptr;  ///< here, at its destination
};

struct alignas(64) Router {
  struct Input {
    tracked<Flit*> flits[kDepth];
    tracked<std::uint8_t> first = 0, count = 0;
    tracked<std::uint8_t> port = kNone, channel = kNone;  // that its packet has been given
  };
  struct Output {
    tracked<std::uint8_t> credits = kDepth;
    tracked<bool> is_taken = false;  // by a packet whose last flit has not been sent
  };

  std::uint32_t number = 0, x = 0, y = 0, width = 1;
  tracked<Flit*> source = nullptr,
                 source_end = nullptr;  // flits of packets that have not entered the network
  tracked<std::uint8_t> source_channel = kNone;
  tracked<std::uint8_t> first_input = 0;        // the next to be given a channel
  tracked<std::uint8_t> first_of_port[kPorts];  // the next to send through it
  tracked<std::uint8_t> first_channel[kPorts];  // the next to be given
  tracked<std::uint64_t> next_step = 0;         // for tasks: the timestamp of the last step created
  Input inputs[kPorts * kChannels];
  Output outputs[kLinks * kChannels];

  /// A packet of so many flits at the end of the source's.
  void inject(std::uint32_t packet, std::uint32_t destination);
  /// Takes in a flit, a credit or both that came over a link.
  void receive(std::uint32_t link, Flit* flit, std::uint8_t channel, std::uint8_t credit);
  Sent step();
  bool has_flits() const;
  /// As at the beginning: no flits, all credits, no channel taken.
  bool is_idle() const;

 private:
  void push(Input& input, Flit* flit);
  void enter();
  std::uint32_t route(const Flit* flit) const;
  void give_channels();
  bool give_channel(Input& input);
  bool may_send(const Input& input, std::uint32_t port) const;
  void send(std::uint32_t i, std::uint32_t port, Sent& sent);
};

/// Routers of a mesh, numbered row by row.
std::vector<Router> make_routers(const Network& network);
std::uint32_t neighbour(const Router& router, std::uint32_t link);

}  // namespace rubato::apps::nocsim
