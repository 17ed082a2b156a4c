// Task regions (C7): how they begin and end for cores, task units and checkers. TaskRegion chooses the
// threads that serve them.
// SPDX-License-Identifier: MIT
#include "chip/chip_impl.hpp"

namespace rubato::chip {

void Chip::Impl::task_instruction(Program& program, Thread& thread, const isa::Insn& insn) {
  if (thread.space != nullptr) {  // an executed program that does not tell that it has tasks
    const Fault fault = TasksOutside::refusal(thread);
    if (!program.process.end_by_fault(thread, fault)) report_fault(program, thread, fault);
    return;
  }
  const TasksOutside::Next next = tasks_outside.execute(program, thread, insn);
  switch (next.is) {
    case TasksOutside::Next::Is::go_on:
      return;
    case TasksOutside::Next::Is::region:
    case TasksOutside::Next::Is::worker:
      return region_instruction(thread, next.is == TasksOutside::Next::Is::worker, timeline.now());
    case TasksOutside::Next::Is::fault:
      return report_fault(program, thread, next.fault);
  }
}

void Chip::Impl::region_instruction(Thread& thread, bool worker, Cycle now) {
  if (!worker) return enter_region(thread, now);
  region.add_worker(thread);
  if (Thread* const entering = region.entering()) enter_region(*entering, now);
}

void Chip::Impl::enter_region(Thread& thread, Cycle now) {
  Program& program = programs.sole();
  const TaskRegion::Entry entry = region.enter(thread, program.process.threads(), detailed, now);
  if (entry.retry_at) timeline.schedule(*entry.retry_at, this, kEnterRegion);
  switch (entry.is) {
    case TaskRegion::Entry::Is::due:
      return begin_region(thread, now);
    case TaskRegion::Entry::Is::waiting:
      return;
    case TaskRegion::Entry::Is::waiting_in_fast_forward:
      return program.fast_forward.end_turn();
    case TaskRegion::Entry::Is::refused:
      return report_fault(program, thread, {FaultKind::task_error, thread.regs.pc, 0, entry.why});
  }
}

void Chip::Impl::begin_region(Thread& thread, Cycle now) {
  Program& program = programs.sole();
  const bool is_within_detail = std::exchange(detailed, true);
  program.phase = Program::Phase::inside;
  program.blocks.set_stop(std::nullopt);
  forget_changed_pages(program);
  for (const auto& core : cores) core->pipeline().set_time_origin(program.fast_forward.nanoseconds());
  settle(now);
  const bool is_within_roi = clock.is_in_roi();
  if (!is_within_roi) clock.enter_roi(now);
  region.begin(thread, is_within_detail, is_within_roi);
  for (std::size_t i = 0; i < cores.size(); ++i) cores[i]->enter_region(region.workers()[i], now);
  if (checkers.watches_regions())
    checkers.begin_region(region.stacks(),
                          program.heap ? program.heap->entries() : std::map<Addr, std::int32_t>{});
  task_units.begin_region(now, region.spare_workers());
  timeouts.schedule(program);
}

void Chip::Impl::finish_region(Cycle now) {
  if (const BlockedTasks left = task_units.left_waiting(); !left.tasks.empty())
    return task_side.no_progress(left.sentence(), left.details());
  checkers.end_region();
  task_units.leave_region(now);
  for (const auto& core : cores) core->leave_region(now);
  Thread& thread = region.end();
  settle(now);
  if (!region.is_within_roi()) clock.leave_roi(now);
  if (region.is_within_detail()) {
    program_side.on_runnable(programs.sole(), thread);
  } else {
    programs.sole().phase = Program::Phase::ahead;
    detailed = false;
  }
}

}  // namespace rubato::chip
