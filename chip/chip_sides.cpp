// SPDX-License-Identifier: MIT
#include "chip/chip_sides.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "chip/chip_impl.hpp"

namespace rubato::chip {

// ---- Cores ----

TaskSystem& Chip::CoreSide::tasks() { return chip.task_units; }
CapsuleVector& Chip::CoreSide::capsules(CoreId core) { return chip.programs.of(core).capsule_vector; }

void Chip::CoreSide::capsule_ended(CoreId core, const OpenCapsuleCall& call, Cycle now) {
  chip.capsule_calls.add(call, now);
  chip.observers.on_capsule(core, call.stub, call.since, now, call.is_doomed);
}

void Chip::CoreSide::begin_speculation() {
  if (std::exchange(speculates, true)) return;
  for (const auto& core : chip.cores) core->pipeline().begin_marks();
}

void Chip::CoreSide::find_thread(Core& core, Cycle now) {
  Program& program = chip.programs.of(core.id());
  if (!program.has(core.id()) || !program.is_in_detail() || chip.region.is_running()) return;
  switch (chip.threads.give(core, now)) {
    case ThreadsOnCores::Given::thread:
      return;
    case ThreadsOnCores::Given::none:  // perhaps the last that could have become a worker
      if (Thread* const thread = chip.region.entering()) chip.enter_region(*thread, now);
      return;
    case ThreadsOnCores::Given::program_exited:
      return chip.finish(program, program.outcome_of_exit());
  }
}

void Chip::CoreSide::slice_ended(Core& core, Cycle now) { chip.threads.end_slice(core, now); }
void Chip::CoreSide::thread_left(Core& core, const Thread& thread, Cycle now) {
  chip.threads.left(core, thread, now);
}

void Chip::CoreSide::thread_moved(Core& core, Thread& thread, Cycle now) {
  chip.threads.moved(core, thread, now);
}

SyscallOutcome Chip::CoreSide::syscall(Core& core, Thread& thread, Cycle now) {
  Program& program = chip.programs.of(core.id());
  if (program.phase == Program::Phase::over) return SyscallOutcome::process_exited;  // at the same cycle
  Process& process = program.process;
  chip.call_clock.begin(now, thread.tid);
  // At the end of the program files get what is committed.
  constexpr std::uint64_t kExitGroup = 94;
  const bool is_at_once = core.makes_calls_at_once() && thread.regs.x[reg::a7] != kExitGroup;
  program.system_calls.begin(core.id(), now, !is_at_once);
  chip.checkers.enter_kernel(core.task(), is_at_once);
  const auto [low, high] = core.pipeline().rights().own_stack();
  const SyscallOutcome result =
      is_at_once ? process.syscall_at_once(thread, low, high) : process.syscall(thread);
  chip.checkers.leave_kernel();
  program.system_calls.end();
  if (result == SyscallOutcome::process_exited) chip.finish(program, program.outcome_of_exit());
  chip.forget_changed_pages(program);
  chip.timeouts.schedule(program);
  return result;
}

bool Chip::CoreSide::fault(Core& core, Thread& thread, const Fault& fault, Cycle now) {
  Program& program = chip.programs.of(core.id());
  if (program.phase == Program::Phase::over) return false;  // at the same cycle
  chip.call_clock.set(now);
  program.system_calls.begin(core.id(), now);
  chip.checkers.enter_kernel(core.task());
  const bool is_breakpoint = chip.debug && fault.kind == FaultKind::breakpoint;  // the debugger's first
  const bool is_handled =
      fault.kind != FaultKind::task_error && !is_breakpoint && program.process.deliver_fault(thread, fault);
  chip.checkers.leave_kernel();
  program.system_calls.end();
  if (is_handled) return true;
  if (program.process.end_by_fault(thread, fault)) {
    if (program.process.exited()) chip.finish(program, program.outcome_of_exit());
    chip.timeouts.schedule(program);
    return false;
  }
  if (chip.debug && chip.is_debugged(thread, fault)) return !chip.outcome;
  chip.report_fault(program, thread, fault, core.task_descriptor());
  return false;
}

void Chip::CoreSide::region_returned(Core& core, Cycle now) {
  if (Program& program = chip.programs.of(core.id()); program.is_in_detail())
    chip.leave_detail_of(program, now);
}

void Chip::CoreSide::drop_decoded_blocks(CoreId core) {
  GuestSpace* const space = chip.threads.space_of(core);
  (space != nullptr ? space->blocks : chip.programs.of(core).blocks).flush();
}

void Chip::CoreSide::create_outside_task(Core& core, const TaskDescriptor& task, Cycle) {
  // Else the region instruction of that program will be refused.
  if (core.thread()->space == nullptr) chip.tasks_outside.create(task);
}

void Chip::CoreSide::region_instruction(Core& core, Thread& thread, bool worker, Cycle now) {
  if (chip.tasks_outside.refuses_regions() || thread.space != nullptr)
    return chip.report_fault(chip.programs.of(core.id()), thread, TasksOutside::refusal(thread));
  chip.threads.left_for_region(core, thread, now);
  chip.region_instruction(thread, worker, now);
  if (!chip.region.is_running()) core.wake(now);  // for another thread
}

std::uint64_t Chip::CoreSide::suspend(const SuspendedTask& task) { return chip.region.suspend(task); }
SuspendedTask Chip::CoreSide::resume(std::uint64_t run) { return chip.region.resume(run); }
Worker Chip::CoreSide::take_worker(const Core& core) { return chip.region.take(tile_of(core.id())); }
void Chip::CoreSide::give_back(const Core& core, const Worker& worker) {
  chip.region.give_back(tile_of(core.id()), worker);
}

HeapCalls::Outcome Chip::CoreSide::heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) {
  return chip.heap.call(chip.programs.of(core.id()),
                        {core.id(), core.pipeline().hart(), core.thread()->tid, core.task(), attempt},
                        function, now);
}
const Fault& Chip::CoreSide::heap_fault(CoreId core) const { return chip.programs.of(core).heap->fault(); }

std::uint32_t Chip::CoreSide::core_count() const { return chip.config.chip.cores; }
std::uint32_t Chip::CoreSide::worker_count() const { return chip.region.wanted_workers(); }
TileId Chip::CoreSide::tile_of(CoreId core) const {
  return TileId{core.value / chip.config.chip.cores_per_tile};
}

void Chip::CoreSide::on_access_ready(CoreId core, LineAddr line, Cycle now) {
  chip.cores[core.value]->access_ready(line, now);
}

// ---- Task units ----

void Chip::TaskSide::wake(CoreId core, Cycle at) { chip.cores[core.value]->wake(at); }
void Chip::TaskSide::end_region(Cycle at) {
  chip.timeline.schedule(later(at, chip.timeline.now()), &chip, Impl::kRegionEnd);
}
bool Chip::TaskSide::abort_running(CoreId core, Cycle at) { return chip.cores[core.value]->abort_task(at); }
bool Chip::TaskSide::is_in_capsule(CoreId core) const { return chip.cores[core.value]->is_protected(); }

void Chip::TaskSide::become_nonspeculative(CoreId core) {
  chip.cores[core.value]->become_nonspeculative();
  chip.checkers.become_nonspeculative(core);
}
void Chip::TaskSide::become_nonspeculative_suspended(std::uint64_t id) {
  chip.checkers.become_nonspeculative_suspended(id);
}

void Chip::TaskSide::retire(Attempt& attempt, bool is_committed) {
  give_back_log(attempt);
  HeapBridge::retire(chip.programs.sole(), attempt, is_committed);
}

// Each line to the core in whose area it is: an attempt that waited may have gone on on another.
void Chip::TaskSide::give_back_log(Attempt& attempt) {
  const auto& cores = chip.cores;
  const bool is_wrong = cores.front()->capsule().has(CapsuleFault::log_line_to_wrong_core);
  if (!attempt.has_moved || is_wrong)
    return cores[attempt.core.value]->pipeline().give_back_log(attempt.log_lines);
  std::vector<LineAddr> one(1);
  for (; !attempt.log_lines.empty(); attempt.log_lines.pop_back()) {
    one.assign(1, attempt.log_lines.back());
    const std::uint64_t core = (addr_of(one.front()) - kLogBase) / kLogBytes;
    cores[core]->pipeline().give_back_log(one);
  }
}

void Chip::TaskSide::free_record(LineAddr record) {
  chip.cores[HandlerArea::core_of(record).value]->capsule().handlers().give_back(record);
}

void Chip::TaskSide::no_progress(const std::string& sentence, const std::string& details) {
  if (sentence.empty()) return chip.no_progress();
  const Symbols& symbols = chip.programs.sole().process.symbols();
  chip.end({ExitCode::no_progress, 0, name_functions(sentence, symbols), name_functions(details, symbols)});
}

bool Chip::TaskSide::awaits_time() const { return chip.programs.awaits_time(); }

// ---- Programs ----

void Chip::ProgramSide::on_runnable(Program& program, Thread& thread) {
  if (!program.is_in_detail()) return;          // fast-forward asks the process itself
  if (chip.threads.is_on_core(thread)) return;  // its own call ended the wait it had just begun
  if (const SuspendedTask* const suspended = chip.region.suspended_on(thread))
    return chip.task_units.resume(suspended->tile, suspended->task.run, chip.call_clock.now());
  if (!thread.is_worker) chip.threads.add(program, thread);
}

void Chip::ProgramSide::on_retry(Program& program, const Thread* thread) {
  if (!chip.checkers.replay) return;
  if (thread == nullptr) return chip.checkers.leave_kernel();
  const SuspendedTask* const suspended = chip.region.suspended_on(*thread);
  const bool is_doomed =
      suspended != nullptr && chip.task_units.is_doomed(suspended->tile, suspended->task.run);
  chip.checkers.enter_kernel(suspended != nullptr && !is_doomed ? suspended->task.id : 0,
                             program.process.waits_at_once(*thread));
}

void Chip::ProgramSide::on_signal(Program&, Thread& thread) { chip.threads.cut_slice(thread); }

// A marked region counts as far as it is simulated in detail. With run.roi=@markers detail is where one is
// open.
void Chip::ProgramSide::on_marker(Program& program, const Thread& thread, bool begins,
                                  const std::string& region) {
  const Markers::Mark mark = chip.markers.mark(program, begins, region, chip.programs.size() == 1);
  if (!mark.error.empty()) {
    chip.finish(program, {ExitCode::guest_fault,
                          0,
                          fmt::format("thread {} {} the region '{}', {}", thread.tid,
                                      begins ? "begins" : "ends", region, mark.error),
                          {}});
    return program.fast_forward.stop();
  }
  const Cycle now = chip.call_clock.now();
  if (chip.detailed) chip.settle(later(now, Cycle{chip.cycles}));
  chip.clock.show_marker(begins, mark.name);
  if (!program.detail_at_markers || chip.region.is_running()) return;  // a task changes nothing about run()
  if (begins && !program.is_in_detail()) {
    program.fast_forward.stop();
  } else if (!begins && program.is_in_detail() && program.open_regions.empty()) {
    chip.timeline.schedule(now, &chip, Impl::kMarkedEnd, program.number);  // when the call is over
  }
}

std::optional<Fault> Chip::ProgramSide::host_call(Program& program, Thread& thread, std::int32_t function) {
  return chip.heap.call(program, thread, function, chip.timeline.now());
}

void Chip::ProgramSide::on_ended(Program& program, Thread& thread) {
  if (program.is_in_detail()) chip.threads.ended(program, thread);
}

std::string Chip::ProgramSide::why_no_processes(const Program& program) const {
  if (chip.programs.is_shared()) return "each program of several side by side is one process";
  if (program.has_tasks || !program.process.lock_marks().empty())
    return "a program with tasks or capsules is one process";
  if (program.heap) return "the ideal allocator (run.alloc=ideal) serves one process";
  if (chip.debug) return "the debugger (--gdb) follows one process";
  if (chip.config.run.check_capsules || chip.config.run.check_replay || chip.config.run.check_ties)
    return "the checks of tasks and capsules (run.check_*) watch one process";
  return {};
}

std::uint64_t Chip::ProgramSide::most_numbers() const { return chip.hierarchy->fewest_sets(); }

void Chip::ProgramSide::on_unused(Program& program, GuestSpace& space) {
  chip.threads.forget(program, space);
  const LineAddr first = line_of_program(space.number, LineAddr{});
  chip.hierarchy->forget(first, LineAddr{first.value + ((std::uint64_t{1} << kOwnLineBits) - 1)});
}

Cycle Chip::ProgramSide::time() const { return chip.call_clock.now(); }
LockTickets::Runner Chip::ProgramSide::runner_of(CoreId core) const { return chip.threads.runner_of(core); }

}  // namespace rubato::chip
