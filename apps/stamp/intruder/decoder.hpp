// Puts flows together from packets that come in any order. Each function is called inside a transaction.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>

#include "apps/stamp/intruder/traffic.hpp"
#include "apps/stamp/structure/list.hpp"
#include "apps/stamp/structure/queue.hpp"
#include "apps/stamp/structure/red_black_tree.hpp"

namespace rubato::apps::stamp::intruder {

/// Complete flow. The thread that takes it from the decoder owns `text`, which was made by new[].
struct Whole {
  FlowId flow = 0;
  std::uint64_t bytes = 0;
  char* text = nullptr;
};

class Decoder {
 public:
  /// A packet came. When it was the last of its flow, the flow is put together and waits to be taken.
  void add(const Packet& packet) {
    if (packet.fragments == 1) {
      Whole whole{packet.flow, packet.bytes, new char[packet.bytes]};
      std::memcpy(whole.text, packet.data, packet.bytes);
      whole_.push(whole);
      return;
    }
    Fragments** const found = incomplete_.find(packet.flow);
    if (found == nullptr) {
      Fragments* const fragments = new Fragments;
      fragments->insert(packet.fragment, &packet);
      incomplete_.insert(packet.flow, fragments);
      return;
    }
    Fragments* const fragments = *found;
    fragments->insert(packet.fragment, &packet);
    if (fragments->size() != packet.fragments) return;
    incomplete_.remove(packet.flow);
    put_together(packet.flow, *fragments);
    delete fragments;
  }
  /// @returns false if there is none.
  bool take(Whole& whole) { return whole_.pop(whole); }

  bool is_empty() { return whole_.size() == 0 && is_complete(); }

 private:
  using Fragments = List<std::uint32_t, const Packet*>;

  void put_together(FlowId flow, Fragments& fragments) {
    std::uint64_t bytes = 0;
    fragments.for_each([&](std::uint32_t, const Packet* packet) { bytes += packet->bytes; });
    Whole whole{flow, bytes, new char[bytes]};
    char* end = whole.text;
    fragments.for_each([&](std::uint32_t, const Packet* packet) {
      std::memcpy(end, packet->data, packet->bytes);
      end += packet->bytes;
    });
    whole_.push(whole);
  }
  bool is_complete() {
    bool is_empty = true;
    incomplete_.for_each([&](FlowId, Fragments*) { is_empty = false; });
    return is_empty;
  }

  RedBlackTree<FlowId, Fragments*> incomplete_;
  Queue<Whole> whole_;
};

}  // namespace rubato::apps::stamp::intruder
