// Bugs to put into conflict detection on purpose: the tests' own tests.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/faults.hpp"

namespace rubato::chip {

// clang-format off
#define RUBATO_CONFLICT_FAULTS(X) \
  X(skip_tile_check) \
  X(lose_sticky_bits) \
  X(lose_overflow) \
  X(exclusive_speculative_read) \
  X(ignore_canary) \
  X(clear_own_sticky_bits) \
  X(canary_of_writers_only)
// clang-format on
RUBATO_DEFINE_FAULTS(ConflictFault, kConflictFaultNames, RUBATO_CONFLICT_FAULTS)

}  // namespace rubato::chip
