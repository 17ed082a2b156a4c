// Banks of the homes' storage: data, directory and filter of a home in llc.banks equal parts, each of which
// takes an access a cycle. Two banks of 1 MiB are two slices at one router. Invariant: the lowest bits of a
// line's frame say its bank, and so the sets of an array that a bank has; arrays without banks have the same
// sets.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/coherence/line_frame.hpp"
#include "chip/config/config.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LlcBanks {
 public:
  /// A home's banks, a power of two.
  explicit LlcBanks(const Config& config) : frame_(config), count_(config.llc.banks) {}

  std::uint32_t count() const { return count_; }
  /// The line's bank in its home.
  std::uint32_t of(LineAddr line) const {
    return count_ == 1 ? 0 : static_cast<std::uint32_t>(frame_.of(line).value) & (count_ - 1);
  }
  /// The same among the banks of all homes.
  std::uint32_t of(TileId home, LineAddr line) const { return home.value * count_ + of(line); }

 private:
  LineFrame frame_;
  std::uint32_t count_;
};

}  // namespace rubato::chip
