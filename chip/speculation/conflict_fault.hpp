// Bugs to put into conflict detection on purpose: the tests' own tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip {

enum class ConflictFault : std::uint8_t {
  none,
  skip_tile_check,
  lose_sticky_bits,
  lose_overflow,
  exclusive_speculative_read,
  ignore_canary,
  clear_own_sticky_bits,
  canary_of_writers_only,
};

}  // namespace rubato::chip
