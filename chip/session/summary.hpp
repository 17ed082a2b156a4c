// The summary of a run: the stable keys of `--json` and summary.json (cli.md), and a few lines for a person.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "chip/config/config.hpp"
#include "chip/session/guest_output.hpp"
#include "chip/session/simulation.hpp"
#include "chip/session/snapshot.hpp"

namespace rubato::chip {

/// Use of the host: the only part of a summary that differs from run to run.
struct HostUse {
  double seconds = 0;           ///< from start to end of the run
  double detailed_seconds = 0;  ///< of them in regions of interest
  double peak_mb = 0;
};

/// Summary of one of several programs.
struct ProgramSummary {
  ProgramResult result;
  CheckVerdict check = CheckVerdict::none;
};

struct SummaryInput {
  std::string program;
  const Config& config;
  const StatRegistry& registry;
  const StatValues& roi;
  const StatValues& run;
  bool has_region = true;  ///< false: no region of interest began, and the figures are those of the run
  const RunOutcome& outcome;
  CheckVerdict check;
  std::string_view output;
  std::uint64_t total_instructions;  ///< fast-forward included
  std::string_view untasked_mode{};  ///< of a region of interest that is compared with tasks
  HostUse host;
  std::span<const ProgramSummary> programs{};  ///< of programs side by side
};

/// The exit code of the command: the outcome's, or 1 if all went well but the program's check failed.
ExitCode exit_code(const RunOutcome& outcome, CheckVerdict check);

/// The time of programs side by side (K82): the mean of those that were in detail, each to its own end.
double mean_cycles(std::span<const ProgramSummary> programs);
/// The file of the run directory with what the program printed; programs from 0.
std::string output_name(std::size_t program);

/// Tasks created in the whole run: those created before a region of interest are its tasks, too (C4).
std::uint64_t created_tasks(const SummaryInput& input);

/// The summary as a JSON object, ended by a newline.
std::string summary_json(const SummaryInput& input);

/// Three to six lines, each ended by a newline.
std::string summary_text(const SummaryInput& input);

}  // namespace rubato::chip
