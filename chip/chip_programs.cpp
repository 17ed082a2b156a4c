// Programs of a chip: one that has it to itself, or several side by side (K80 to K82). Each goes to its
// region of interest in fast-forward, waits there for the others, runs in detail until its region or the
// program is over, and goes on in fast-forward when no program is in detail. A program alone may come to its
// region again.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "chip/chip_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kProgressInstructions = 1 << 24;

using Phase = Program::Phase;

}  // namespace

std::vector<std::unique_ptr<Program>> Chip::Impl::make_programs(std::vector<ProgramPlace> places) {
  const bool is_mix = places.size() != 1 || places.front().cores != config.chip.cores;
  std::vector<std::unique_ptr<Program>> made;
  for (ProgramPlace& place : places) {
    if (is_mix) place.process.cores = place.cores;
    made.push_back(std::make_unique<Program>(static_cast<std::uint32_t>(made.size()), std::move(place),
                                             config, *conflicts, *hierarchy, *this));
    const Program& program = *made.back();
    if (is_mix && program.has_tasks)
      throw UsageError("{} has tasks, which run only where one program has the whole chip: start it alone",
                       program.title());
    if (program.has_tasks && config.core.model == "window")
      throw UsageError(
          "core.model=window runs programs of threads, and this one has tasks: run it with "
          "core.model=inorder");
  }
  if (config.run.contention && (is_mix || config.run.check_replay || config.core.model == "window"))
    throw UsageError(
        "run.contention watches one program on cores in order: not programs side by side (--programs), not "
        "core.model=window, and not together with run.check_replay (--check-replay)");
  if (is_mix && config.run.check_replay)
    throw UsageError(
        "run.check_replay (--check-replay) replays tasks, which programs side by side (--programs) do not "
        "have");
  if (is_mix && config.run.check_ties)
    throw UsageError(
        "run.check_ties (--check-ties) watches tasks, which programs side by side (--programs) do not have");
  if (const std::uint64_t sets = hierarchy->fewest_sets(); made.size() > 1 && made.size() >= sets)
    throw UsageError(
        "{} programs need more than {} sets in the L2s, LLC slices and directories (l2.size, llc.size, "
        "coherence.capacity), since their tags have 32 bits, but one has {}",
        made.size(), made.size(), sets);
  program_by_core.assign(config.chip.cores, made.front().get());
  for (const auto& program : made) {
    const std::uint32_t first = program->place.first_core, end = first + program->place.cores;
    RUBATO_CHECK(first % config.chip.cores_per_tile == 0 && end % config.chip.cores_per_tile == 0 &&
                     first < end && end <= config.chip.cores,
                 "a program has whole tiles");
    for (std::uint32_t core = first; core < end; ++core) program_by_core[core] = program.get();
    for (std::uint32_t core = first; core < end; core += config.chip.cores_per_tile)
      hierarchy->set_program(tile_of(CoreId{core}), program->number);
  }
  return made;
}

// ---- To the regions ----

void Chip::Impl::skip_ahead() {
  // In the order of their numbers, and those whose regions are over last.
  for (const Phase phase : {Phase::ahead, Phase::behind})
    for (const auto& program : programs)
      if (program->phase == phase) return skip_ahead(*program);
  RUBATO_CHECK(false, "no program is on its way, and the run has not ended");
}

void Chip::Impl::skip_ahead(Program& program) {
  const bool is_ahead = program.phase == Phase::ahead;
  const FastForward::Result r =
      program.fast_forward.run(is_ahead ? program.roi : std::nullopt, kProgressInstructions);
  switch (r.stop) {
    case FastForward::Stop::budget:
      report_progress();
      if (is_ahead && program.detail_at_markers && !program.open_regions.empty() && !ended) arrive(program);
      return;
    case FastForward::Stop::stop_pc:
      ran_serial = program.has_tasks && program.place.roi.empty();
      arrive(program, r.thread);
      return;
    case FastForward::Stop::task_instruction:
      task_instruction(program, *r.thread, r.insn);
      return;
    case FastForward::Stop::chip_call:
      RUBATO_CHECK(false, "only save_checkpoint() stops at system calls");
      return;
    case FastForward::Stop::exited:
      process_exited(program);
      return;
    case FastForward::Stop::deadlock:
      no_progress(program);
      return;
    case FastForward::Stop::fault:
      if (debug && is_debugged(*r.thread, r.fault)) return;
      report_fault(program, *r.thread, r.fault);
      return;
  }
}

void Chip::Impl::arrive(Program& program, const Thread* caller) {
  program.phase = Phase::there;
  program.caller = caller;
  begin_detail_if_all_are_there();
}

void Chip::Impl::begin_detail_if_all_are_there() {
  const auto is = [&](Phase phase) {
    return std::any_of(programs.begin(), programs.end(), [&](const auto& p) { return p->phase == phase; });
  };
  if (is(Phase::there) && !is(Phase::ahead)) begin_detail();
}

void Chip::Impl::begin_detail() {
  detailed = true;
  std::vector<Program*> those;
  for (const auto& program : programs)
    if (program->phase == Phase::there) those.push_back(program.get());
  for (Program* program : those) {
    program->phase = Phase::inside;
    program->was_in_detail = true;
    program->blocks.set_stop(std::nullopt);
    forget_changed_pages(*program);
    for (const auto& core : cores_of(*program))
      core->pipeline().set_time_origin(program->fast_forward.nanoseconds());
    if (const Thread* const caller = std::exchange(program->caller, nullptr))
      for (const auto& core : cores_of(*program))
        core->pipeline().watch_return(caller->regs.x[reg::ra], caller->regs.x[reg::sp]);
  }
  if (config.run.fast_forward || !sole().has_tasks) clock.enter_roi(timeline.now());
  for (Program* program : those) {
    begin_profile(*program, timeline.now());
    for (const auto& thread : program->process.threads())
      if (thread->state == ThreadState::runnable && !thread->is_worker) on_runnable(*program, *thread);
    schedule_timeout(*program);
  }
}

// ---- Out of them ----

void Chip::Impl::leave_detail_of(Program& program, Cycle now) {
  for (const auto& core : cores_of(program))
    if (core->activity() == Core::Activity::thread) core->release_thread(now);
  Cycle left = now;
  for (const auto& core : cores_of(program)) left = later(left, core->reached());
  if (programs.size() == 1) left = reached();
  program.profile.stop(left, [this](CoreId core) -> const ThreadProfile::Parts& { return parts_of(core); });
  program.scheduler.clear();
  entering = nullptr;
  if (program.phase == Phase::inside) program.phase = programs.size() == 1 ? Phase::ahead : Phase::behind;
  if (programs.size() != 1) {
    count(program, left);
    program.left_at = left;
    const auto stays = [](const auto& p) { return p->phase == Phase::inside || p->is_leaving; };
    program.is_leaving = false;
    if (std::any_of(programs.begin(), programs.end(), stays)) return;
  }
  const Cycle end_cycle = reached();
  call_clock.advance(end_cycle);  // time goes on from where the cores are
  settle(end_cycle);
  clock.leave_roi(end_cycle);
  detailed = false;
  leave_detail = true;
  if (are_all_over()) end(worst_outcome());
}

void Chip::Impl::finish(Program& program, RunOutcome o) {
  if (programs.size() == 1) return end(std::move(o));
  if (program.phase == Phase::over) return;
  const bool was_inside = program.phase == Phase::inside;
  program.phase = Phase::over;
  program.outcome = std::move(o);
  if (was_inside) {  // its cores are in the middle of something
    program.is_leaving = true;
    timeline.schedule(call_clock.now(), this, kProgramOver, program.number);
  } else if (are_all_over()) {
    end(worst_outcome());
  } else {
    begin_detail_if_all_are_there();
  }
}

bool Chip::Impl::are_all_over() const {
  return std::all_of(programs.begin(), programs.end(),
                     [](const auto& program) { return program->phase == Phase::over; });
}

RunOutcome Chip::Impl::worst_outcome() const {
  const auto worst = std::max_element(programs.begin(), programs.end(), [](const auto& a, const auto& b) {
    return a->outcome.code < b->outcome.code;
  });
  RunOutcome o = (*worst)->outcome;
  if (!o.sentence.empty()) o.sentence = fmt::format("{}: {}", (*worst)->title(), o.sentence);
  return o;
}

void Chip::Impl::no_progress() {
  if (programs.size() == 1) return no_progress(sole());
  for (const auto& program : programs)
    if (program->is_in_detail()) no_progress(*program);
}

std::string Chip::Impl::describe_waiting() const {
  if (programs.size() == 1)
    return sole().process.describe_waiting() +
           name_functions(task_units.describe_waiting(), sole().process.symbols());
  std::string text;
  for (const auto& program : programs)
    if (const std::string waiting = program->process.describe_waiting(); !waiting.empty())
      text += fmt::format("{}:\n{}", program->title(), waiting);
  return text;
}

// ---- What counts (K82) ----

std::uint64_t Chip::Impl::detailed_instructions(const Program& program) const {
  std::uint64_t sum = 0;
  for (const auto& core : cores_of(program)) sum += core->pipeline().counters().instructions;
  return sum;
}

void Chip::Impl::count(Program& program, Cycle now) {
  if (std::exchange(program.is_counted, true)) return;
  program.cycles = now.value;
  program.instructions = detailed_instructions(program);
}

void Chip::Impl::count_instructions(Cycle now) {
  bool is_enough = true;
  for (const auto& program : programs) {
    if (!program->is_in_detail()) continue;
    if (detailed_instructions(*program) >= config.run.instructions) {
      count(*program, now);
    } else {
      is_enough = false;
    }
  }
  if (!is_enough) return;
  for (const auto& program : programs)
    if (program->is_in_detail()) finish(*program, {});
}

}  // namespace rubato::chip
