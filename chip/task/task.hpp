// Tasks as the chip knows them: the stored descriptor and virtual time. Espresso, Sec. III and V-A; C8, C16.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>

#include "chip/types.hpp"

namespace rubato::chip {

enum class TaskType : std::uint8_t { spec = 0, nonspec = 1, mayspec = 2 };

using Timestamp = std::uint64_t;
using Locale = std::uint64_t;

/// What a create instruction carries and a task queue stores.
struct TaskDescriptor {
  Addr function = 0;
  Timestamp timestamp = 0;  ///< meaningful if has_timestamp
  Locale locale = 0;        ///< meaningful if has_locale
  std::array<std::uint64_t, 5> arguments{};
  TaskType type = TaskType::mayspec;
  std::uint8_t argument_count = 0;
  bool has_timestamp = false;
  bool has_locale = false;
  bool reads = false;  ///< hint
};

/// Unique order of tasks: 64-bit timestamp, then a tie-breaker given at dispatch.
struct VirtualTime {
  Timestamp timestamp = 0;
  std::uint64_t tie_breaker = 0;
  constexpr auto operator<=>(const VirtualTime&) const = default;
};
/// Tie-breakers are unique: a core dispatches at most one task a cycle (C16).
inline constexpr unsigned kTieBreakerCoreBits = 10;
static_assert(kMaxCores <= 1u << kTieBreakerCoreBits);
constexpr std::uint64_t tie_breaker(Cycle now, CoreId core) {
  return now.value << kTieBreakerCoreBits | core.value;
}
inline constexpr VirtualTime kMaxVirtualTime{std::numeric_limits<Timestamp>::max(),
                                             std::numeric_limits<std::uint64_t>::max()};

}  // namespace rubato::chip
