// SPDX-License-Identifier: MIT
#include "apps/nocsim/router.hpp"

namespace rubato::apps::nocsim {
namespace {

constexpr std::uint32_t kInputs = kPorts * kChannels;

std::uint8_t byte(std::uint32_t value) { return static_cast<std::uint8_t>(value); }

}  // namespace

std::vector<Router> make_routers(const Network& network) {
  std::vector<Router> routers(network.routers());
  for (std::uint32_t r = 0; r < routers.size(); ++r) {
    routers[r].number = r;
    routers[r].x = r % network.width;
    routers[r].y = r / network.width;
    routers[r].width = network.width;
  }
  return routers;
}

std::uint32_t neighbour(const Router& router, std::uint32_t link) {
  switch (link) {
    case kEast:
      return router.number + 1;
    case kWest:
      return router.number - 1;
    case kNorth:
      return router.number - router.width;
    default:
      return router.number + router.width;
  }
}

void Router::inject(std::uint32_t packet, std::uint32_t destination) {
  auto* const made = new Packet{packet, number, destination};
  Flit* head = nullptr;
  Flit* tail = nullptr;
  for (std::uint32_t i = kFlits; i-- > 0;) {
    head = new Flit{made, head, i};
    if (tail == nullptr) tail = head;
  }
  if (source == nullptr) {
    source = head;
  } else {
    source_end->next = head;
  }
  source_end = tail;
}

void Router::push(Input& input, Flit* flit) {
  input.flits[(input.first + input.count) % kDepth] = flit;
  input.count += 1;
}

void Router::receive(std::uint32_t link, Flit* flit, std::uint8_t channel, std::uint8_t credit) {
  if (flit != nullptr) push(inputs[link * kChannels + channel], flit);
  if (credit != kNone) outputs[link * kChannels + credit].credits += 1;
}

/// Moves a flit from the source into a channel of the local port; a packet stays in its channel.
void Router::enter() {
  Flit* const flit = source;
  if (flit == nullptr) return;
  Input* const local = inputs + kLocal * kChannels;
  if (flit->is_head()) {
    std::uint32_t free = 0;
    while (free < kChannels && (local[free].count != 0 || local[free].port != kNone)) ++free;
    if (free == kChannels) return;
    source_channel = byte(free);
  }
  Input& input = local[source_channel];
  if (input.count == kDepth) return;
  source = flit->next;
  push(input, flit);
}

/// X first.
std::uint32_t Router::route(const Flit* flit) const {
  const std::uint32_t to_x = flit->packet->destination % width, to_y = flit->packet->destination / width;
  if (to_x != x) return to_x > x ? kEast : kWest;
  if (to_y != y) return to_y > y ? kSouth : kNorth;
  return kLocal;
}

bool Router::give_channel(Input& input) {
  if (input.count == 0 || input.port != kNone) return false;
  const std::uint32_t port = route(input.flits[input.first]);
  std::uint32_t channel = 0;
  if (port != kLocal) {
    std::uint32_t tried = 0;
    for (; tried < kChannels; ++tried) {
      channel = (first_channel[port] + tried) % kChannels;
      if (!outputs[port * kChannels + channel].is_taken) break;
    }
    if (tried == kChannels) return false;
    outputs[port * kChannels + channel].is_taken = true;
    first_channel[port] = byte((channel + 1) % kChannels);
  }
  input.port = byte(port);
  input.channel = byte(channel);
  return true;
}

void Router::give_channels() {
  const std::uint32_t begin = first_input;
  for (std::uint32_t i = 0; i < kInputs; ++i) {
    const std::uint32_t which = (begin + i) % kInputs;
    if (give_channel(inputs[which])) first_input = byte((which + 1) % kInputs);
  }
}

bool Router::may_send(const Input& input, std::uint32_t port) const {
  return input.port == port && input.count != 0 &&
         (port == kLocal || outputs[port * kChannels + input.channel].credits != 0);
}

void Router::send(std::uint32_t i, std::uint32_t port, Sent& sent) {
  Input& input = inputs[i];
  Flit* const flit = input.flits[input.first];
  input.first = byte((input.first + 1) % kDepth);
  input.count -= 1;
  if (port == kLocal) {
    sent.arrived = flit;
  } else {
    Output& output = outputs[port * kChannels + input.channel];
    output.credits -= 1;
    if (flit->is_tail()) output.is_taken = false;
    sent.links[port].flit = flit;
    sent.links[port].channel = input.channel;
  }
  const std::uint32_t from = i / kChannels;
  if (from != kLocal) sent.links[from].credit = byte(i % kChannels);
  if (flit->is_tail()) input.port = kNone;
  first_of_port[port] = byte((i + 1) % kInputs);
}

/// An output port sends one flit a cycle, and so does an input port.
Sent Router::step() {
  Sent sent;
  enter();
  give_channels();
  std::uint32_t used_inputs = 0;
  for (std::uint32_t port = 0; port < kPorts; ++port) {
    const std::uint32_t begin = first_of_port[port];
    for (std::uint32_t j = 0; j < kInputs; ++j) {
      const std::uint32_t i = (begin + j) % kInputs;
      if ((used_inputs >> (i / kChannels) & 1) != 0 || !may_send(inputs[i], port)) continue;
      used_inputs |= 1U << (i / kChannels);
      send(i, port, sent);
      break;
    }
  }
  return sent;
}

bool Router::has_flits() const {
  if (source != nullptr) return true;
  for (const Input& input : inputs) {
    if (input.count != 0) return true;
  }
  return false;
}

bool Router::is_idle() const {
  for (const Output& output : outputs) {
    if (output.credits != kDepth || output.is_taken) return false;
  }
  for (const Input& input : inputs) {
    if (input.port != kNone) return false;
  }
  return !has_flits();
}

}  // namespace rubato::apps::nocsim
