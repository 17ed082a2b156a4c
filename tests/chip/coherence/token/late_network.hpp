// A network that delays any message at will, so that messages overtake each other. For tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/rng.hpp"
#include "chip/noc/network.hpp"

namespace rubato::chip {

/// Messages take up to `most` cycles longer, so that they overtake each other.
class LateNetwork final : public Network {
 public:
  LateNetwork(Network& network, std::uint64_t most, std::uint64_t seed)
      : network_(&network), most_(most), rng_(seed) {}
  Cycle send(TileId from, TileId to, Message message, Cycle now) override {
    return network_->send(from, to, message, now) + rng_.below(most_ + 1);
  }

 private:
  Network* network_;
  std::uint64_t most_;
  Rng rng_;
};

}  // namespace rubato::chip
