// Options that all applications share: how the tasks run and whether the result is checked. Also the exit
// codes that stand for errors. Only main.cpp of an application includes it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "apps/common/input_error.hpp"
#include "base/command_line.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// --seed.
void add_seed(CommandLine& line, std::uint64_t& seed, const std::string& help);

/// An option whose value is a whole number from `least` to `most`.
template <class Number>
void add_number(CommandLine& line, const std::string& names, Number& value, std::uint64_t least,
                std::uint64_t most, const std::string& help) {
  line.add_option(names, value, help).check(whole_number).range(least, most).type_name("N");
}

void add_task_type(CommandLine& line, TaskType& type,
                   const std::string& help = "Type of the tasks (default mayspec)");

/// How an application computes its result, and whether it checks it.
struct TaskOptions {
  TaskType type = TaskType::mayspec;
  bool verify = false;
  bool is_serial = false;
};

/// Help texts of the application: the comparison of --verify and the algorithm of --serial.
struct TaskOptionsHelp {
  const char* verify;
  const char* serial;
};

/// --verify and --serial.
void add_verify_and_serial(CommandLine& line, TaskOptions& o, const TaskOptionsHelp& help);

/// --type, --verify and --serial.
void add_task_options(CommandLine& line, TaskOptions& o, const TaskOptionsHelp& help);

/// Prints how the check ended. @returns the exit code of the application.
inline int report_check(bool passed) {
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

/// The parts of an application. `Options` are its defaults, which `declare` binds to its command line.
template <class Options>
struct Application {
  const char* name;
  const char* description;
  void (*declare)(CommandLine& line, Options& options);
  int (*run)(const Options& options);  // returns 0, or 1 for a failed check
};

/// Parses the line, whose options are declared, runs, and reports errors of usage or input. Exit codes: what
/// `run` returns; 2 wrong usage, input or engine options; 3 a task broke a rule of the task model or ended
/// with an exception.
int parse_and_run(const char* name, CommandLine& line, const std::function<int()>& run, int argc,
                  char** argv);

template <class Options>
int run_application(const Application<Options>& application, int argc, char** argv) {
  CommandLine line(application.name, application.description);
  Options options;
  application.declare(line, options);
  return parse_and_run(
      application.name, line, [&] { return application.run(options); }, argc, argv);
}

}  // namespace rubato::apps
