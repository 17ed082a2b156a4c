// Bugs and disturbances to put into a window core on purpose (K71), so that tests can show what finds them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/faults.hpp"

namespace rubato::chip {

class CoreModel;

// clang-format off
#define RUBATO_WINDOW_FAULTS(X) \
  X(wrong_guess)           /* no bug: now and then a load that waits goes on with a wrong value */ \
  X(squash_keeps_register) /* and with it: the youngest squashed instruction's register stays as it is */ \
  X(squash_keeps_store)    /* and with it: a squashed store stays in the queue */ \
  X(squash_keeps_flags)    /* and with it: what squashed arithmetic left in fflags stays */
// clang-format on
RUBATO_DEFINE_FAULTS(WindowFault, kWindowFaultNames, RUBATO_WINDOW_FAULTS)

/// Puts `fault` into `model` if that is a window core.
void inject(CoreModel& model, WindowFault fault);

}  // namespace rubato::chip
