// SPDX-License-Identifier: MIT
#include "chip/program/threads_on_cores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chip/capsule/capsule_calls.hpp"
#include "chip/os/wait_names.hpp"

namespace rubato::chip {
namespace {

/// The place of `regs` and what called it, innermost first.
std::vector<Addr> chain_of(Program& program, const HartState& regs) {
  std::vector<Addr> chain = program.call_chains.of(regs);
  chain.insert(chain.begin(), regs.pc);
  return chain;
}

/// The wait of a blocked thread, and the calls that it is in.
struct Blocked {
  ThreadWait wait;
  std::vector<Addr> chain;
};
/// Places in other memory than the program's own have no names.
Blocked blocked(Program& program, const Thread& thread) {
  const ThreadWait wait = program.process.wait_of(thread);
  if (thread.space != nullptr) return {{wait.kind, 0, 0}, {}};
  return {wait, chain_of(program, thread.regs)};
}

}  // namespace

// ---- A program in detail ----

void ThreadsOnCores::enter(Program& program) {
  const Thread* const caller = std::exchange(program.caller, nullptr);
  for (const auto& core : of(program)) {
    core->pipeline().set_time_origin(program.fast_forward.nanoseconds());
    if (caller != nullptr) core->pipeline().watch_return(caller->regs.x[reg::ra], caller->regs.x[reg::sp]);
  }
}

void ThreadsOnCores::begin_profile(Program& program, Cycle now) {
  for (const auto& thread : program.process.threads())
    if (thread->state == ThreadState::blocked) {
      auto [wait, chain] = blocked(program, *thread);
      program.profile.was_blocked(thread->tid, now, wait, std::move(chain));
    }
}

Cycle ThreadsOnCores::leave(Program& program, Cycle now) {
  for (const auto& core : of(program))
    if (core->activity() == Core::Activity::thread) core->release_thread(now);
  Cycle left = now;
  for (const auto& core : of(program)) left = later(left, core->reached());
  if (programs_.size() == 1) left = reached();
  stop_profile(program, left);
  program.scheduler.clear();
  return left;
}

void ThreadsOnCores::stop_profile(Program& program, Cycle now) {
  program.profile.stop(now, [this](CoreId core) -> const ThreadProfile::Parts& { return parts_of(core); });
}

// ---- Dispatch ----

bool ThreadsOnCores::is_on_core(const Thread& thread) const {
  return std::any_of(cores_.begin(), cores_.end(),
                     [&](const auto& core) { return core->thread() == &thread; });
}

void ThreadsOnCores::add(Program& program, Thread& thread) {
  program.profile.ready(thread.tid, call_clock_.now(), call_clock_.caller());
  program.scheduler.add(thread);
  wake_idle(program);
}

void ThreadsOnCores::wake_idle(const Program& program) {
  for (const auto& core : of(program))
    if (core->activity() == Core::Activity::idle && !core->in_region()) core->wake(call_clock_.now());
}

ThreadsOnCores::Given ThreadsOnCores::give(Core& core, Cycle now) {
  Program& program = programs_.of(core.id());
  const CoreId own = program.own(core.id());
  Thread* thread = nullptr;
  while (true) {
    thread = program.scheduler.pick(own);
    if (thread == nullptr) return Given::none;
    call_clock_.set(now);
    program.system_calls.begin(core.id(), now);
    const SyscallOutcome outcome = program.process.deliver_signals(*thread);
    program.system_calls.end();
    if (outcome == SyscallOutcome::process_exited) return Given::program_exited;
    if (outcome == SyscallOutcome::done) break;  // else another thread follows
    if (outcome == SyscallOutcome::blocked) left(core, *thread, now);
  }
  enter_space(core, program, thread->space);
  thread->core = own.value;
  core.run_thread(*thread, now, slice_);
  program.profile.runs(thread->tid, core.id(), core.pipeline().cycle(), parts_of(core.id()));
  return Given::thread;
}

void ThreadsOnCores::end_slice(Core& core, Cycle now) {
  Program& program = programs_.of(core.id());
  const CoreId own = program.own(core.id());
  const bool may_stay = core.thread()->may_run_on(own);
  if (may_stay && !program.scheduler.has_waiting(own) && !program.process.has_signal(*core.thread())) {
    core.extend_slice(slice_);
    return;
  }
  Thread* const thread = core.release_thread(now);
  program.profile.yields(thread->tid, later(now, core.pipeline().cycle()), parts_of(core.id()));
  program.scheduler.add(*thread);
  core.wake(now);
  if (!may_stay) wake_idle(program);
}

void ThreadsOnCores::cut_slice(const Thread& thread) {
  for (const auto& core : cores_)
    if (core->activity() == Core::Activity::thread && core->thread() == &thread) core->end_slice();
}

void ThreadsOnCores::left(Core& core, const Thread& thread, Cycle now) {
  const ThreadProfile::Parts& parts = parts_of(core.id());
  Program& program = programs_.of(core.id());
  ThreadProfile& profile = program.profile;
  if (thread.state == ThreadState::exited) return profile.ends(thread.tid, now, parts);
  if (thread.state == ThreadState::runnable)
    return profile.yields(thread.tid, now, parts);  // woken meanwhile
  auto [wait, chain] = blocked(program, thread);
  profile.blocks(thread.tid, now, parts, wait, std::move(chain));
}

void ThreadsOnCores::moved(Core& core, Thread& thread, Cycle now) {
  Program& program = programs_.of(core.id());
  program.profile.yields(thread.tid, now, parts_of(core.id()));
  program.scheduler.add(thread);
}

void ThreadsOnCores::ended(Program& program, Thread& thread) {
  const Cycle now = call_clock_.now();
  for (const auto& core : of(program)) {
    if (core->activity() != Core::Activity::thread || core->thread() != &thread) continue;
    core->release_thread(now);
    program.profile.ends(thread.tid, later(now, core->pipeline().cycle()), parts_of(core->id()));
    return core->wake(now);
  }
  program.scheduler.remove(thread);
  program.profile.ends(thread.tid, now, {});
}

// ---- Processes ----

void ThreadsOnCores::enter_space(Core& core, Program& program, GuestSpace* space) {
  if (space_of(core.id()) == space) return;
  if (spaces_.empty()) spaces_.resize(cores_.size());
  spaces_[core.id().value] = space;
  core.pipeline().enter(space != nullptr ? space->memory : program.memory,
                        space != nullptr ? space->blocks : program.blocks, space == nullptr);
  if (enter_space_) enter_space_(core, program, space);
}

void ThreadsOnCores::forget(Program& program, const GuestSpace& space) {
  for (const auto& core : of(program))
    if (space_of(core->id()) == &space) enter_space(*core, program, nullptr);
}

void ThreadsOnCores::left_for_region(Core& core, const Thread& thread, Cycle now) {
  Program& program = programs_.of(core.id());
  program.profile.blocks(thread.tid, now, parts_of(core.id()), {ThreadWait::Kind::region, 0, 0},
                         chain_of(program, thread.regs));
}

// ---- What cores are at ----

void ThreadsOnCores::sample() {
  for (const auto& core : cores_) {
    const HartState& regs = core->pipeline().hart();
    Program& program = programs_.of(core->id());
    if (space_of(core->id()) != nullptr) continue;  // its functions are other ones
    if (core->activity() == Core::Activity::thread) {
      program.profile.sample(core->thread()->tid, chain_of(program, regs));
    } else if (core->activity() == Core::Activity::task) {
      program.profile.sample(core->thread()->tid, {regs.pc});
    }
  }
  for (const auto& program : programs_)
    program->profile.end_samples([&](const std::vector<Addr>& chain) {
      const Symbols& symbols = program->process.symbols();
      const auto calls = called_by(
          chain, [&](Addr a) { return symbols.describe(a); }, [&](Addr a) { return symbols.has_source(a); });
      return !describe_wait(ThreadWait::Kind::none, calls).empty();
    });
}

LockTickets::Runner ThreadsOnCores::runner_of(CoreId core) const {
  const Core& at = *cores_[core.value];
  return {at.task_of_run(), at.thread() != nullptr ? at.thread()->tid : 0};
}

std::string ThreadsOnCores::describe() const {
  std::string text;
  for (const auto& core : cores_) {
    const bool is_doomed = core->activity() == Core::Activity::doomed;
    const Program& program = programs_.of(core->id());
    const Process& process = program.process;
    if (core->thread() == nullptr || (core->in_region() && core->task() == 0 && !is_doomed)) continue;
    text += fmt::format("core {}: thread {} at {}", core->id().value, core->thread()->tid,
                        process.symbols(*core->thread()).describe(core->pipeline().hart().pc));
    if (const std::uint64_t task = core->task_of_run(); task != 0) text += fmt::format(", task {}", task);
    if (const OpenCapsuleCall& call = core->capsule().call(); call.stub != 0) {
      text +=
          fmt::format(", in capsule {} since cycle {}{}", capsule_name(process.symbols().describe(call.stub)),
                      call.since.value, is_doomed ? ", its task aborted" : "");
      if (const auto lock = process.lock_marks().awaited(core->pipeline().hart(), program.memory);
          lock && !program.lock_tickets.has_turn(core->id(), *lock)) {
        const LockTickets::Draw* const holder = program.lock_tickets.holder(*lock);
        text += fmt::format(", waits for the lock {}, {}", process.symbols().describe(*lock),
                            holder != nullptr ? "held by " + LockTickets::describe(*holder, process.symbols())
                                              : "which was taken before the region of interest");
      }
    }
    text += '\n';
  }
  return text;
}

std::uint64_t ThreadsOnCores::instructions() const {
  std::uint64_t sum = 0;
  for (const auto& core : cores_) sum += core->pipeline().counters().instructions;
  return sum;
}

std::uint64_t ThreadsOnCores::instructions(const Program& program) const {
  std::uint64_t sum = 0;
  for (const auto& core : of(program)) sum += core->pipeline().counters().instructions;
  return sum;
}

Cycle ThreadsOnCores::reached() const {
  Cycle latest = timeline_.now();
  for (const auto& core : cores_) latest = later(latest, core->reached());
  return latest;
}

}  // namespace rubato::chip
