// The file that RUBATO_COUNTERS names, as the native engine writes it: `rubato run --engine serial` makes its
// summary of it. Written when the program ends; without the variable there is no file.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0::engine {

/// Counts since the program started. They outlive the engine, which counts here, since they are written at
/// the end.
struct Totals {
  std::uint64_t tasks_created = 0;
  std::uint64_t tasks_run = 0;
  std::uint64_t seed = 1;
};
inline constinit Totals totals;

/// When the engine starts: not behind hours of work.
/// Errors: TaskError if RUBATO_COUNTERS names a file that cannot be written.
void check_counters_file();

/// Measures one run(), or a serial region, from construction to destruction, or to the end of the process.
class RunClock {
 public:
  RunClock();
  ~RunClock();
  RunClock(const RunClock&) = delete;
  RunClock& operator=(const RunClock&) = delete;
};

}  // namespace rubato::inline v0::engine
