// Process options from a session's options, for one program or for programs side by side.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "chip/mix_files.hpp"
#include "chip/os/memory_limit.hpp"
#include "chip/os/process.hpp"
#include "chip/program/program_place.hpp"
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
  process.start_date = options.config.run.start_date;
  process.stack_bytes = options.config.run.stack_bytes;
  process.memory_bytes = options.config.run.memory_bytes;
  process.host_bytes = host_memory_for_guests().value_or(process.host_bytes);
  process.disk = options.config.disk;
  process.frequency_mhz = options.config.chip.frequency_mhz;
  process.cores = options.config.chip.cores;
  return process;
}

/// The programs of --programs.
inline std::vector<ProgramPlace> program_places(const SessionOptions& options, const MixFiles& files) {
  std::vector<ProgramPlace> places;
  for (const MixedProgram& program : options.programs) {
    ProgramPlace place{process_options(options), program.first_core, program.cores, program.roi};
    place.process.program = program.path;
    place.process.arguments = program.arguments;
    place.process.argv0 = std::filesystem::path(program.path).filename().string();
    place.process.stdin_fd = files.input(places.size());
    place.process.stdout_fd = files.output(places.size());
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace rubato::chip
