// SPDX-License-Identifier: MIT
#include "chip/program/programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"

namespace rubato::chip {
namespace {

using Phase = Program::Phase;

}  // namespace

Programs::Programs(std::vector<ProgramPlace> places, const Config& config, const ConflictScheme& conflicts,
                   MemoryHierarchy& hierarchy, Program::Host& host)
    : hierarchy_(hierarchy), is_shared_(places.size() != 1 || places.front().cores != config.chip.cores) {
  for (ProgramPlace& place : places) {
    if (is_shared_) place.process.cores = place.cores;
    list_.push_back(std::make_unique<Program>(static_cast<std::uint32_t>(list_.size()), std::move(place),
                                              config, conflicts, hierarchy, host));
    const Program& program = *list_.back();
    if (is_shared_ && program.has_tasks)
      throw UsageError("{} has tasks, which run only where one program has the whole chip: start it alone",
                       program.title());
  }
  check(config, hierarchy);
  by_core_.assign(config.chip.cores, list_.front().get());
  for (const auto& program : list_) {
    const std::uint32_t first = program->place.first_core, end = first + program->place.cores;
    RUBATO_CHECK(first % config.chip.cores_per_tile == 0 && end % config.chip.cores_per_tile == 0 &&
                     first < end && end <= config.chip.cores,
                 "a program has whole tiles");
    for (std::uint32_t core = first; core < end; ++core) by_core_[core] = program.get();
    for (std::uint32_t core = first; core < end; core += config.chip.cores_per_tile)
      hierarchy.set_program(TileId{core / config.chip.cores_per_tile}, program->number);
  }
}

bool Programs::watches_contention(const Config& config) const {
  if (config.run.contention != "auto") return config.run.contention == "true";
  return !is_shared_ && !list_.front()->has_tasks && config.chip.cores > 1 && !config.run.check_replay &&
         config.core.model == "inorder";
}

void Programs::check(const Config& config, const MemoryHierarchy& hierarchy) const {
  const bool is_in_order = config.core.model == "inorder";
  if (config.run.contention == "true" && (is_shared_ || config.run.check_replay || !is_in_order))
    throw UsageError(
        "run.contention watches one program on cores in order (core.model=inorder): not programs side by "
        "side "
        "(--programs), and not together with run.check_replay (--check-replay)");
  if (is_shared_ && config.run.check_replay)
    throw UsageError(
        "run.check_replay (--check-replay) replays tasks, which programs side by side (--programs) do not "
        "have");
  if (is_shared_ && config.run.check_ties)
    throw UsageError(
        "run.check_ties (--check-ties) watches tasks, which programs side by side (--programs) do not have");
  if (const std::uint64_t sets = hierarchy.fewest_sets(); list_.size() > 1 && list_.size() >= sets)
    throw UsageError(
        "{} programs need more than {} sets in the L2s, LLC slices and directories (l2.size, llc.size, "
        "coherence.capacity), since their tags have 32 bits, but one has {}",
        list_.size(), list_.size(), sets);
}

// ---- To the regions ----

Program& Programs::next_in_fast_forward() const {
  for (const Phase phase : {Phase::ahead, Phase::behind})
    for (const auto& program : list_)
      if (program->phase == phase) return *program;
  RUBATO_CHECK(false, "no program is on its way, and the run has not ended");
  return sole();
}

void Programs::arrive(Program& program, const Thread* caller) {
  program.phase = Phase::there;
  program.caller = caller;
}

bool Programs::is_detail_due() const {
  const auto is = [&](Phase phase) {
    return std::any_of(list_.begin(), list_.end(), [&](const auto& p) { return p->phase == phase; });
  };
  return is(Phase::there) && !is(Phase::ahead);
}

std::vector<Program*> Programs::begin_detail() {
  std::vector<Program*> those;
  for (const auto& program : list_) {
    if (program->phase != Phase::there) continue;
    program->phase = Phase::inside;
    program->was_in_detail = true;
    those.push_back(program.get());
  }
  return those;
}

// ---- Out of them ----

bool Programs::leave_detail(Program& program, Cycle left) {
  if (program.phase == Phase::inside) program.phase = size() == 1 ? Phase::ahead : Phase::behind;
  if (size() == 1) return true;
  program.left_at = left;
  program.is_leaving = false;
  return std::none_of(list_.begin(), list_.end(),
                      [](const auto& p) { return p->phase == Phase::inside || p->is_leaving; });
}

Programs::AfterEnd Programs::finish(Program& program, RunOutcome outcome) {
  if (program.phase == Phase::over) return AfterEnd::nothing;
  const bool was_inside = program.is_in_detail();
  program.phase = Phase::over;
  program.outcome = std::move(outcome);
  if (was_inside) {
    program.is_leaving = true;
    return AfterEnd::cores_leave;
  }
  return are_all_over() ? AfterEnd::run_ends : AfterEnd::others_follow;
}

bool Programs::are_all_over() const {
  return std::all_of(list_.begin(), list_.end(),
                     [](const auto& program) { return program->phase == Phase::over; });
}

RunOutcome Programs::worst_outcome() const {
  const auto worst = std::max_element(list_.begin(), list_.end(), [](const auto& a, const auto& b) {
    return a->outcome.code < b->outcome.code;
  });
  RunOutcome outcome = (*worst)->outcome;
  if (!outcome.sentence.empty())
    outcome.sentence = fmt::format("{}: {}", (*worst)->title(), outcome.sentence);
  return outcome;
}

// ---- What counts (K82) ----

void Programs::count(Program& program, Cycle now, std::uint64_t executed) {
  program.count(now, executed);
  hierarchy_.end_program(program.number);
}

bool Programs::count_those_done(std::uint64_t instructions, Cycle now, const InstructionsOf& executed) {
  bool are_done = true;
  for (const auto& program : list_) {
    if (!program->is_in_detail()) continue;
    if (const std::uint64_t own = executed(*program); own >= instructions) {
      count(*program, now, own);
    } else {
      are_done = false;
    }
  }
  return are_done;
}

std::uint64_t Programs::fast_forward_instructions() const {
  std::uint64_t sum = 0;
  for (const auto& program : list_) sum += program->fast_forward.instructions();
  return sum;
}

std::uint64_t Programs::mapped_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& program : list_) sum += program->process.mapped_bytes();
  return sum;
}

void Programs::register_stats(StatRegistry& registry) const {
  if (size() == 1) return sole().process.disk().register_stats(registry, "disk");
  for (const auto& program : list_) {
    const std::string prefix = fmt::format("program.{}.", program->number + 1);
    program->process.disk().register_stats(registry, prefix + "disk");  // each of its own: clocks differ
    registry.counter(prefix + "cycles", "cycles",
                     "Cycles in detail of a program (from 1), to the end of its region or to "
                     "run.instructions; 0 before.",
                     &program->cycles);
    registry.counter(prefix + "instructions", "instructions",
                     "Instructions it had executed in detail by then.", &program->instructions);
  }
}

// ---- Waiting ----

bool Programs::awaits_time() const {
  return std::any_of(list_.begin(), list_.end(), [](const auto& program) {
    return program->is_in_detail() && program->process.next_timeout();
  });
}

std::string Programs::describe_waiting() const {
  if (size() == 1) return sole().process.describe_waiting();
  std::string text;
  for (const auto& program : list_)
    if (const std::string waiting = program->process.describe_waiting(); !waiting.empty())
      text += fmt::format("{}:\n{}", program->title(), waiting);
  return text;
}

}  // namespace rubato::chip
