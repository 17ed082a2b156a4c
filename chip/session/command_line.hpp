// The command line of rubato-chip: options, then PROGRAM, then what belongs to the guest (cli.md).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "chip/session/session.hpp"

namespace rubato::chip {

/// The request of a command line: a run, or a text to print (help, version, configuration) with its exit
/// code.
struct CommandLine {
  bool is_run = false;
  SessionOptions session;  ///< of a run; the configuration is resolved
  std::string text;        ///< otherwise: what to print on stdout
};

/// @param words argv. @throws UsageError with one sentence for everything that is wrong.
CommandLine parse_command_line(const std::vector<std::string>& words);

}  // namespace rubato::chip
