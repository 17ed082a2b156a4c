// Errors that a user can cause: one sentence for a person (what, where, what was expected) and the exit code
// of the command that failed (cli.md "Exit codes").
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace rubato {

enum class ExitCode : int {
  success = 0,
  check_failed = 1,   ///< the program's own check failed or it exited non-zero
  usage = 2,          ///< wrong usage, input or configuration
  guest_fault = 3,    ///< the simulated program faulted
  no_progress = 4,    ///< deadlock, or out of simulated time
  internal = 70,      ///< the simulator contradicts itself: a bug
  interrupted = 130,  ///< SIGINT or SIGTERM
};

/// Base of every error a user can cause.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// Wrong usage, input file or configuration; exit code 2.
class UsageError : public Error {
 public:
  template <class... Args>
  explicit UsageError(fmt::format_string<Args...> format, Args&&... args)
      : Error(ExitCode::usage, fmt::format(format, std::forward<Args>(args)...)) {}
};

}  // namespace rubato
