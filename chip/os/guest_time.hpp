// Times as system calls have them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/os/linux_abi.hpp"

namespace rubato::chip {

inline constexpr std::uint64_t kSecond = 1000000000;               ///< in ns
inline constexpr std::uint64_t kFarAway = std::uint64_t{1} << 62;  ///< ns that no run reaches

inline abi::Timespec timespec_of(std::uint64_t ns) {
  return {static_cast<std::int64_t>(ns / kSecond), static_cast<std::int64_t>(ns % kSecond)};
}

}  // namespace rubato::chip
