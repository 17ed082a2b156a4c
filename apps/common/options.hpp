// What the command lines of applications have in common: options with named values, whole numbers, how the
// tasks run and whether the result is checked, and how errors become exit codes. Only main.cpp of an
// application includes it.
// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/common/input_error.hpp"
#include "rubato/rubato.hpp"
#if !defined(RUBATO_ENGINE_CHIP)
#include "base/standard_output.hpp"
#endif

namespace rubato::apps {

/// An option whose value is one of a few names.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, T& value,
                        const std::vector<std::pair<std::string, T>>& names, const std::string& help) {
  std::string expected;
  for (const auto& [name, meaning] : names) expected += (expected.empty() ? "" : "|") + name;
  return app
      .add_option_function<std::string>(
          flag,
          [&value, names, flag, expected](const std::string& text) {
            for (const auto& [name, meaning] : names) {
              if (name == text) return static_cast<void>(value = meaning);
            }
            throw CLI::ValidationError(flag, "'" + text + "' is none of " + expected);
          },
          help)
      ->type_name(expected);
}

inline CLI::Option* add_task_type(CLI::App& app, TaskType& type,
                                  const std::string& help = "Type of the tasks (default mayspec)") {
  return add_choice<TaskType>(
      app, "--type", type,
      {{"mayspec", TaskType::mayspec}, {"spec", TaskType::spec}, {"nonspec", TaskType::nonspec}}, help);
}

/// How an application computes its result, and whether it checks it.
struct TaskOptions {
  TaskType type = TaskType::mayspec;
  bool verify = false;
  bool is_serial = false;
};

/// What --verify compares, and which algorithm --serial runs: sentences of the application's own.
struct TaskOptionsHelp {
  const char* verify;
  const char* serial;
};

/// --verify and --serial.
inline void add_verify_and_serial(CLI::App& app, TaskOptions& o, const TaskOptionsHelp& help) {
  app.add_flag("--verify", o.verify, help.verify);
  app.add_flag("--serial", o.is_serial, help.serial);
}

/// --type, --verify and --serial.
inline void add_task_options(CLI::App& app, TaskOptions& o, const TaskOptionsHelp& help) {
  add_task_type(app, o.type);
  add_verify_and_serial(app, o, help);
}

/// For ->check(): digits only, below 2^64.
inline std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (stopped != end || error == std::errc::invalid_argument) return "'" + text + "' is not a whole number";
  return error == std::errc{} ? std::string() : "'" + text + "' is larger than 2^64 - 1";
}

/// An empty value, as of a variable that a script did not set, must not choose the default.
/// @throws CLI::ValidationError
inline void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& value : option->results()) {
      if (!value.empty()) continue;
      const std::string name = option->get_name();
      throw CLI::ValidationError(name + " has an empty value: write " + name + " " + option->get_type_name() +
                                 ", or leave it out");
    }
  }
}

/// Prints the line by which whoever runs an application knows how its check ended. @returns its exit code.
inline int report_check(bool passed) {
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}

/// The parts of an application. `Options` are its defaults, which `declare` binds to its command line.
template <class Options>
struct Application {
  const char* name;
  const char* description;
  void (*declare)(CLI::App& app, Options& options);
  int (*run)(const Options& options);  // returns 0, or 1 for a failed check
};

/// Parses, runs, and says what is wrong with usage or input. Exit codes: what `run` returns; 2 wrong usage,
/// input or engine options; 3 a task broke a rule of the task model or ended with an exception.
template <class Options>
int run_application(const Application<Options>& application, int argc, char** argv) {
  CLI::App app(application.description, application.name);
  app.set_help_flag("--help", "This text");
  Options options;
  application.declare(app, options);
  try {
    app.parse(argc, argv);
    refuse_empty_values(app);
  } catch (const CLI::ExtrasError&) {  // whose own sentence names them from the last to the first
    std::fprintf(stderr, "%s: not expected: %s\n", application.name,
                 CLI::detail::join(app.remaining(), " ").c_str());
    return 2;
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    std::fprintf(stderr, "%s: %s\n", application.name, e.what());
    return 2;
  }
#if defined(RUBATO_ENGINE_NATIVE)
  try {
    static_cast<void>(native::options());
  } catch (const TaskError& e) {
    std::fprintf(stderr, "%s: %s\n", application.name, e.what());
    return 2;
  }
#endif
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, which says so
  try {
#if defined(RUBATO_ENGINE_CHIP)
    return application.run(options);
#else
    const int code = application.run(options);
    const std::string why = lost_output();
    if (why.empty()) return code;
    std::fprintf(stderr, "%s: cannot write the result: %s\n", application.name, why.c_str());
#endif
  } catch (const InputError& e) {
    std::fprintf(stderr, "%s: %s\n", application.name, e.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: not enough memory for this input\n", application.name);
#if !defined(RUBATO_ENGINE_CHIP)  // there it is the simulator that says so
  } catch (const TaskError& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", application.name, e.what());
    return 3;
#endif
  }
  return 2;
}

}  // namespace rubato::apps
