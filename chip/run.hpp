// A run seen from outside the chip: its progress, its outcome, and its observers.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// How a run ended. `sentence` says why, for a person; empty for a program that exited by itself with 0.
struct RunOutcome {
  ExitCode code = ExitCode::success;
  int guest_status = 0;  ///< of exit_group, if the program exited by itself
  std::string sentence;
  std::string details;  ///< what waits for what, registers: several lines for the log
};

/// How far a run is (C26).
struct Progress {
  Cycle cycle{};                   ///< simulated in detail so far
  std::uint64_t instructions = 0;  ///< executed in detail and in fast-forward
  std::uint64_t committed = 0;     ///< tasks
  std::uint64_t gvt = 0;           ///< timestamp of the earliest active task
  bool fast_forward = false;
};

/// Watches a run; must not change it. Called on simulated time only, except that on_progress() of
/// fast-forward comes with instructions.
class ChipObserver {
 public:
  virtual ~ChipObserver() = default;
  /// The region of interest begins or ends: every statistic is up to date.
  virtual void on_region_begin(Cycle) {}
  virtual void on_region_end(Cycle) {}
  /// The program begins or ends a region by its name (rubato/markers.h): every statistic is up to date.
  virtual void on_marker(bool begins, const std::string& name) {
    static_cast<void>(begins), static_cast<void>(name);
  }
  /// Every `interval` cycles of detailed simulation (set_interval): every statistic is up to date.
  virtual void on_interval(Cycle) {}
  /// Now and then. @returns false to stop the run (interrupted).
  virtual bool on_progress(const Progress&) { return true; }
};

}  // namespace rubato::chip
