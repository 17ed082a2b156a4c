// Task regions (C7): how they begin and end, and what their tasks ask of the chip.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "chip/chip_impl.hpp"

namespace rubato::chip {

void Chip::Impl::task_instruction(Program& program, Thread& thread, const isa::Insn& insn) {
  HartState& hart = thread.regs;
  switch (insn.op) {
    case isa::Op::task_create:
      if (programs.is_shared()) return refuse_tasks(program, thread);
      task_units.create_before_region(descriptor_of(hart, static_cast<std::uint32_t>(insn.imm)));
      break;
    case isa::Op::task_read:
      hart.registers()[insn.rd] = read_outside_task(static_cast<isa::ReadSelector>(insn.imm), hart);
      break;
    case isa::Op::capsule_call:
    case isa::Op::capsule_vector:
    case isa::Op::capsule_return:
    case isa::Op::capsule_on_abort:
      return capsule_instruction(program, thread, insn);
    case isa::Op::task_region:
      if (programs.is_shared()) return refuse_tasks(program, thread);
      region_instruction(thread, static_cast<isa::RegionOp>(insn.imm) == isa::RegionOp::worker,
                         timeline.now());
      return;
    default:
      report_fault(program, thread, {FaultKind::illegal_instruction, hart.pc, 0, {}});
      return;
  }
  hart.pc += insn.length;
}

// Nothing speculates: a capsule is a vectored call and nothing more (P11).
void Chip::Impl::capsule_instruction(Program& program, Thread& thread, const isa::Insn& insn) {
  HartState& hart = thread.regs;
  CapsuleVector& capsule_vector = program.capsule_vector;
  std::string error;
  switch (insn.op) {
    case isa::Op::capsule_call:
      error = capsule_vector.refusal(hart);
      if (error.empty()) return capsule_vector.enter(hart, insn.rd == reg::ra);
      break;
    case isa::Op::capsule_return:
      if (hart.capsule_depth == 0)
        return report_fault(program, thread, {FaultKind::illegal_instruction, hart.pc, 0, {}});
      return CapsuleVector::leave(hart);
    case isa::Op::capsule_vector:
      error = capsule_vector.set(hart.x[reg::a0], hart.x[reg::a1]);
      break;
    default:
      break;
  }
  if (!error.empty()) return report_fault(program, thread, {FaultKind::task_error, hart.pc, 0, error});
  hart.pc += insn.length;
}

// A program without the symbol that tells has got that far.
void Chip::Impl::refuse_tasks(Program& program, const Thread& thread) {
  report_fault(program, thread,
               {FaultKind::task_error, thread.regs.pc, 0,
                "a task instruction, but tasks run only where one program has the whole chip"});
}

void Chip::Impl::region_instruction(Core& core, Thread& thread, bool worker, Cycle now) {
  Program& program = program_of(core.id());
  if (programs.is_shared()) return refuse_tasks(program, thread);
  program.profile.blocks(thread.tid, now, parts_of(core.id()), {ThreadWait::Kind::region, 0, 0},
                         chain_of(program, thread.regs));
  region_instruction(thread, worker, now);
  if (owner == nullptr) core.wake(now);  // for another thread
}

void Chip::Impl::region_instruction(Thread& thread, bool worker, Cycle now) {
  if (!worker) return enter_region(thread, now);
  thread.is_worker = true;
  worker_threads.push_back(&thread);
  if (entering != nullptr) enter_region(*entering, now);
}

void Chip::Impl::enter_region(Thread& thread, Cycle now) {
  entering = nullptr;
  Program& program = sole();
  const auto& threads = program.process.threads();
  const auto other = std::find_if(threads.begin(), threads.end(), [&](const auto& t) {
    return t.get() != &thread && !t->is_worker && t->state == ThreadState::runnable;
  });
  if (other != threads.end() && (worker_threads.size() + 1 < worker_count() || waits_for_others(now))) {
    if (!detailed) return program.fast_forward.end_turn();
    entering = &thread;
    return;
  }
  if (other != threads.end())
    return report_fault(program, thread,
                        {FaultKind::task_error, thread.regs.pc, 0,
                         fmt::format("run() was called while thread {} is runnable: join or block other "
                                     "threads first, only tasks run in a task region",
                                     (*other)->tid)});
  if (worker_threads.size() + 1 < cores.size())
    return report_fault(program, thread,
                        {FaultKind::task_error, thread.regs.pc, 0,
                         fmt::format("run() needs a worker thread for each of {} cores, the program started "
                                     "{}",
                                     cores.size(), worker_threads.size() + 1)});
  begin_region(thread, now);
}

void Chip::Impl::begin_region(Thread& thread, Cycle now) {
  owner = &thread;
  enter_by.reset();
  turns_to_enter = 0;
  Program& program = sole();
  is_within_detail = std::exchange(detailed, true);
  program.phase = Program::Phase::inside;
  program.blocks.set_stop(std::nullopt);
  forget_changed_pages(program);
  for (const auto& core : cores) core->pipeline().set_time_origin(program.fast_forward.nanoseconds());
  settle(now);
  is_within_roi = clock.is_in_roi();
  if (!is_within_roi) clock.enter_roi(now);
  thread.is_worker = true;
  // The program may have started fewer workers than it was asked to.
  const auto spare = std::min<std::uint32_t>(
      config.task.spare_workers,
      static_cast<std::uint32_t>(worker_threads.size() + 1 - cores.size()) / config.tiles());
  region_workers.clear();
  region_workers.push_back(worker_of(thread));
  for (std::size_t i = 1; i < cores.size() + std::size_t{spare} * config.tiles(); ++i)
    region_workers.push_back(worker_of(*worker_threads[i - 1]));
  mark_stacks(true);
  workers.begin_region(config.tiles());
  for (std::size_t i = 0; i < region_workers.size(); ++i) {
    if (i < cores.size()) {
      region_workers[i].thread->core = static_cast<std::uint32_t>(i);
      cores[i]->enter_region(region_workers[i], now);
    } else {
      workers.add(TileId{static_cast<std::uint32_t>(i - cores.size()) / spare}, region_workers[i]);
    }
  }
  if (replay) {
    std::vector<std::pair<Addr, Addr>> stacks;
    for (const Worker& worker : region_workers) stacks.emplace_back(worker.stack_low, worker.stack_high);
    replay->begin_region(std::move(stacks),
                         program.heap ? program.heap->entries() : std::map<Addr, std::int32_t>{});
  }
  if (ties) {
    std::vector<std::pair<Addr, Addr>> stacks;
    for (const Worker& worker : region_workers) stacks.emplace_back(worker.stack_low, worker.stack_high);
    ties->begin_region(std::move(stacks));
  }
  task_units.begin_region(now, spare);
  timeouts.schedule(program);
}

Worker Chip::Impl::worker_of(Thread& thread) const {
  const Addr low = thread.regs.x[reg::a0], high = thread.regs.x[reg::sp];
  const bool is_usable = low < high && sole().memory.allows_range(low, high - low, Page::kWrite);
  return {&thread, thread.regs, is_usable ? low : 0, is_usable ? high : 0};
}

void Chip::Impl::mark_stacks(bool begins) {
  for (const Worker& worker : region_workers) {
    if (worker.stack_low == worker.stack_high) continue;
    sole().memory.mark_worker_stack(worker.stack_low, worker.stack_high, begins);
    if (begins && is_within_detail) forget_stack(worker);  // may be in any core's L1
  }
}

void Chip::Impl::finish_region(Cycle now) {
  if (const BlockedTasks left = task_units.left_waiting(); !left.tasks.empty())
    return no_progress(left.sentence(), left.details());
  if (replay) replay->end_region();
  task_units.leave_region(now);
  for (const auto& core : cores) core->leave_region(now);
  mark_stacks(false);
  for (const Worker& worker : region_workers) worker.thread->regs = worker.regs;
  settle(now);
  if (!is_within_roi) clock.leave_roi(now);
  Thread& thread = *std::exchange(owner, nullptr);
  thread.is_worker = false;
  thread.regs.pc += 8;  // behind the region instruction and its `finish`
  if (is_within_detail) {
    on_runnable(sole(), thread);
  } else {
    sole().phase = Program::Phase::ahead;
    detailed = false;
    leave_detail = true;
  }
}

// A thread that is about to block, as one that joins the thread which calls run(), gets the time to do so.
bool Chip::Impl::waits_for_others(Cycle now) {
  constexpr Latency kCycles = 100'000;
  constexpr unsigned kTurns = 1000;
  if (!detailed) return ++turns_to_enter < kTurns;
  if (!enter_by) {
    enter_by = now + kCycles;
    timeline.schedule(*enter_by, this, kEnterRegion);
  }
  return now < *enter_by;
}

std::string Chip::Impl::why_nothing_proceeds() const {
  if (owner != nullptr)
    for (const auto& thread : sole().process.threads())
      if (!thread->is_worker && thread->state == ThreadState::runnable)
        return fmt::format(
            "nothing can proceed: thread {} is ready, but only tasks run until run() ends, so a task must "
            "not wait for a thread that is none of the engine's",
            thread->tid);
  return "nothing can proceed: every thread and task waits for another";
}

// Such a run may wait for what never comes: its task went wrong. Once each: a capsule may call again, for
// ever.
bool Chip::Impl::interrupt_doomed() {
  std::vector<Thread*> interrupted;
  for (SuspendedTask& waiting : workers.suspended())
    if (!waiting.call.is_interrupted && task_units.is_doomed(waiting.tile, waiting.task.run)) {
      waiting.call.is_interrupted = true;
      interrupted.push_back(waiting.worker.thread);
    }
  for (Thread* const thread : interrupted) sole().process.interrupt(*thread);
  return !interrupted.empty();
}

// Each line to the core in whose area it is: an attempt that waited may have gone on on another.
void Chip::Impl::give_back_log(Attempt& attempt) {
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

void Chip::Impl::retire(Attempt& attempt, bool is_committed) {
  give_back_log(attempt);
  std::optional<HeapCalls>& heap = sole().heap;
  if (!heap) return;
  if (is_committed) {
    heap->allocator().on_commit(attempt);
  } else {
    heap->allocator().on_abort(attempt);
  }
}

}  // namespace rubato::chip
