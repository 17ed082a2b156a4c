// The simulated chip: assembles cores, memory system, network, task units and the emulated process from a
// configuration, and runs a program on them. One call, run(), alternates between fast-forward (functional,
// C4) and detailed simulation until the program ends or cannot go on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chip/config/config.hpp"
#include "chip/os/process.hpp"
#include "chip/run.hpp"
#include "chip/speculation/abort_profile.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

struct Faults;       // chip/faults.hpp
class GdbServer;     // chip/debug/gdb_server.hpp
class TaskObserver;  // chip/speculation/task_observer.hpp

class Chip {
 public:
  /// @param config resolved. @throws UsageError if the program cannot be loaded or the configuration not be
  /// built.
  Chip(const Config& config, ProcessOptions process);
  ~Chip();

  /// Both before run(); the observers outlive the chip.
  void observe(ChipObserver* observer, Latency interval = 0);
  void observe_tasks(TaskObserver* observer);

  /// Before run(): waits for what the debugger says at the first instruction, and asks it at each stop.
  void debug(GdbServer& server);

  /// Before run(), on a chip of more than one core: makes it wrong, for tests.
  void inject(const Faults& faults);

  /// Runs the program to its end. Call once.
  RunOutcome run();

  StatRegistry& registry();
  const CycleAccount& cycle_account() const;
  const AbortProfile& abort_profile() const;
  const Symbols& symbols() const;
  const Process& process() const;
  Progress progress() const;
  /// Cycles simulated in detail; instructions executed in detail and in fast-forward.
  Cycle cycles() const;
  std::uint64_t detailed_instructions() const;
  std::uint64_t fast_forward_instructions() const;
  /// The program measured serial code, by serial_region().
  bool ran_serial() const;
  /// Bytes of guest memory mapped at the end.
  std::uint64_t guest_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rubato::chip
