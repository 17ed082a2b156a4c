// Common part of the workloads: options, threads that start together, and the marked region in which the chip
// is measured.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "base/command_line.hpp"

namespace rubato::workloads {

/// A check of --verify that failed, in one sentence.
class WrongResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Comparison of a check of --verify. @throws WrongResult if they differ
void expect_equal(std::uint64_t found, std::uint64_t expected, const std::string& what);

struct WorkloadOptions {
  unsigned threads = 16;
  std::uint64_t warm = 0;  ///< units of work of each thread before the region
  std::uint64_t work = 0;  ///< in it
  std::uint64_t seed = 1;
  bool verify = false;
};

/// Declares --threads, --warm, --work, --seed and --verify; `o` has their defaults. `unit`: the unit of
/// --warm and --work, such as "transactions of each thread".
void add_workload_options(CommandLine& line, WorkloadOptions& o, const std::string& unit);

/// Runs `part(thread, units, is_warm)` on `o.threads` threads at once: first each with o.warm units, then
/// each with o.work in the region "work" (include/rubato/markers.h), which begins when all have warmed up and
/// ends when all are done. Thread 0 is the caller. If there are enough cores, each thread stays on its own.
void run_in_region(const WorkloadOptions& o,
                   const std::function<void(unsigned thread, std::uint64_t units, bool is_warm)>& part);

/// main() of a workload: parses, runs, and reports an error in one sentence. Returns 0, 1 for a WrongResult,
/// or 2 for a wrong command line or too little memory.
int workload_main(const char* name, CommandLine& line, const std::function<void()>& run, int argc,
                  char** argv);

}  // namespace rubato::workloads
