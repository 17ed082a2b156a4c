// faulty-chip FAULT [OPTIONS of rubato-chip] PROGRAM [ARGUMENTS]: rubato-chip with a bug put in on purpose,
// to show that its checks find it. `faulty-chip list` names the bugs. FAULT doom_at=N[,M] is no bug: the
// first M attempts of each task (1) are aborted N cycles after their first capsule call, if they are still in
// it; how many were is said in the end. Exit codes as rubato-chip's.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cinttypes>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"
#include "chip/chip.hpp"
#include "chip/faults.hpp"
#include "chip/process_options.hpp"
#include "chip/session/command_line.hpp"
#include "tests/fault_list.hpp"

namespace rubato::chip {
namespace {

/// Adds the faults of a list that `member` holds.
template <class Fault, std::size_t n>
void add(std::map<std::string, Faults>& all, const char* const (&names)[n], Fault Faults::*member) {
  for (const Fault fault : all_faults<Fault>(names)) {
    Faults faults;
    faults.*member = fault;
    RUBATO_CHECK(all.emplace(fault_name(names, fault), faults).second, "two faults have one name");
  }
}

const std::map<std::string, Faults>& faults() {
  static const std::map<std::string, Faults> all = [] {
    std::map<std::string, Faults> made{{"none", {}}};
    add(made, kConflictFaultNames, &Faults::conflicts);
    add(made, kAbortFaultNames, &Faults::aborts);
    add(made, kTaskFaultNames, &Faults::tasks);
    add(made, kCapsuleFaultNames, &Faults::capsules);
    add(made, kWindowFaultNames, &Faults::windows);
    add(made, kOrderFaultNames, &Faults::orders);
    return made;
  }();
  return all;
}

/// Plan of "doom_at=N[,M]".
std::optional<DoomPlan> plan_of(const std::string& word) {
  DoomPlan plan;
  if (std::sscanf(word.c_str(), "doom_at=%" SCNu64 ",%" SCNu32, &plan.delay, &plan.attempts) < 1) return {};
  return plan;
}

int run(std::vector<std::string> words) {
  if (words.size() == 2 && words[1] == "list") {
    for (const auto& [name, fault] : faults()) fmt::print("{}\n", name);
    return 0;
  }
  std::optional<DoomPlan> plan = words.size() < 2 ? std::nullopt : plan_of(words[1]);
  const auto fault = words.size() < 2 ? faults().end() : faults().find(plan ? "none" : words[1]);
  if (fault == faults().end()) {
    fmt::print(
        stderr,
        "usage: faulty-chip FAULT [OPTIONS] PROGRAM [ARGUMENTS]; `faulty-chip list` names the faults\n");
    return 2;
  }
  words.erase(words.begin() + 1);
  Faults injected = fault->second;
  injected.dooms = plan ? &*plan : nullptr;
  try {
    const SessionOptions options = parse_command_line(words).session;
    Chip chip(options.config, process_options(options));
    chip.inject(injected);
    const RunOutcome outcome = chip.run();
    if (!outcome.sentence.empty()) fmt::print(stderr, "faulty-chip: {}\n", outcome.sentence);
    if (plan) fmt::print(stderr, "faulty-chip: {} attempts were aborted in a capsule\n", plan->dooms);
    return static_cast<int>(outcome.code);
  } catch (const Error& error) {
    fmt::print(stderr, "faulty-chip: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace
}  // namespace rubato::chip

int main(int argc, char** argv) { return rubato::chip::run({argv, argv + argc}); }
