// The simulated chip: assembles cores, memory system, network, task units and the emulated process from a
// configuration, and runs a program on them. One call, run(), alternates between fast-forward (functional, C4) and
// detailed simulation until the program ends or cannot go on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "chip/config/config.hpp"
#include "chip/os/process.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/stats/registry.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

class TaskObserver;  // chip/task/task_observer.hpp

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

/// Watches a run; must not change it. Called on simulated time only, except that on_progress() of fast-forward
/// comes with instructions.
class ChipObserver {
 public:
  virtual ~ChipObserver() = default;
  /// The region of interest begins or ends: every statistic is up to date.
  virtual void on_region_begin(Cycle) {}
  virtual void on_region_end(Cycle) {}
  /// Every `interval` cycles of detailed simulation (set_interval): every statistic is up to date.
  virtual void on_interval(Cycle) {}
  /// Now and then. @returns false to stop the run (interrupted).
  virtual bool on_progress(const Progress&) { return true; }
};

class Chip {
 public:
  /// @param config resolved. @throws UsageError if the program cannot be loaded or the configuration not be built.
  Chip(const Config& config, ProcessOptions process);
  ~Chip();

  /// Both before run(); the observers outlive the chip.
  void observe(ChipObserver* observer, Latency interval = 0);
  void observe_tasks(TaskObserver* observer);

  /// Runs the program to its end. Call once.
  RunOutcome run();

  StatRegistry& registry();
  const CycleAccount& cycle_account() const;
  const Symbols& symbols() const;
  const Process& process() const;
  Progress progress() const;
  /// Cycles simulated in detail; instructions executed in detail and in fast-forward.
  Cycle cycles() const;
  std::uint64_t detailed_instructions() const;
  std::uint64_t fast_forward_instructions() const;
  /// Bytes of guest memory mapped at the end.
  std::uint64_t guest_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rubato::chip
