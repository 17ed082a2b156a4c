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

#include "base/error.hpp"
#include "chip/chip.hpp"
#include "chip/faults.hpp"
#include "chip/process_options.hpp"
#include "chip/session/command_line.hpp"

namespace rubato::chip {
namespace {

using Conflicts = ConflictFault;
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
      {"untracked_hit_without_rights", {.capsules = CapsuleFault::untracked_hit_without_rights}},
      {"rights_kept_after_return", {.capsules = CapsuleFault::rights_kept_after_return}},
      {"unchecked_load_marks", {.capsules = CapsuleFault::unchecked_load_marks}},
      {"sc_always_succeeds", {.capsules = CapsuleFault::sc_always_succeeds}},
      {"doomed_store_performed", {.capsules = CapsuleFault::doomed_store_performed}},
      {"stack_unchecked", {.capsules = CapsuleFault::stack_unchecked}},
      {"handler_lost", {.capsules = CapsuleFault::handler_lost}},
      {"handler_twice", {.capsules = CapsuleFault::handler_twice}},
      {"handler_after_commit", {.capsules = CapsuleFault::handler_after_commit}},
      {"handlers_survive_in_place", {.capsules = CapsuleFault::handlers_survive_in_place}},
      {"region_ends_before_handlers", {.capsules = CapsuleFault::region_ends_before_handlers}},
      {"depth_survives_task", {.capsules = CapsuleFault::depth_survives_task}},
      {"vector_unchecked", {.capsules = CapsuleFault::vector_unchecked}},
      {"suspended_not_aborted", {.capsules = CapsuleFault::suspended_not_aborted}},
      {"resumed_marks_kept", {.capsules = CapsuleFault::resumed_marks_kept}},
      {"log_line_to_wrong_core", {.capsules = CapsuleFault::log_line_to_wrong_core}},
      {"doomed_create_performed", {.capsules = CapsuleFault::doomed_create_performed}},
      {"doom_frees_core", {.capsules = CapsuleFault::doom_frees_core}},
      {"doom_keeps_locale", {.capsules = CapsuleFault::doom_keeps_locale}},
      {"commit_early", {.tasks = TaskFault::commit_early}},
      {"ignore_locales", {.tasks = TaskFault::ignore_locales}},
      {"wrong_guess", {.windows = WindowFault::wrong_guess}},
      {"squash_keeps_register", {.windows = WindowFault::squash_keeps_register}},
      {"squash_keeps_store", {.windows = WindowFault::squash_keeps_store}},
  };
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
