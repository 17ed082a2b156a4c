// The order in which tasks appear to run: virtual time. Espresso, Sec. V-A "Scalable speculation"; C16.
// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

#include "base/wide.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

using Timestamp = std::uint64_t;

/// Unique order of tasks: 64-bit timestamp, then a tie-breaker given at dispatch.
struct VirtualTime {
  Timestamp timestamp = 0;
  std::uint64_t tie_breaker = 0;
  constexpr bool operator==(const VirtualTime&) const = default;
  constexpr std::strong_ordering operator<=>(const VirtualTime& other) const {
    return wide(timestamp, tie_breaker) <=> wide(other.timestamp, other.tie_breaker);
  }
};
/// Tie-breakers are unique: a core dispatches at most one task a cycle (C16).
inline constexpr unsigned kTieBreakerCoreBits = 10;
static_assert(kMaxCores <= 1u << kTieBreakerCoreBits);
constexpr std::uint64_t tie_breaker(Cycle now, CoreId core) {
  return now.value << kTieBreakerCoreBits | core.value;
}
inline constexpr VirtualTime kMinVirtualTime{};  ///< of non-speculative tasks in conflicts (C12)
inline constexpr VirtualTime kMaxVirtualTime{std::numeric_limits<Timestamp>::max(),
                                             std::numeric_limits<std::uint64_t>::max()};

}  // namespace rubato::chip
