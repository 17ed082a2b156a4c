// Interface between the command and a simulation: a run and its results, as far as output needs them. The
// chip implements it (main.cpp), and so do the tests of sessions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chip/capsule/capsule_calls.hpp"
#include "chip/run.hpp"
#include "chip/speculation/abort_profile.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class ThreadProfile;        // chip/os/thread_profile.hpp
class ThreadWatcher;        // the same
class LineBlocks;           // chip/core/line_blocks.hpp
class LineContention;       // chip/core/line_contention.hpp
class ParallelismProfile;   // chip/speculation/parallelism_profile.hpp
class InstructionObserver;  // chip/core/instruction_observer.hpp
class UntimedObserver;      // chip/program/fast_forward_watch.hpp
class MessageObserver;      // chip/coherence/message_observer.hpp
class TaskObserver;         // chip/speculation/task_observer.hpp

/// Result of one of several programs, when it ended.
struct ProgramResult {
  std::string name;
  std::uint32_t first_core = 0, cores = 1;
  /// In detail, to the end of its region or to run.instructions.
  std::uint64_t cycles = 0, instructions = 0;
  std::uint64_t fast_forward_instructions = 0;
  RunOutcome outcome;
  const ThreadProfile* threads = nullptr;
  std::function<std::string(Addr)> symbol;
  std::function<bool(Addr)> has_source;
  int output = -1;  ///< a host file with all that it has printed; -1: that went to standard output
};

class Simulation {
 public:
  virtual ~Simulation() = default;
  /// Before run(); observers outlive the simulation's run.
  virtual void observe(ChipObserver* observer, Latency interval) = 0;
  virtual void observe_tasks(TaskObserver* observer) = 0;
  virtual void observe_instructions(InstructionObserver* observer) = 0;
  /// Accesses in fast-forward to [first, first + bytes).
  virtual void watch_fast_forward(Addr, std::uint64_t, UntimedObserver*) {}
  virtual void observe_messages(MessageObserver*) {}
  /// Runs the program to its end. Call once. Errors of the guest are outcomes; wrong input throws UsageError.
  virtual RunOutcome run() = 0;
  /// Complete at construction.
  virtual const StatRegistry& registry() const = 0;
  virtual const CycleAccount& cycle_account() const = 0;
  virtual const AbortProfile& abort_profile() const = 0;
  /// Why cores had no task; null: not known.
  virtual const ParallelismProfile* parallelism_profile() const { return nullptr; }
  /// Lines that cores take from one another; null: not watched.
  virtual const LineContention* line_contention() const { return nullptr; }
  /// The blocks of the heap that they are parts of; null: not known.
  virtual const LineBlocks* line_blocks() const { return nullptr; }
  /// Null: not known.
  virtual const CapsuleCalls* capsule_calls() const { return nullptr; }
  /// Profile of the cycles of threads; null: not known.
  virtual const ThreadProfile* thread_profile() const { return nullptr; }
  virtual void watch_threads(ThreadWatcher*) {}
  virtual Progress progress() const = 0;
  /// After run(): of programs side by side; empty: there was one.
  virtual std::vector<ProgramResult> programs() const { return {}; }
  /// The mode of a region of interest that is compared with tasks: "serial" or "threads"; empty: any other.
  /// After run().
  virtual std::string_view untasked_mode() const { return {}; }
  /// Name of a guest address, for output.
  virtual std::string symbol(Addr address) const = 0;
  /// Whether the program has debugging information on it.
  virtual bool has_source(Addr) const { return false; }
  /// Address and size of what the program calls `name`; the size is 0 if it is not known.
  virtual std::optional<std::pair<Addr, std::uint64_t>> find_symbol(std::string_view name) const = 0;
  /// Name of what lies in a line of guest memory.
  virtual std::string symbol(LineAddr line) const = 0;
  /// A line each: what the user should know though the run went on, such as unknown system calls (C2).
  virtual std::vector<std::string> notes() const = 0;
  /// The program's output on stderr, or the end of it if it is long.
  virtual std::string errors() const = 0;
};

}  // namespace rubato::chip
