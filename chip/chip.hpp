// The simulated chip: assembles cores, memory system, network, task units and the emulated process from a
// configuration, and runs a program on them. One call, run(), alternates between fast-forward (functional,
// C4) and detailed simulation until the program ends or cannot go on.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chip/capsule/capsule_calls.hpp"
#include "chip/config/config.hpp"
#include "chip/os/process.hpp"
#include "chip/program/program_place.hpp"
#include "chip/run.hpp"
#include "chip/speculation/abort_profile.hpp"
#include "chip/speculation/parallelism_profile.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/stats/registry.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LineBlocks;      // chip/core/line_blocks.hpp
class LineContention;  // chip/core/line_contention.hpp

struct Faults;              // chip/faults.hpp
struct Program;             // chip/program/program.hpp
class GdbServer;            // chip/debug/gdb_server.hpp
class InstructionObserver;  // chip/core/instruction_observer.hpp
class UntimedObserver;      // chip/program/fast_forward_watch.hpp
class MessageObserver;      // chip/coherence/message_observer.hpp
class TaskObserver;         // chip/speculation/task_observer.hpp

/// Result of save_checkpoint().
struct CheckpointReport {
  std::uint64_t instructions = 0;  ///< that the program has executed
  std::uint64_t guest_bytes = 0;   ///< mapped
  std::uint64_t file_bytes = 0;
  std::uint64_t threads = 0;           ///< that have not ended
  std::optional<std::uint32_t> cores;  ///< the chip must have so many: the program has asked
  std::string where;                   ///< the function that the program is in
  std::string why;                     ///< what it would do next
};

class Chip {
 public:
  /// @param config resolved. @throws UsageError if the program cannot be loaded or the configuration not be
  /// built.
  Chip(const Config& config, ProcessOptions process);
  /// Programs side by side (K80), on cores of their own. Members below that speak of one program mean the
  /// first.
  Chip(const Config& config, std::vector<ProgramPlace> programs);
  ~Chip();

  /// All before run(); the observers outlive the chip.
  void observe(ChipObserver* observer, Latency interval = 0);
  void observe_tasks(TaskObserver* observer);
  void watch_threads(ThreadWatcher* watcher);
  void observe_instructions(InstructionObserver* observer);
  /// Accesses in fast-forward to [first, first + bytes).
  void watch_fast_forward(Addr first, std::uint64_t bytes, UntimedObserver* observer);
  void observe_messages(MessageObserver* observer);

  /// Before run(): waits for what the debugger says at the first instruction, and asks it at each stop.
  void debug(GdbServer& server);

  /// Instead of run(): fast-forwards to the region of interest that run.roi names, and writes the program's
  /// state into `file`. Without one it does so where the program would first depend on the chip: at a task
  /// instruction, a mark, a thread, or a question about cores.
  /// @throws UsageError if it ends before, or has what a checkpoint cannot hold.
  CheckpointReport save_checkpoint(const std::filesystem::path& file, const ProcessOptions& options);
  /// Before run(): the program goes on where the checkpoint was taken. @throws UsageError if that is of
  /// another program, or of one that ran otherwise.
  void restore_checkpoint(const std::filesystem::path& file, const ProcessOptions& options);

  /// Before run(), on a chip of more than one core: makes it wrong, for tests.
  void inject(const Faults& faults);

  /// Runs the program to its end. Call once.
  RunOutcome run();

  StatRegistry& registry();
  const CycleAccount& cycle_account() const;
  const AbortProfile& abort_profile() const;
  const ParallelismProfile& parallelism_profile() const;
  /// Null: not watched.
  const LineContention* line_contention() const;
  /// The blocks of the heap that those lines are parts of. Null: not watched.
  const LineBlocks* line_blocks() const;
  const CapsuleCalls& capsule_calls() const;
  const ThreadProfile& thread_profile() const;
  const Symbols& symbols() const;
  std::size_t programs() const;
  const Program& program(std::size_t index) const;
  Progress progress() const;
  /// Cycles simulated in detail; instructions executed in detail and in fast-forward.
  Cycle cycles() const;
  std::uint64_t detailed_instructions() const;
  std::uint64_t fast_forward_instructions() const;
  /// The code that was measured in place of tasks: see Program::untasked_mode().
  std::string_view untasked_mode() const;
  /// Bytes of guest memory mapped at the end.
  std::uint64_t guest_bytes() const;

 private:
  struct Impl;
  // Interfaces of the chip to its cores, task units and programs.
  struct CoreSide;
  struct TaskSide;
  struct ProgramSide;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rubato::chip
