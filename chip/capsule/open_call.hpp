// The capsule call that a core is in. It goes with its task from core to core when the task waits in a system
// call (P50).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class HandlerArea;

struct OpenCapsuleCall {
  Addr stub = 0;  ///< 0: none that is counted
  Cycle since{};  ///< of a doomed run, since it is doomed
  bool is_doomed = false;
  bool is_interrupted = false;   ///< a wait of it has ended because nothing else could proceed
  bool is_counted = false;       ///< a part of it is, from before the task waited
  Addr caller_stack = 0;         ///< sp at the call
  std::uint32_t registered = 0;  ///< handlers
  /// The area of the core that it began on, where the records of its handlers lie. Null: of the core it is
  /// on, and none is promised to it.
  HandlerArea* promised_by = nullptr;
};

}  // namespace rubato::chip
