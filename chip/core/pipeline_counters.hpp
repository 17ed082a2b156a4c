// Counters of a core's executed instructions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip {

struct PipelineCounters {
  std::uint64_t instructions = 0, branches = 0, mispredicts = 0, loads = 0, stores = 0, atomics = 0;
};

}  // namespace rubato::chip
