// What a session's options say of the program to be run.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/os/process.hpp"
#include "chip/session/session.hpp"

namespace rubato::chip {

inline ProcessOptions process_options(const SessionOptions& options) {
  ProcessOptions process;
  process.program = options.program;
  process.arguments = options.arguments;
  process.environment = options.environment;
  process.argv0 = options.argv0;
  process.sandbox = options.sandbox;
  process.seed = options.config.chip.seed;
  process.stack_bytes = options.config.run.stack_bytes;
  process.memory_bytes = options.config.run.memory_bytes;
  process.cores = options.config.chip.cores;
  return process;
}

}  // namespace rubato::chip
