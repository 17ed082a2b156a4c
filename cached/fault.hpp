// Bugs that a test puts into the cache on purpose, to show that the checker of histories finds them
// (T91). The cache is built once more for that, in the test; in all other builds nothing of it is left.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "base/faults.hpp"

namespace rubato::cached {

// clang-format off
#define RUBATO_CACHED_FAULTS(X) \
  X(unpinned)          /* a value that is sent from its item is not pinned */ \
  X(moved_while_sent)  /* the page mover does not ask whether an item is pinned */ \
  X(unlinked_outside)  /* a removal answers in one section and unlinks in another */ \
  X(cas_not_compared)  /* a store with a unique stores whatever the item's is */ \
  X(bucket_said_moved) /* a bucket counts as moved to the larger table before it is */
// clang-format on
RUBATO_DEFINE_FAULTS(Fault, kFaultNames, RUBATO_CACHED_FAULTS)

#if defined(RUBATO_CACHED_FAULTY)
bool has_fault(Fault fault);
/// Lets other threads run, for faults that show only if another thread comes in between.
void let_others_in();
#else
constexpr bool has_fault(Fault) { return false; }
inline void let_others_in() {}
#endif

}  // namespace rubato::cached
