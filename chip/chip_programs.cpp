// The chip at each change of a program's phase (chip/program/programs.hpp): fast-forward, detail, and the
// end.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/chip_impl.hpp"

namespace rubato::chip {
namespace {

using Phase = Program::Phase;

}  // namespace

// ---- To the regions ----

void Chip::Impl::skip_ahead(Program& program) {
  const bool is_ahead = program.phase == Phase::ahead;
  const FastForward::Result r =
      program.fast_forward.run(is_ahead ? program.roi : std::nullopt, FastForward::kAtOnce);
  switch (r.stop) {
    case FastForward::Stop::budget:
      report_progress();
      if (is_ahead && program.detail_at_markers && !program.open_regions.empty() && !outcome) arrive(program);
      return;
    case FastForward::Stop::stop_pc:
      untasked_mode = program.untasked_mode(*r.thread);
      arrive(program, r.thread);
      return;
    case FastForward::Stop::task_instruction:
      task_instruction(program, *r.thread, r.insn);
      return;
    case FastForward::Stop::chip_call:
      RUBATO_CHECK(false, "only save_checkpoint() stops at system calls");
      return;
    case FastForward::Stop::exited:
      finish(program, program.outcome_of_exit());
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
    threads.enter(*program);
  }
  if (config.run.fast_forward || !programs.sole().has_tasks) clock.enter_roi(timeline.now());
  for (Program* program : those) {
    threads.begin_profile(*program, timeline.now());
    for (const auto& thread : program->process.threads())
      if (thread->state == ThreadState::runnable && !thread->is_worker)
        program_side.on_runnable(*program, *thread);
    timeouts.schedule(*program);
  }
}

// ---- Out of them ----

void Chip::Impl::leave_detail_of(Program& program, Cycle now) {
  const Cycle left = threads.leave(program, now);
  region.forget_entering();
  if (programs.size() != 1) programs.count(program, left, threads.instructions(program));
  if (!programs.leave_detail(program, left)) return;
  const Cycle end_cycle = threads.reached();
  call_clock.advance(end_cycle);  // time goes on from where the cores are
  settle(end_cycle);
  clock.leave_roi(end_cycle);
  detailed = false;
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
  if (programs.size() == 1) return no_progress(programs.sole());
  for (const auto& program : programs)
    if (program->is_in_detail()) no_progress(*program);
}

void Chip::Impl::no_progress(Program& program) {
  std::string why = "nothing can proceed: every thread and task waits for another";
  if (region.is_running())
    for (const auto& thread : program.process.threads())
      if (!thread->is_worker && thread->state == ThreadState::runnable) {
        why = fmt::format(
            "nothing can proceed: thread {} is ready, but only tasks run until run() ends, so a task must "
            "not wait for a thread that is none of the engine's",
            thread->tid);
        break;
      }
  finish(program, {ExitCode::no_progress, 0, why, describe_waiting()});
}

std::string Chip::Impl::describe_waiting() const {
  const std::string waiting = programs.describe_waiting();
  if (programs.size() != 1) return waiting;
  return waiting + name_functions(task_units.describe_waiting(), programs.sole().process.symbols());
}

// ---- Time and pages of programs in detail ----

void Chip::Impl::expire_timeouts(Program& program, Cycle now) {
  call_clock.begin(now, 0);
  program.system_calls.begin(program.first_core(), now);  // any thread may have waited
  program.process.expire_timeouts();
  program.system_calls.end();
  if (program.process.exited()) finish(program, program.outcome_of_exit());
  timeouts.schedule(program);
}

void Chip::Impl::forget_changed_pages(Program& program) {
  if (program.memory.has_changes())
    for (const auto& [begin, end_] : program.memory.take_changes())
      hierarchy->forget(program.outer(line_of(begin)), program.outer(line_of(end_ - 1)));
  for (const auto& [number, space] : program.spaces)
    for (const auto& [begin, end_] : space->memory.take_changes())
      hierarchy->forget(line_of_program(number, line_of(begin)), line_of_program(number, line_of(end_ - 1)));
}

}  // namespace rubato::chip
