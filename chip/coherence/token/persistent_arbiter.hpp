// Arbiter of persistent requests at a bank of a home of tokenb (K44). One is active at a time, in the order
// of arrival. Every node acknowledges the begin and the end of each. So no node ever has two entries of one
// arbiter, in whatever order the network delivers.
//
//   handover   the next request is for the same line: its activation also ends the turn before, which all
//              nodes have acknowledged by then. So contenders for a line wait for one round of words a turn.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class PersistentArbiter {
 public:
  struct Turn {
    std::uint16_t requester = 0;
    LineAddr line{};
    bool is_read = false;
    bool operator==(const Turn&) const = default;
  };
  enum class Order : std::uint8_t { none, activate, deactivate };  ///< of turn(), to every node

  /// `nodes`: that acknowledge.
  explicit PersistentArbiter(std::uint32_t nodes) : nodes_(nodes) {}

  Order ask(Turn turn) {
    queue_.push_back(turn);
    return phase_ == Phase::free ? begin() : Order::none;
  }
  Order acknowledge() {
    if (--missing_ != 0) return Order::none;
    if (phase_ == Phase::activating) {
      phase_ = Phase::active;
      return is_done_ ? end() : Order::none;
    }
    phase_ = Phase::free;
    queue_.pop_front();
    return queue_.empty() ? Order::none : begin();
  }
  /// The requester has performed; perhaps before all nodes have acknowledged.
  Order done() {
    is_done_ = true;
    return phase_ == Phase::active ? end() : Order::none;
  }
  const Turn& turn() const { return queue_.front(); }
  bool is_free() const { return phase_ == Phase::free; }
  bool operator==(const PersistentArbiter&) const = default;

 private:
  enum class Phase : std::uint8_t { free, activating, active, deactivating };
  Order begin() {
    phase_ = Phase::activating;
    missing_ = nodes_;
    is_done_ = false;
    return Order::activate;
  }
  Order end() {
    if (queue_.size() > 1 && queue_[1].line == queue_[0].line) {  // a handover
      queue_.pop_front();
      return begin();
    }
    phase_ = Phase::deactivating;
    missing_ = nodes_;
    return Order::deactivate;
  }

  std::uint32_t nodes_, missing_ = 0;
  Phase phase_ = Phase::free;
  bool is_done_ = false;
  std::deque<Turn> queue_;

  friend class BroadcastExplorer;  // writes states down
};

}  // namespace rubato::chip
