// The files that a run writes while it goes on, each only where an option asks for it: its trace, the order
// of its commits, its instructions, and accesses to watched memory. They are temporary until publish().
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chip/session/commit_order.hpp"
#include "chip/session/instruction_trace.hpp"
#include "chip/session/run_directory.hpp"
#include "chip/session/session.hpp"
#include "chip/session/simulation.hpp"
#include "chip/session/trace_writer.hpp"
#include "chip/session/watchpoint.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class Recorders {
 public:
  /// Before the run; all that is given by reference outlives it. `manifest`: run.toml. `watched`: of
  /// options.watch. @throws UsageError if a file cannot be made.
  Recorders(const SessionOptions& options, Simulation& simulation, const RunDirectory& directory,
            const std::string& manifest, WatchedRange watched);

  /// A line for each file that is empty: why. `end`: of the run.
  std::vector<std::string> notes(Cycle end) const;
  /// Puts the files, which are complete now, in their places. @throws UsageError if the disk is full.
  void publish() const;

 private:
  void add_trace(const std::string& manifest);
  void listen(InstructionLog& log);

  const SessionOptions& options_;
  Simulation& simulation_;
  const RunDirectory& directory_;
  const WatchedRange watched_;
  std::unique_ptr<TraceWriter> trace_;
  std::unique_ptr<CommitOrder> commits_;
  std::unique_ptr<InstructionTrace> instructions_;
  std::unique_ptr<Watchpoint> watchpoint_;
};

}  // namespace rubato::chip
