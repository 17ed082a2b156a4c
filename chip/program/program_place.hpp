// A program to be run, and where on the chip.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "chip/os/process.hpp"

namespace rubato::chip {

/// Cores [first_core, first_core + cores): whole tiles.
struct ProgramPlace {
  ProcessOptions process;
  std::uint32_t first_core = 0, cores = 1;
  std::string roi;  ///< as run.roi
};

}  // namespace rubato::chip
