// Progress of a run (C26): a live line on a terminal, progress.json in the run directory, nothing otherwise.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "chip/run.hpp"
#include "chip/session/run_directory.hpp"

namespace rubato::chip {

class ProgressReporter {
 public:
  struct Options {
    bool live_line = false;                   ///< on stderr
    const RunDirectory* directory = nullptr;  ///< where progress.json goes; null: nowhere
  };
  explicit ProgressReporter(const Options& options);

  /// Cheap: looks at the host's clock and reports at most twice a second.
  void report(const Progress& progress);
  /// The last state, whatever the clock says; wipes the live line.
  void finish(const Progress& progress);

  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  void write(const Progress& progress, double seconds);

  Options options_;
  Clock::time_point start_, next_;
};

/// {"cycles","committed","instructions","gvt","mips","host_seconds","fast_forward"}; mips over the whole run.
std::string progress_json(const Progress& progress, double seconds);
/// "12.3 M cycles, 45.2 k tasks, ..."
std::string progress_line(const Progress& progress, double seconds);

}  // namespace rubato::chip
