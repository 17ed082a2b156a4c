// A run as the command sees it: what it drives (Simulation, implemented by Chip) and what it is told
// meanwhile (RunObserver). Keeps output, progress and signals out of the chip, and the chip out of their
// tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/stats/registry.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

/// How far a run is (C26).
struct Progress {
  Cycle cycle{};                     ///< of the chip's clock
  std::uint64_t instructions = 0;    ///< executed, in detail and in fast-forward
  std::uint64_t committed = 0;       ///< tasks
  std::optional<std::uint64_t> gvt;  ///< timestamp of the last broadcast GVT; nothing outside a task region
  bool fast_forward = false;
};

/// How a run ended. `sentence` says why unless the guest just exited with 0.
struct RunOutcome {
  ExitCode code = ExitCode::success;
  int guest_status = 0;  ///< what the guest gave to exit()
  std::string sentence;
  std::vector<std::string> notes{};  ///< worth a line each: unknown system calls, clamped values
};

/// What the chip reports while it runs. Calls come from the thread that called Simulation::run().
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// The region of interest is entered or left; the statistics between both are its own (C24). May repeat.
  virtual void begin_region(Cycle now) = 0;
  virtual void end_region(Cycle now) = 0;
  /// Cycles between calls of sample(); 0: never.
  virtual Latency sample_interval() const = 0;
  /// Detailed simulation reached `now`, a multiple of sample_interval().
  virtual void sample(Cycle now) = 0;
  /// To be called at least ten times a host second; cheap. False: stop, the outcome is `interrupted`.
  virtual bool poll(const Progress& progress) = 0;
};

class Simulation {
 public:
  virtual ~Simulation() = default;
  /// Runs the program to its end. Errors of the guest are outcomes; wrong input throws UsageError.
  virtual RunOutcome run(RunObserver& observer) = 0;
  /// Complete before run(): all statistics are registered at construction.
  virtual const StatRegistry& stats() const = 0;
  virtual const CycleAccount& cycles() const = 0;
  virtual Progress progress() const = 0;
  /// "name" of a guest address, for output.
  virtual std::string symbol(Addr address) const = 0;
};

}  // namespace rubato::chip
