// Threads on cores, their system calls and faults, and calls that the simulator answers itself.
// SPDX-License-Identifier: MIT
#include "chip/chip_impl.hpp"
#include "chip/os/wait_names.hpp"

namespace rubato::chip {

// ---- Threads on cores ----

void Chip::Impl::on_runnable(Program& program, Thread& thread) {
  if (!program.is_in_detail()) return;  // fast-forward asks the process itself
  for (const auto& core : cores)
    if (core->thread() == &thread) return;  // its own call ended the wait it had just begun
  if (const SuspendedTask* suspended = workers.find(thread))
    return task_units.resume(suspended->tile, suspended->task.run, call_clock.now());
  if (thread.is_worker) return;
  program.profile.ready(thread.tid, call_clock.now(), call_clock.caller());
  program.scheduler.add(thread);
  wake_idle_core(program);
}

void Chip::Impl::on_retry(Program&, const Thread* thread) {
  if (!replay) return;
  if (thread == nullptr) return replay->leave_kernel();
  const SuspendedTask* suspended = workers.find(*thread);
  const bool is_doomed = suspended != nullptr && task_units.is_doomed(suspended->tile, suspended->task.run);
  replay->enter_kernel(suspended != nullptr && !is_doomed ? suspended->task.id : 0,
                       sole().process.waits_at_once(*thread));
}

void Chip::Impl::wake_idle_core(const Program& program) {
  for (const auto& core : cores_of(program))
    if (core->activity() == Core::Activity::idle && !core->in_region()) core->wake(call_clock.now());
}

void Chip::Impl::find_thread(Core& core, Cycle now) {
  Program& program = program_of(core.id());
  if (!program.has(core.id()) || !program.is_in_detail() || owner != nullptr) return;
  const CoreId own = program.own(core.id());
  Thread* thread = program.scheduler.pick(own);
  if (thread == nullptr) {  // perhaps the last that could have become a worker
    if (entering != nullptr) enter_region(*entering, now);
    return;
  }
  call_clock.set(now);
  program.system_calls.begin(core.id(), now);
  const SyscallOutcome outcome_of_signals = program.process.deliver_signals(*thread);
  program.system_calls.end();
  if (outcome_of_signals == SyscallOutcome::process_exited) return process_exited(program);
  thread->core = own.value;
  core.run_thread(*thread, now, config.run.time_slice);
  program.profile.runs(thread->tid, core.id(), core.pipeline().cycle(), parts_of(core.id()));
}

void Chip::Impl::slice_ended(Core& core, Cycle now) {
  Program& program = program_of(core.id());
  const CoreId own = program.own(core.id());
  const bool may_stay = core.thread()->may_run_on(own);
  if (may_stay && !program.scheduler.has_waiting(own) && !program.process.has_signal(*core.thread())) {
    core.extend_slice(config.run.time_slice);
    return;
  }
  Thread* thread = core.release_thread(now);
  program.profile.yields(thread->tid, later(now, core.pipeline().cycle()), parts_of(core.id()));
  program.scheduler.add(*thread);
  core.wake(now);
  if (!may_stay) wake_idle_core(program);
}

void Chip::Impl::thread_left(Core& core, const Thread& thread, Cycle now) {
  const ThreadProfile::Parts& parts = parts_of(core.id());
  Program& program = program_of(core.id());
  ThreadProfile& profile = program.profile;
  if (thread.state == ThreadState::exited) return profile.ends(thread.tid, now, parts);
  if (thread.state == ThreadState::runnable)
    return profile.yields(thread.tid, now, parts);  // woken meanwhile
  profile.blocks(thread.tid, now, parts, program.process.wait_of(thread), chain_of(program, thread.regs));
}

void Chip::Impl::begin_profile(Program& program, Cycle now) {
  for (const auto& thread : program.process.threads())
    if (thread->state == ThreadState::blocked)
      program.profile.was_blocked(thread->tid, now, program.process.wait_of(*thread),
                                  chain_of(program, thread->regs));
}

std::vector<Addr> Chip::Impl::chain_of(Program& program, const HartState& regs) {
  std::vector<Addr> chain = program.call_chains.of(regs);
  chain.insert(chain.begin(), regs.pc);
  return chain;
}

void Chip::Impl::sample_cores() {
  for (const auto& core : cores) {
    const HartState& regs = core->pipeline().hart();
    Program& program = program_of(core->id());
    if (core->activity() == Core::Activity::thread) {
      program.profile.sample(core->thread()->tid, chain_of(program, regs));
    } else if (core->activity() == Core::Activity::task) {
      program.profile.sample(core->thread()->tid, {regs.pc});
    }
  }
  for (const auto& program : programs)
    program->profile.end_samples([&](const std::vector<Addr>& chain) {
      const Symbols& symbols = program->process.symbols();
      const auto calls = called_by(
          chain, [&](Addr a) { return symbols.describe(a); }, [&](Addr a) { return symbols.has_source(a); });
      return !describe_wait(ThreadWait::Kind::none, calls).empty();
    });
}

// ---- System calls and faults ----

SyscallOutcome Chip::Impl::syscall(Core& core, Thread& thread, Cycle now) {
  Program& program = program_of(core.id());
  if (program.phase == Program::Phase::over) return SyscallOutcome::process_exited;  // at the same cycle
  Process& process = program.process;
  call_clock.begin(now, thread.tid);
  // Where the program ends, files get what is committed.
  constexpr std::uint64_t kExitGroup = 94;
  const bool is_at_once = core.makes_calls_at_once() && thread.regs.x[reg::a7] != kExitGroup;
  program.system_calls.begin(core.id(), now, !is_at_once);
  if (replay) replay->enter_kernel(core.task(), is_at_once);
  const auto [low, high] = core.pipeline().rights().own_stack();
  const SyscallOutcome result =
      is_at_once ? process.syscall_at_once(thread, low, high) : process.syscall(thread);
  if (replay) replay->leave_kernel();
  program.system_calls.end();
  if (result == SyscallOutcome::process_exited) process_exited(program);
  forget_changed_pages(program);
  timeouts.schedule(program);
  return result;
}

void Chip::Impl::forget_changed_pages(Program& program) {
  if (!program.memory.has_changes()) return;
  for (const auto& [begin, end_] : program.memory.take_changes())
    hierarchy->forget(program.outer(line_of(begin)), program.outer(line_of(end_ - 1)));
}

void Chip::Impl::expire_timeouts(Program& program, Cycle now) {
  call_clock.begin(now, 0);
  program.system_calls.begin(program.first_core(), now);  // any thread may have waited
  program.process.expire_timeouts();
  program.system_calls.end();
  if (program.process.exited()) process_exited(program);
  timeouts.schedule(program);
}

bool Chip::Impl::fault(Core& core, Thread& thread, const Fault& f, Cycle now) {
  Program& program = program_of(core.id());
  if (program.phase == Program::Phase::over) return false;  // at the same cycle
  call_clock.set(now);
  program.system_calls.begin(core.id(), now);
  if (replay) replay->enter_kernel(core.task());
  const bool is_breakpoint = debug && f.kind == FaultKind::breakpoint;  // the debugger's first
  const bool is_handled =
      f.kind != FaultKind::task_error && !is_breakpoint && program.process.deliver_fault(thread, f);
  if (replay) replay->leave_kernel();
  program.system_calls.end();
  if (is_handled) return true;
  if (debug && is_debugged(thread, f)) return !ended;
  report_fault(program, thread, f);
  return false;
}

void Chip::Impl::region_returned(Core& core, Cycle now) {
  if (Program& program = program_of(core.id()); program.is_in_detail()) leave_detail_of(program, now);
}

// ---- The ideal allocator ----

HeapCalls::Outcome Chip::Impl::heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) {
  Program& program = program_of(core.id());
  program.system_calls.begin(core.id(), now);
  HartState& hart = core.pipeline().hart();
  if (replay) replay->enter_heap(core.task(), hart);
  const auto result =
      serve_heap_call(program, hart, function, {program.own(core.id()), core.thread()->tid, attempt, now});
  if (ties) ties->on_heap_call(core.id());
  if (replay)
    replay->leave_heap(core.id(), hart,
                       result == HeapCalls::Outcome::returned || result == HeapCalls::Outcome::jumped,
                       program.heap->taken(), program.heap->freed());
  program.system_calls.end();
  return result;
}

std::optional<Fault> Chip::Impl::host_call(Program& program, Thread& thread, std::int32_t function) {
  const auto result =
      serve_heap_call(program, thread.regs, function,
                      {program.warm_up.own_core_of(thread), thread.tid, nullptr, timeline.now()});
  if (result == HeapCalls::Outcome::faulted) return program.heap->fault();
  return std::nullopt;
}

HeapCalls::Outcome Chip::Impl::serve_heap_call(Program& program, HartState& hart, std::int32_t function,
                                               const IdealAllocator::Caller& caller) {
  const auto result = program.heap->call(hart, function, caller);
  if (result == HeapCalls::Outcome::unserved) program.blocks.set_host_calls(program.heap->entries());
  return result;
}

}  // namespace rubato::chip
