// SPDX-License-Identifier: MIT
#include "apps/common/options.hpp"

#include <csignal>
#include <new>

#if !defined(RUBATO_ENGINE_CHIP)
#include "base/standard_output.hpp"
#endif

namespace rubato::apps {
namespace {

/// @returns false if help was printed instead. @throws CommandLineError
bool parse(CommandLine& line, int argc, char** argv) {
  if (!line.parse(argc, argv)) return false;
  line.refuse_empty_values();
  return true;
}

/// Sentence about a wrong command line. The parser's own names unexpected words from the last to the first.
std::string sentence_of(const CommandLineError& error) {
  if (error.unexpected.empty()) return error.what();
  std::string sentence = "not expected:";
  for (const std::string& word : error.unexpected) sentence += " " + word;
  return sentence;
}

}  // namespace

void add_seed(CommandLine& line, std::uint64_t& seed, const std::string& help) {
  line.add_option("--seed", seed, help).check(whole_number).type_name("N");
}

void add_task_type(CommandLine& line, TaskType& type, const std::string& help) {
  line.add_choice<TaskType>(
      "--type", type,
      {{"mayspec", TaskType::mayspec}, {"spec", TaskType::spec}, {"nonspec", TaskType::nonspec}}, help);
}

void add_verify_and_serial(CommandLine& line, TaskOptions& o, const TaskOptionsHelp& help) {
  line.add_flag("--verify", o.verify, help.verify);
  line.add_flag("--serial", o.is_serial, help.serial);
}

void add_task_options(CommandLine& line, TaskOptions& o, const TaskOptionsHelp& help) {
  add_task_type(line, o.type);
  add_verify_and_serial(line, o, help);
}

int parse_and_run(const char* name, CommandLine& line, const std::function<int()>& run, int argc,
                  char** argv) {
  try {
    if (!parse(line, argc, argv)) return 0;
  } catch (const CommandLineError& e) {
    std::fprintf(stderr, "%s: %s\n", name, sentence_of(e).c_str());
    return 2;
  }
#if defined(RUBATO_ENGINE_NATIVE)
  try {
    static_cast<void>(native::options());
  } catch (const TaskError& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 2;
  }
#endif
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, which says so
  try {
#if defined(RUBATO_ENGINE_CHIP)
    return run();
#else
    const int code = run();
    const std::string why = lost_output();
    if (why.empty()) return code;
    std::fprintf(stderr, "%s: cannot write the result: %s\n", name, why.c_str());
#endif
  } catch (const InputError& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: not enough memory for this input\n", name);
#if !defined(RUBATO_ENGINE_CHIP)  // there it is the simulator that says so
  } catch (const TaskError& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 3;
#endif
  }
  return 2;
}

}  // namespace rubato::apps
