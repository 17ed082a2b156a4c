// faulty-chip FAULT [OPTIONS of rubato-chip] PROGRAM [ARGUMENTS]: rubato-chip with a bug put in on purpose,
// to show that its checks find it. `faulty-chip list` names the bugs. Exit codes as rubato-chip's.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "chip/chip.hpp"
#include "chip/faults.hpp"
#include "chip/process_options.hpp"
#include "chip/session/command_line.hpp"

namespace rubato::chip {
namespace {

using Conflicts = ConflictDetector::Fault;
using Aborts = AbortCascade::Fault;

const std::map<std::string, Faults>& faults() {
  static const std::map<std::string, Faults> all = {
      {"none", {}},
      {"skip_tile_check", {.conflicts = Conflicts::skip_tile_check}},
      {"lose_sticky_bits", {.conflicts = Conflicts::lose_sticky_bits}},
      {"lose_overflow", {.conflicts = Conflicts::lose_overflow}},
      {"exclusive_speculative_read", {.conflicts = Conflicts::exclusive_speculative_read}},
      {"ignore_canary", {.conflicts = Conflicts::ignore_canary}},
      {"clear_own_sticky_bits", {.conflicts = Conflicts::clear_own_sticky_bits}},
      {"canary_of_writers_only", {.conflicts = Conflicts::canary_of_writers_only}},
      {"forget_undo", {.aborts = Aborts::forget_undo}},
      {"undo_in_wrong_order", {.aborts = Aborts::undo_in_wrong_order}},
      {"forget_child", {.aborts = Aborts::forget_child}},
      {"forget_dependent", {.aborts = Aborts::forget_dependent}},
      {"commit_early", {.tasks = TaskFault::commit_early}},
      {"ignore_locales", {.tasks = TaskFault::ignore_locales}},
  };
  return all;
}

int run(std::vector<std::string> words) {
  if (words.size() == 2 && words[1] == "list") {
    for (const auto& [name, fault] : faults()) fmt::print("{}\n", name);
    return 0;
  }
  const auto fault = words.size() < 2 ? faults().end() : faults().find(words[1]);
  if (fault == faults().end()) {
    fmt::print(
        stderr,
        "usage: faulty-chip FAULT [OPTIONS] PROGRAM [ARGUMENTS]; `faulty-chip list` names the faults\n");
    return 2;
  }
  words.erase(words.begin() + 1);
  try {
    const SessionOptions options = parse_command_line(words).session;
    Chip chip(options.config, process_options(options));
    chip.inject(fault->second);
    const RunOutcome outcome = chip.run();
    if (!outcome.sentence.empty()) fmt::print(stderr, "faulty-chip: {}\n", outcome.sentence);
    return static_cast<int>(outcome.code);
  } catch (const Error& error) {
    fmt::print(stderr, "faulty-chip: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace
}  // namespace rubato::chip

int main(int argc, char** argv) { return rubato::chip::run({argv, argv + argc}); }
