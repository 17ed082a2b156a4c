// Cycles that a core waited for memory, by the parts of the accesses that it waited for (C23). They stay here
// until they are taken and charged to a class of cycles. All other cycles are the core's own.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "chip/stats/cycle_account.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class StallAccount {
 public:
  void charge(CyclePart part, Latency cycles) { parts_[static_cast<unsigned>(part)] += cycles; }
  /// The last cycles of an access are those that are waited for: they are charged from its far end inwards.
  /// @returns how much of the stall is left.
  Latency charge(const AccessParts& parts, Latency stall) {
    const std::pair<CyclePart, std::uint32_t> order[] = {
        {CyclePart::memory, parts.memory}, {CyclePart::network, parts.network}, {CyclePart::llc, parts.llc},
        {CyclePart::check, parts.check},   {CyclePart::l2, parts.l2},           {CyclePart::l1, parts.l1}};
    for (const auto& [part, cycles] : order) {
      const Latency share = std::min<Latency>(stall, cycles);
      charge(part, share);
      stall -= share;
    }
    return stall;
  }
  /// Moves `issue` to `until`, if that is later, charging the wait to the parts of the access waited for.
  void wait(std::uint64_t& issue, std::uint64_t until, const AccessParts& parts) {
    if (until <= issue) return;
    charge(parts, until - issue);
    issue = until;
  }

  /// The same, where no part of an access tells what is left of the wait: that is charged to `rest`.
  void wait(Cycle& at, Cycle until, const AccessParts& parts, CyclePart rest) {
    if (until <= at) return;
    charge(rest, charge(parts, until - at));
    at = until;
  }

  /// True if take() has anything but zeros.
  bool any() const {
    std::uint64_t any = 0;
    for (const std::uint64_t cycles : parts_) any |= cycles;
    return any != 0;
  }
  /// Cycles spent in each part since they were last taken; `core` is 0.
  std::array<std::uint64_t, kCycleParts> take() {
    return std::exchange(parts_, std::array<std::uint64_t, kCycleParts>{});
  }

 private:
  std::array<std::uint64_t, kCycleParts> parts_{};
};

}  // namespace rubato::chip
