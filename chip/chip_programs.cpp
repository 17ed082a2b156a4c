// The chip at each change of a program's phase (chip/program/programs.hpp): fast-forward, detail, and the
// end.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/chip_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kProgressInstructions = 1 << 24;

using Phase = Program::Phase;

}  // namespace

// ---- To the regions ----

void Chip::Impl::skip_ahead() { skip_ahead(programs.next_in_fast_forward()); }

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
  programs.arrive(program, caller);
  if (programs.is_detail_due()) begin_detail();
}

void Chip::Impl::begin_detail() {
  detailed = true;
  const std::vector<Program*> those = programs.begin_detail();
  for (Program* program : those) {
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
    timeouts.schedule(*program);
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
  if (programs.size() != 1) count(program, left);
  if (!programs.leave_detail(program, left)) return;
  const Cycle end_cycle = reached();
  call_clock.advance(end_cycle);  // time goes on from where the cores are
  settle(end_cycle);
  clock.leave_roi(end_cycle);
  detailed = false;
  leave_detail = true;
  if (programs.are_all_over()) end(programs.worst_outcome());
}

void Chip::Impl::finish(Program& program, RunOutcome o) {
  if (programs.size() == 1) return end(std::move(o));
  switch (programs.finish(program, std::move(o))) {
    case Programs::AfterEnd::cores_leave:
      return timeline.schedule(call_clock.now(), this, kProgramOver, program.number);
    case Programs::AfterEnd::run_ends:
      return end(programs.worst_outcome());
    case Programs::AfterEnd::others_follow:
      if (programs.is_detail_due()) begin_detail();
      return;
    case Programs::AfterEnd::nothing:
      return;
  }
}

void Chip::Impl::no_progress() {
  if (programs.size() == 1) return no_progress(sole());
  for (const auto& program : programs)
    if (program->is_in_detail()) no_progress(*program);
}

std::string Chip::Impl::describe_waiting() const {
  const std::string threads = programs.describe_waiting();
  if (programs.size() != 1) return threads;
  return threads + name_functions(task_units.describe_waiting(), sole().process.symbols());
}

// ---- What counts (K82) ----

std::uint64_t Chip::Impl::detailed_instructions(const Program& program) const {
  std::uint64_t sum = 0;
  for (const auto& core : cores_of(program)) sum += core->pipeline().counters().instructions;
  return sum;
}

void Chip::Impl::count_instructions(Cycle now) {
  if (!programs.count_those_done(config.run.instructions, now,
                                 [this](const Program& program) { return detailed_instructions(program); }))
    return;
  for (const auto& program : programs)
    if (program->is_in_detail()) finish(*program, {});
}

}  // namespace rubato::chip
