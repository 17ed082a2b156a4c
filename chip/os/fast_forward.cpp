// The turns of fast-forward.
// SPDX-License-Identifier: MIT
#include "chip/os/fast_forward.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "chip/memory/checkpoint_file.hpp"
#include "chip/os/guest_space.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kMinQuantum = 64;  // an lr/sc loop gets through in one turn (interpreter.hpp)
constexpr std::uint32_t kCounterTime = 0xc01;

}  // namespace

FastForward::FastForward(Process& process, AddressSpace& memory, isa::BlockCache& blocks,
                         std::uint64_t quantum)
    : process_(process),
      memory_(memory),
      blocks_(blocks),
      interpreter_(memory, blocks, *this),
      quantum_(std::max(quantum, kMinQuantum)) {}

std::uint64_t FastForward::read_counter(unsigned number, std::uint64_t executed) {
  const std::uint64_t instructions = instructions_ + executed;
  if (number != kCounterTime) return instructions;
  return process_.nanoseconds() + instructions / 2 - instructions_ / 2;
}

void FastForward::take_back(Thread& thread) {
  --instructions_;
  --thread.instructions;
  ++turn_left_;
  ++budget_left_;
}

void FastForward::save(CheckpointWriter& file) const {
  file.number(instructions_);
  file.number(skipped_ns_);
  file.number(turn_);
  file.number(turn_left_);
  file.number(budget_left_);
}

void FastForward::restore(CheckpointReader& file) {
  instructions_ = file.number();
  skipped_ns_ = file.number();
  turn_ = file.number();
  turn_left_ = file.number();
  budget_left_ = file.number();
  is_in_turn_ = true;
  is_turn_over_ = turn_left_ == 0;
  if (is_turn_over_) turn_left_ = 1;
}

bool FastForward::stops_before_call(const Thread& thread) {
  const Process::ChipCall call = process_.chip_call(thread);
  if (call == Process::ChipCall::marks) return true;
  if (call != Process::ChipCall::none && stops_at_ == StopsAt::chip_calls) return true;
  has_asked_for_cores_ |= call == Process::ChipCall::asks;
  return false;
}

Thread* FastForward::next_thread() {
  const auto& threads = process_.threads();
  const auto may_run = [](const Thread& thread) {
    return thread.state == ThreadState::runnable && !thread.is_worker;
  };
  if (turn_left_ != 0 && turn_ < threads.size() && may_run(*threads[turn_])) return threads[turn_].get();
  for (std::size_t i = 1; i <= threads.size(); ++i) {
    const std::size_t index = (turn_ + i) % threads.size();
    if (!may_run(*threads[index])) continue;
    turn_ = index;
    turn_left_ = quantum_;
    return threads[index].get();
  }
  return nullptr;
}

isa::BlockCache& FastForward::enter(const Thread& thread) {
  GuestSpace* const space = thread.space;
  isa::BlockCache& blocks = space != nullptr ? space->blocks : blocks_;
  interpreter_.enter(space != nullptr ? space->memory : memory_, blocks);
  if (observer_ != nullptr) interpreter_.observe(space == nullptr ? observer_ : nullptr);
  return blocks;
}

FastForward::Result FastForward::run(std::optional<Addr> stop, std::uint64_t budget) {
  blocks_.set_stop(stop);
  blocks_.synchronize();
  if (is_in_turn_) budget = std::exchange(budget_left_, budget);
  while (true) {
    if (process_.exited()) return {Stop::exited};
    const auto timeout = process_.next_timeout();
    if (timeout && *timeout <= process_.nanoseconds() && !is_in_turn_) {
      process_.expire_timeouts();
      continue;
    }
    if (std::exchange(is_stopped_, false) || budget == 0) return {Stop::budget};
    Thread* thread = next_thread();
    if (thread == nullptr) {
      if (!timeout) return {Stop::deadlock};
      skipped_ns_ += *timeout - process_.nanoseconds();
      continue;
    }
    is_in_turn_ = false;
    if (const auto result = run_turn(*thread, budget)) {
      budget_left_ = budget;
      return *result;
    }
  }
}

std::optional<FastForward::Result> FastForward::run_turn(Thread& thread, std::uint64_t& budget) {
  const SyscallOutcome delivered = process_.deliver_signals(thread);
  if (delivered == SyscallOutcome::process_exited) return Result{Stop::exited, &thread};
  if (delivered != SyscallOutcome::done) return std::nullopt;
  isa::BlockCache& blocks = enter(thread);
  if (observer_ != nullptr && thread.space == nullptr) observer_->on_turn(thread);
  while (turn_left_ != 0 && budget != 0) {
    const isa::RunResult run =
        interpreter_.run(thread.regs, std::min(turn_left_, std::max(budget, kMinQuantum)));
    instructions_ += run.instructions;
    thread.instructions += run.instructions;
    turn_left_ -= std::min(turn_left_, run.instructions);
    budget -= std::min(budget, run.instructions);
    switch (run.reason) {
      case isa::StopReason::budget:
        break;
      case isa::StopReason::stop:
        if (std::exchange(is_turn_over_, false)) turn_left_ = 0;
        return Result{Stop::stop_pc, &thread};
      case isa::StopReason::task:
        return Result{Stop::task_instruction, &thread, run.insn};
      case isa::StopReason::fence_i:
        blocks.flush();
        thread.regs.pc += 4;
        break;
      case isa::StopReason::fault:
        if ((leaves_breakpoints_ && run.fault.kind == FaultKind::breakpoint) ||
            !process_.deliver_fault(thread, run.fault)) {
          if (!process_.end_by_fault(thread, run.fault))
            return Result{Stop::fault, &thread, run.insn, run.fault};
          turn_left_ = 0;
        }
        break;
      case isa::StopReason::host_call: {
        // No instruction, but a program that does nothing else uses up its budget, too.
        turn_left_ -= std::min<std::uint64_t>(turn_left_, 1);
        budget -= std::min<std::uint64_t>(budget, 1);
        const auto fault = host_calls_->host_call(thread, run.insn.imm);
        if (fault && (fault->kind == FaultKind::task_error || !process_.deliver_fault(thread, *fault)))
          return Result{Stop::fault, &thread, run.insn, *fault};
        break;
      }
      case isa::StopReason::ecall: {
        if (stops_at_ != StopsAt::nothing && stops_before_call(thread))
          return Result{Stop::chip_call, &thread};
        const SyscallOutcome outcome = process_.syscall(thread);
        if (outcome != SyscallOutcome::moved) blocks.synchronize();
        if (outcome == SyscallOutcome::process_exited) return Result{Stop::exited, &thread};
        if (outcome == SyscallOutcome::done) break;
        turn_left_ = 0;  // waits, has ended, or lets the others run
        break;
      }
    }
  }
  return std::nullopt;
}

}  // namespace rubato::chip
