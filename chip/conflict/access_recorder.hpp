// The recorder of running speculative tasks' read and write sets, as a core's pipeline sees it. Implemented
// by the conflict detector. C14, C15.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class AccessRecorder {
 public:
  virtual ~AccessRecorder() = default;
  /// The attempt running on `core` has read, or is about to write, `line`: at least once for each line and
  /// kind of use. The line was checked by then, or its mark covers the use (C15).
  virtual void record(CoreId core, LineAddr line, bool write) = 0;
};

}  // namespace rubato::chip
