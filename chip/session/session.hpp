// Session: one run of the command. It drives a Simulation, passes on and keeps the guest's output, reports
// progress, obeys interrupts, and leaves the run directory (C24, C26, C27). It does not depend on how the
// chip works.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/session/program_mix.hpp"
#include "chip/session/simulation.hpp"

namespace rubato::chip {

inline constexpr const char* kVersion = "0.1.0";

struct SessionOptions {
  Config config;  ///< resolved
  std::string program;
  std::vector<std::string> arguments, environment;
  std::string mix;                        ///< the file of --programs, in place of `program`; empty: none
  std::vector<MixedProgram> programs;     ///< that are in it
  std::vector<std::string> command_line;  ///< for run.toml
  std::string argv0;
  std::string sandbox;
  std::optional<std::uint16_t> gdb_port;  ///< waits there for a debugger; 0: any port
  std::string checkpoint;                 ///< file to write instead of a run; empty: none
  std::string restore;                    ///< checkpoint to go on from; empty: none
  std::string out;                        ///< run directory; empty: none
  bool trace = false;
  Cycle trace_from{};
  std::optional<Latency> trace_cycles;  ///< nothing: to the end
  bool commit_order = false;
  bool instructions = false;  ///< a trace of them, with the trace's limits
  std::string watch;          ///< as in parse_watch(); empty: nothing
  Latency interval = 0;
  std::vector<std::string> series;
  bool json = false;                ///< the summary, and nothing else, on stdout
  bool guest_status = false;        ///< the exit status is the program's own
  bool quiet = false;               ///< no summary on stderr
  bool progress_file = true;        ///< progress.json, if there is a run directory
  std::optional<bool> live_line{};  ///< nothing: if stderr is a terminal
};

using SimulationFactory = std::function<std::unique_ptr<Simulation>(const SessionOptions&)>;

/// Runs and writes everything. @returns the exit status of the command, an ExitCode unless
/// options.guest_status says otherwise. SIGINT and SIGTERM end the run early with exit code 130.
/// @throws UsageError for wrong input; a run directory that exists by then stays marked `incomplete`.
int run_session(const SessionOptions& options, const SimulationFactory& make_simulation);

/// run.toml: everything needed to repeat the run.
std::string run_toml(const SessionOptions& options, const std::string& program_sha256);

}  // namespace rubato::chip
