// Threads on cores, their system calls and faults, and calls that the simulator answers itself.
// SPDX-License-Identifier: MIT
#include "chip/chip_impl.hpp"

namespace rubato::chip {

// ---- Threads on cores ----

void Chip::Impl::on_runnable(Thread& thread) {
  if (!detailed) return;  // fast-forward asks the process itself
  for (const auto& core : cores)
    if (core->thread() == &thread) return;  // its own call ended the wait it had just begun
  if (const SuspendedTask* suspended = workers.find(thread))
    return task_units.resume(suspended->tile, suspended->task.id, later(clock, timeline.now()));
  if (thread.is_worker) return;
  profile.ready(thread.tid, later(clock, timeline.now()), calling);
  scheduler.add(thread);
  wake_idle_core();
}

void Chip::Impl::on_retry(const Thread* thread) {
  if (!replay) return;
  if (thread == nullptr) return replay->leave_kernel();
  const SuspendedTask* suspended = workers.find(*thread);
  replay->enter_kernel(suspended != nullptr ? suspended->task.id : 0);
}

void Chip::Impl::wake_idle_core() {
  for (const auto& core : cores)
    if (core->activity() == Core::Activity::idle && !core->in_region())
      core->wake(later(clock, timeline.now()));
}

void Chip::Impl::find_thread(Core& core, Cycle now) {
  if (!detailed || owner != nullptr) return;
  Thread* thread = scheduler.pick(core.id());
  if (thread == nullptr) {  // perhaps the last that could have become a worker
    if (entering != nullptr) enter_region(*entering, now);
    return;
  }
  clock = now;
  system_calls.begin(core.id(), now);
  const SyscallOutcome outcome_of_signals = process.deliver_signals(*thread);
  system_calls.end();
  if (outcome_of_signals == SyscallOutcome::process_exited) return process_exited();
  thread->core = core.id().value;
  core.run_thread(*thread, now, config.run.time_slice);
  profile.runs(thread->tid, core.id(), core.pipeline().cycle(), parts_of(core.id()));
}

void Chip::Impl::slice_ended(Core& core, Cycle now) {
  const bool may_stay = core.thread()->may_run_on(core.id());
  if (may_stay && !scheduler.has_waiting(core.id()) && !process.has_signal(*core.thread())) {
    core.extend_slice(config.run.time_slice);
    return;
  }
  Thread* thread = core.release_thread(now);
  profile.yields(thread->tid, later(now, core.pipeline().cycle()), parts_of(core.id()));
  scheduler.add(*thread);
  core.wake(now);
  if (!may_stay) wake_idle_core();
}

void Chip::Impl::thread_left(Core& core, const Thread& thread, Cycle now) {
  const ThreadProfile::Parts& parts = parts_of(core.id());
  if (thread.state == ThreadState::exited) return profile.ends(thread.tid, now, parts);
  if (thread.state == ThreadState::runnable)
    return profile.yields(thread.tid, now, parts);  // woken meanwhile
  profile.blocks(thread.tid, now, parts, process.wait_of(thread), chain_of(thread.regs));
}

void Chip::Impl::begin_profile(Cycle now) {
  for (const auto& thread : process.threads())
    if (thread->state == ThreadState::blocked)
      profile.was_blocked(thread->tid, now, process.wait_of(*thread), chain_of(thread->regs));
}

std::vector<Addr> Chip::Impl::chain_of(const HartState& regs) {
  std::vector<Addr> chain = call_chains.of(regs);
  chain.insert(chain.begin(), regs.pc);
  return chain;
}

void Chip::Impl::sample_cores() {
  for (const auto& core : cores) {
    const HartState& regs = core->pipeline().hart();
    if (core->activity() == Core::Activity::thread) {
      profile.sample(core->thread()->tid, chain_of(regs));
    } else if (core->activity() == Core::Activity::task) {
      profile.sample(core->thread()->tid, {regs.pc});
    }
  }
}

// ---- System calls and faults ----

SyscallOutcome Chip::Impl::syscall(Core& core, Thread& thread, Cycle now) {
  clock = now;
  calling = thread.tid;
  // Where the program ends, files get what is committed.
  constexpr std::uint64_t kExitGroup = 94;
  const bool is_at_once = core.makes_calls_at_once() && thread.regs.x[reg::a7] != kExitGroup;
  system_calls.begin(core.id(), now, !is_at_once);
  if (replay) replay->enter_kernel(core.task(), is_at_once);
  const auto [low, high] = core.pipeline().rights().own_stack();
  const SyscallOutcome result =
      is_at_once ? process.syscall_at_once(thread, low, high) : process.syscall(thread);
  if (replay) replay->leave_kernel();
  system_calls.end();
  if (result == SyscallOutcome::process_exited) process_exited();
  forget_changed_pages();
  schedule_timeout();
  return result;
}

void Chip::Impl::forget_changed_pages() {
  if (!memory.has_changes()) return;
  for (const auto& [begin, end_] : memory.take_changes())
    hierarchy->forget(line_of(begin), line_of(end_ - 1));
}

void Chip::Impl::schedule_timeout() {
  const auto at = process.next_timeout();
  if (!at) return;
  const std::uint64_t ns = *at > fast_forward.nanoseconds() ? *at - fast_forward.nanoseconds() : 0;
  // Cycles whose time nanoseconds() cannot give never come: whoever waits so long waits for ever.
  constexpr std::uint64_t kLast = ~std::uint64_t{0} / 1000;
  const auto in = (static_cast<unsigned __int128>(ns) * config.chip.frequency_mhz + 999) / 1000;
  if (in > kLast) return;
  const Cycle cycle = later(Cycle{static_cast<std::uint64_t>(in)}, timeline.now());
  if (cycle >= timeout_scheduled) return;
  timeout_scheduled = cycle;
  ++timeouts_pending;
  timeline.schedule(cycle, this, kTimeout);
}

bool Chip::Impl::fault(Core& core, Thread& thread, const Fault& f, Cycle now) {
  clock = now;
  system_calls.begin(core.id(), now);
  if (replay) replay->enter_kernel(core.task());
  const bool is_breakpoint = debug && f.kind == FaultKind::breakpoint;  // the debugger's first
  const bool is_handled =
      f.kind != FaultKind::task_error && !is_breakpoint && process.deliver_fault(thread, f);
  if (replay) replay->leave_kernel();
  system_calls.end();
  if (is_handled) return true;
  if (debug && is_debugged(thread, f)) return !ended;
  report_fault(thread, f);
  return false;
}

void Chip::Impl::region_returned(Core&, Cycle now) {
  const auto parts = [this](CoreId core) -> const ThreadProfile::Parts& { return parts_of(core); };
  for (const auto& core : cores)
    if (core->activity() == Core::Activity::thread) core->release_thread(now);
  profile.stop(reached(), parts);
  scheduler.clear();
  entering = nullptr;
  const Cycle end_cycle = reached();
  clock = later(clock, end_cycle);  // time goes on from where the cores are
  settle(end_cycle);
  leave_roi(end_cycle);
  detailed = false;
  leave_detail = true;
}

// ---- The ideal allocator ----

HeapCalls::Outcome Chip::Impl::heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) {
  system_calls.begin(core.id(), now);
  HartState& hart = core.pipeline().hart();
  if (replay) replay->enter_heap(core.task(), hart);
  const auto result = serve_heap_call(hart, function, {core.id(), core.thread()->tid, attempt, now});
  if (replay)
    replay->leave_heap(core.id(), hart,
                       result == HeapCalls::Outcome::returned || result == HeapCalls::Outcome::jumped,
                       heap->taken(), heap->freed());
  system_calls.end();
  return result;
}

std::optional<Fault> Chip::Impl::host_call(Thread& thread, std::int32_t function) {
  const CoreId core{static_cast<std::uint32_t>(thread.tid) % config.chip.cores};
  const auto result = serve_heap_call(thread.regs, function, {core, thread.tid, nullptr, timeline.now()});
  if (result == HeapCalls::Outcome::faulted) return heap->fault();
  return std::nullopt;
}

HeapCalls::Outcome Chip::Impl::serve_heap_call(HartState& hart, std::int32_t function,
                                               const IdealAllocator::Caller& caller) {
  const auto result = heap->call(hart, function, caller);
  if (result == HeapCalls::Outcome::unserved) blocks.set_host_calls(heap->entries());
  return result;
}

}  // namespace rubato::chip
