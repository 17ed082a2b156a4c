// Sees the messages of a coherence protocol that works by messages: the trace draws each transaction as a
// flow from the requester over home and agents. It changes no result. Null by default, which costs one
// pointer test a message.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct SeenMessage {
  enum class Node : std::uint8_t { tile, home, memory };
  std::uint64_t transaction;  ///< of one request or eviction, from 1 on
  std::string_view kind;
  LineAddr line;
  TileId at;
  Node node;     ///< of that tile: its private caches, its LLC slice, or the memory controller there
  Cycle when;    ///< it arrives, or for the first one of a transaction, is sent
  bool is_sent;  ///< the transaction begins here
};

class MessageObserver {
 public:
  virtual ~MessageObserver() = default;
  virtual void on_message(const SeenMessage& message) = 0;
};

}  // namespace rubato::chip
