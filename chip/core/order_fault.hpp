// Bugs of the memory order to put into cores on purpose (K92), so that tests can show that litmus tests find
// them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/faults.hpp"

namespace rubato::chip {

// clang-format off
#define RUBATO_ORDER_FAULTS(X) \
  X(fence_passes_deferred) /* core in order: a fence does not wait for accesses that wait for messages */ \
  X(fence_passes_stores)   /* window core: a fence does not wait for the stores in the queue */ \
  X(atomic_passes_stores)  /* window core: nor does an atomic that acquires or releases */
// clang-format on
RUBATO_DEFINE_FAULTS(OrderFault, kOrderFaultNames, RUBATO_ORDER_FAULTS)

}  // namespace rubato::chip
