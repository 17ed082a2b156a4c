// The file that RUBATO_COUNTERS names: the engine's counters, the time spent in run() and the functions of
// long tasks, written when the program ends (R11, R13). `rubato run --engine native` makes its summary
// of it. Without the variable: two reads of the clock a run().
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rubato/actor/dead_letters.hpp"
#include "rubato/engine/native_options.hpp"

namespace rubato::inline v0::native {

/// The name and meaning of a counter, in the file and wherever it is shown.
struct CounterDescription {
  const char* name;
  const char* unit;
  const char* description;
  std::uint64_t Counters::*value;
};
std::span<const CounterDescription> counter_descriptions();

struct RunTotals {
  unsigned workers = 0;
  std::uint64_t runs = 0;  ///< calls of run()
  bool is_serial = false;  ///< a serial_region() was measured
  double seconds = 0;      ///< in them
  double peak_mb = 0;      ///< resident memory of the process, at most
};

/// Call this when the engine starts, so that no program computes for hours before it learns that counters
/// cannot be kept.
/// Errors: TaskError if RUBATO_COUNTERS names a file that cannot be written.
void check_counters_file();

/// A JSON object. It has the first 16 of `long_tasks`, and the figures of actors, if there were any.
std::string counters_as_json(const RunTotals& totals, const Counters& counters,
                             const std::vector<LongTask>& long_tasks, const ActorCounters& actors = {});

/// Measures one run(): from construction to destruction, or to the end of the process.
class RunClock {
 public:
  RunClock();
  ~RunClock();
  RunClock(const RunClock&) = delete;
  RunClock& operator=(const RunClock&) = delete;
};

}  // namespace rubato::inline v0::native
