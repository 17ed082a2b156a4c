// SPDX-License-Identifier: MIT
#include "chip/core/core.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "chip/isa/task_instructions.hpp"

namespace rubato::chip {

using isa::FinishFlags;
using isa::RegionOp;
using isa::TaskOp;

namespace {

/// The class of the cycles that a core spends so, unless they are a speculative task's.
CycleClass class_of(Core::Activity activity, bool stalled) {
  switch (activity) {
    case Core::Activity::idle:
      return CycleClass::idle;
    case Core::Activity::internal:
      return CycleClass::spill;
    case Core::Activity::rollback:
    case Core::Activity::doomed:
      return CycleClass::aborted;
    case Core::Activity::thread:
    case Core::Activity::task:
      break;
  }
  return stalled ? CycleClass::stall : CycleClass::nonspeculative;
}

}  // namespace

Core::Core(CoreId id, const Config& config, Pipeline::Ports ports, Timeline& timeline, CycleAccount& account,
           CoreHost& host)
    : id_(id),
      wakeup_(timeline, *this, kGoOn, config.chip.cores <= 2),
      account_(id, account),
      timeline_(timeline),
      host_(host),
      pipeline_(id, config, ports),
      observer_(ports.observer),
      config_(config),
      worker_(pipeline_),
      capsule_(id, config, pipeline_.hart(), pipeline_.rights(), host) {
  model_ = make_core_model(config, pipeline_.parts());
}

// ---- Time and accounting ----

void Core::wake(Cycle at) {
  // Not before the end of what it does now: a wake-up does not cut a finish or an internal step short.
  at = later(later(at, timeline_.now()), reached());
  if (activity_ == Activity::idle || activity_ == Activity::rollback || stalled_ || blocked_)
    wakeup_.schedule(at);
  // Once, however many accesses it waits with: each that stays blocked waits for a wake-up of its own again.
  if (!will_retry_ && model_->is_blocked()) {
    will_retry_ = true;
    timeline_.schedule(at, this, kRetryDeferred);
  }
}

void Core::account(CycleClass c, Cycle until) { account_.charge(c, until, pipeline_.stalls()); }

Cycle Core::reached() const {
  return later(account_.accounted(), activity_ == Activity::internal ? internal_cycle_ : pipeline_.cycle());
}

void Core::account_until(Cycle until) {
  if (blocked_) pipeline_.resume_blocked(until);
  if (awaits_deferred_) pipeline_.deferrals().resume(until);
  if (is_speculating() && !stalled_) {
    account_.charge(task_.attempt->cycles, until, pipeline_.stalls());
  } else {
    account(class_of(activity_, stalled_), until);
  }
}

// ---- Contexts ----

void Core::run_thread(Thread& thread, Cycle at, Latency slice) {
  RUBATO_CHECK(activity_ == Activity::idle && !in_region_);
  account(CycleClass::idle, at);
  activity_ = Activity::thread;
  worker_.seat(thread, later(at, pipeline_.cycle()));
  pipeline_.show_thread(thread.tid);
  pipeline_.set_hart(thread.regs);
  pipeline_.leave_task();
  pipeline_.begin_context(later(at, pipeline_.cycle()));
  slice_end_ = slice == 0 ? kNever : at + slice;
  wakeup_.schedule(pipeline_.cycle());
}

Thread* Core::release_thread(Cycle at) {
  RUBATO_CHECK(activity_ == Activity::thread);
  model_->flush(at);
  awaits_deferred_ = false;
  owed_ = PipelineStop::resume;
  account(class_of(activity_, stalled_), later(at, pipeline_.drain()));
  worker_.thread()->regs = pipeline_.hart();
  activity_ = Activity::idle;
  blocked_ = false;
  return worker_.leave(later(at, pipeline_.cycle()));
}

void Core::enter_region(const Worker& worker, Cycle at) {
  RUBATO_CHECK(activity_ == Activity::idle && !in_region_);
  account(CycleClass::idle, at);
  in_region_ = true;
  worker_.take(worker, at);
  wakeup_.schedule(at);
}

void Core::leave_region(Cycle at) {
  RUBATO_CHECK(in_region_ && activity_ == Activity::idle);
  account(CycleClass::idle, at);
  in_region_ = false;
  worker_.leave(at);
}

void Core::begin_task(Cycle now) {
  account(CycleClass::idle, now);
  const DispatchedTask& task = task_;
  if (task.kind == DispatchedTask::Kind::resumed) return resume_task(host_.resume(task.run), now);
  if (task.kind != DispatchedTask::Kind::guest) {
    activity_ = Activity::internal;
    account_.run_function(0);
    internal_cycle_ = now + config_.task.dequeue_cycles;
    wakeup_.schedule(internal_cycle_);
    return;
  }
  if (!worker_.is_there()) worker_.take(host_.take_worker(*this), now);
  activity_ = Activity::task;
  promotes_ = task.promotes;
  account_.run_function(task.descriptor.name());
  if (task.speculative) {
    host_.begin_speculation();
    task.attempt->cycles.core = id_;
    task.attempt->cycles.function = task.descriptor.name();
  }
  pipeline_.begin_task(task.attempt, task.descriptor.timestamp);
  const std::uint32_t depth = pipeline_.hart().capsule_depth;
  HartState& hart = pipeline_.clear_hart();
  if (capsule_.has(CapsuleFault::depth_survives_task)) hart.capsule_depth = depth;
  worker_.begin_task(task, hart);
  if (observer_ != nullptr) observer_->on_begin(id_, hart);
  pipeline_.predict_return(hart.x[reg::ra]);
  pipeline_.begin_context(later(now, pipeline_.cycle()));
  pipeline_.resume_at(pipeline_.cycle() + config_.task.dequeue_cycles);
}

void Core::suspend_task(Cycle at) {
  const bool may_register = is_speculating() || activity_ == Activity::doomed;
  const OpenCapsuleCall call = capsule_.suspend(may_register, at);
  if (may_register) pipeline_.end_speculation();
  pipeline_.hart().capsule_depth = 0;  // the next task begins outside capsules
  account_.run_function(0);
  activity_ = Activity::idle;
  task_.run = host_.suspend({task_, worker_.give_up(at), host_.tile_of(id_), call});
  host_.tasks().suspend(id_, task_, at);
}

// Meanwhile its attempt may have been aborted, or may have become a non-speculative task.
void Core::resume_task(const SuspendedTask& suspended, Cycle now) {
  if (worker_.is_there()) host_.give_back(*this, worker_.give_up(now));
  worker_.take(suspended.worker, now);
  const bool is_doomed = task_.is_doomed;
  activity_ = is_doomed ? Activity::doomed : Activity::task;
  task_.speculative = task_.speculative || is_doomed;
  account_.run_function(task_.descriptor.name());
  pipeline_.set_hart(worker_.thread()->regs);  // what the task may touch goes with the depth
  pipeline_.begin_task(task_.attempt, task_.descriptor.timestamp);
  if (is_doomed) pipeline_.doom();
  capsule_.resume(suspended.call, is_doomed, now);
  leave_kernel(later(now, pipeline_.cycle()));
  pipeline_.resume_at(pipeline_.cycle() + config_.task.dequeue_cycles);
}

void Core::look_for_work(Cycle now) {
  if (!in_region_) {
    host_.find_thread(*this, now);
    return;
  }
  if (host_.tasks().dispatch(id_, now, task_)) {
    begin_task(now);
    if (activity_ == Activity::task || activity_ == Activity::doomed) advance(now);
  }
}

void Core::step_internal(Cycle now) {
  if (const Cycle next = host_.tasks().step_internal(id_, now); next != kNever) {
    internal_cycle_ = next;
    wakeup_.schedule(internal_cycle_);
    return;
  }
  account(CycleClass::spill, now);
  activity_ = Activity::idle;
  look_for_work(now);
}

void Core::leave_task(Cycle at) {
  capsule_.end(at);
  pipeline_.end_speculation();
  if (!capsule_.has(CapsuleFault::depth_survives_task)) pipeline_.hart().capsule_depth = 0;
  account_.run_function(0);
  activity_ = Activity::idle;
  worker_.prefetch();
  wakeup_.schedule(at);
}

// ---- Speculative tasks ----

bool Core::abort_task(Cycle at) {
  RUBATO_CHECK(is_speculating(), "the aborted task does not run on this core");
  if (is_protected()) {
    doom(at);
    return true;
  }
  at = later(at, reached());
  account_until(at);
  capsule_.end(at);
  model_->cancel(at);
  pipeline_.stop_task();
  stalled_ = blocked_ = awaits_deferred_ = false;
  task_.attempt = nullptr;
  promotes_ = false;
  activity_ = Activity::rollback;
  // The core's next action is cancelled.
  wakeup_.cancel();
  return false;
}

void Core::become_nonspeculative() {
  RUBATO_CHECK(is_speculating(), "the task to go on as a non-speculative one does not run on this core");
  account_until(reached());
  pipeline_.end_speculation();
  task_.speculative = false;
  task_.attempt = nullptr;
}

bool Core::is_exception(Cycle now) {
  if (!is_speculating()) return false;
  const Cycle at = later(now, pipeline_.cycle());
  account_until(at);
  if (!host_.tasks().exception(id_, at)) return false;
  if (activity_ == Activity::task) {
    model_->cancel(at);
    task_.attempt = nullptr;
    leave_task(at);
  }
  return true;
}

// ---- Execution ----

void Core::on_event(Cycle now, std::uint32_t kind, std::uint64_t generation) {
  if (kind != kGoOn) return perform(now, kind, LineAddr{generation});
  if (!wakeup_.is_live(generation)) return;
  pipeline_.prefetch_run();
  wakeup_.handle(now, [this](Cycle at) { go_on(at); });
}

void Core::go_on(Cycle now) {
  switch (activity_) {
    case Activity::idle:
      look_for_work(now);
      return;
    case Activity::internal:
      step_internal(now);
      return;
    case Activity::rollback:
      account(CycleClass::aborted, now);
      account_.run_function(0);
      activity_ = Activity::idle;
      look_for_work(now);
      return;
    case Activity::thread:
    case Activity::task:
    case Activity::doomed:
      break;
  }
  if (stalled_) {
    account(CycleClass::stall, now);
    stalled_ = false;
    pipeline_.resume_at(now);
  } else if (blocked_) {
    blocked_ = false;
    pipeline_.resume_blocked(now);
  } else if (awaits_deferred_) {
    awaits_deferred_ = false;
    pipeline_.deferrals().resume(now);
  }
  advance(now);
}

void Core::advance(Cycle now) {
  if (promotes_) {
    if (must_wait(pipeline_.cycle(), now)) return;
    promotes_ = false;
    if (is_exception(now)) return;
  }
  // Strict actions in turn, while the clock allows; each case either goes on or returns.
  while (true) {
    if (pipeline_.cycle() >= slice_end_ && activity_ == Activity::thread && pipeline_.cycle() <= now) {
      switch (model_->begin_leaving()) {
        case CoreModel::Leaving::awaits:
          awaits_deferred_ = true;
          return;
        case CoreModel::Leaving::drains:
          break;
        case CoreModel::Leaving::now:
          slice_end_ = kNever;
          host_.slice_ended(*this, now);
          if (activity_ != Activity::thread) return;
      }
    }
    const PipelineStop stop = owed_ == PipelineStop::resume
                                  ? model_->run(now, earlier(timeline_.next(), slice_end_), timeline_.pause())
                                  : std::exchange(owed_, PipelineStop::resume);
    if (activity_ == Activity::rollback) return;  // an access aborted its own task
    if (stop == PipelineStop::resume) return wakeup_.schedule(later(pipeline_.cycle(), now));
    if (pipeline_.deferrals().any() && stop != PipelineStop::blocked) {
      if (stop == PipelineStop::returned)
        owed_ = stop;  // it has been executed; other instructions are retried
      awaits_deferred_ = true;
      return;
    }
    switch (stop) {
      case PipelineStop::resume:  // nearly always: above
      case PipelineStop::deferred:
        return;
      case PipelineStop::drained:
        return wakeup_.schedule(later(pipeline_.cycle(), now));
      case PipelineStop::blocked:
        // An earlier writer may wait for what the capsule holds; messages under way wait for no task.
        if (is_protected() && pipeline_.blocked_by() == BlockReason::conflict_pending &&
            config_.conflict.forwarding != "on")
          return host_.tasks().doom(id_, AbortCause::forwarding, later(now, pipeline_.cycle()));
        blocked_ = true;
        return;
      case PipelineStop::ecall:
        if (!on_syscall(now)) return;
        break;
      case PipelineStop::task:
        if (!on_task_instruction(now)) return;
        break;
      case PipelineStop::fence_i:
        if (is_exception(now)) return;
        pipeline_.drain();
        pipeline_.skip_instruction();
        host_.drop_decoded_blocks(id_);
        break;
      case PipelineStop::returned:
        if (is_exception(now)) return;
        host_.region_returned(*this, later(now, pipeline_.cycle()));
        return;
      case PipelineStop::host_call:
        if (!on_heap_call(now)) return;
        break;
      case PipelineStop::fault:
        if (!on_fault(pipeline_.fault(), now)) return;
        break;
    }
  }
}

bool Core::on_fault(const Fault& fault, Cycle now) {
  if (is_protected() ? dooms(fault, now) : is_exception(now)) return false;
  worker_.thread()->regs = pipeline_.hart();
  if (!host_.fault(*this, *worker_.thread(), fault, later(now, pipeline_.cycle()))) return false;
  leave_kernel(pipeline_.cycle());
  return true;
}

bool Core::on_heap_call(Cycle now) {
  // A call takes no time, but the jump to it did: only a program that returns from one call to the next has
  // two in a cycle, and would never get any further.
  if (pipeline_.cycle() == heap_call_at_) {
    pipeline_.resume_at(heap_call_at_ + 1);
    return true;
  }
  heap_call_at_ = pipeline_.cycle();
  Attempt* const attempt = activity_ == Activity::task ? task_.attempt : nullptr;
  const auto outcome = host_.heap_call(*this, pipeline_.insn().imm, attempt, later(now, heap_call_at_));
  if (outcome == HeapCalls::Outcome::faulted) {
    if (attempt == nullptr) return on_fault(host_.heap_fault(id_), now);
    return !is_exception(now);  // gone on as a non-speculative task, it calls again
  }
  if (!pipeline_.end_host_call(outcome == HeapCalls::Outcome::returned)) return true;
  host_.region_returned(*this, later(now, pipeline_.cycle()));
  return false;
}

/// The thread, or its task, goes on with the registers the kernel left.
void Core::leave_kernel(Cycle at) {
  pipeline_.set_hart(worker_.thread()->regs);
  pipeline_.begin_context(at);
  if (observer_ != nullptr && activity_ == Activity::task)
    observer_->on_kernel_exit(id_, worker_.thread()->regs);
}

bool Core::must_wait(Cycle at, Cycle now) {
  if (at <= now || at < timeline_.next()) return false;
  wakeup_.schedule(at);
  return true;
}

bool Core::on_syscall(Cycle now) {
  if (!makes_calls_at_once() && is_exception(now)) return false;
  const Cycle at = pipeline_.drain();
  if (must_wait(at, now)) return false;
  Thread& thread = *worker_.thread();
  thread.regs = pipeline_.hart();
  const SyscallOutcome outcome = host_.syscall(*this, thread, at);
  pipeline_.count_instruction();
  pipeline_.resume_at(at + config_.core.syscall);
  switch (outcome) {
    case SyscallOutcome::done:
    case SyscallOutcome::yielded:
      leave_kernel(pipeline_.cycle());
      if (outcome == SyscallOutcome::yielded && activity_ == Activity::thread) slice_end_ = pipeline_.cycle();
      return true;
    case SyscallOutcome::thread_exited:
      if (activity_ != Activity::thread)
        return on_fault({FaultKind::task_error, pipeline_.hart().pc, 0,
                         "a task ended the thread that it runs on: a task ends by returning"},
                        now);
      [[fallthrough]];
    case SyscallOutcome::blocked:
      account_until(pipeline_.cycle());
      if (activity_ == Activity::task || activity_ == Activity::doomed) {
        suspend_task(at);
      } else {
        activity_ = Activity::idle;
        host_.thread_left(*this, *worker_.leave(pipeline_.cycle()), pipeline_.cycle());
      }
      wakeup_.schedule(pipeline_.cycle());
      return false;
    case SyscallOutcome::moved:
      RUBATO_CHECK(activity_ == Activity::thread, "a task has executed another program");
      account_until(pipeline_.cycle());
      activity_ = Activity::idle;
      host_.thread_moved(*this, *worker_.leave(pipeline_.cycle()), pipeline_.cycle());
      wakeup_.schedule(pipeline_.cycle());
      return false;
    case SyscallOutcome::process_exited:
      account_until(pipeline_.cycle());
      return false;
  }
  return false;
}

bool Core::on_task_instruction(Cycle now) {
  const isa::Insn& insn = pipeline_.insn();
  const bool in_task = activity_ == Activity::task || activity_ == Activity::doomed;
  switch (insn.op) {
    case isa::Op::task_create:
      return on_create(now);
    case isa::Op::capsule_call:
    case isa::Op::capsule_vector:
    case isa::Op::capsule_return:
    case isa::Op::capsule_on_abort:
      return on_capsule_instruction(now);
    case isa::Op::task_read:
      read_register(static_cast<unsigned>(insn.imm), insn.rd);
      pipeline_.resume_at(pipeline_.cycle() + 1);
      pipeline_.skip_instruction();
      return true;
    case isa::Op::task_promote:
      if (!in_task) break;
      if (activity_ == Activity::doomed) {
        end_doomed(later(now, pipeline_.cycle()));
        return false;
      }
      if (is_exception(now)) return false;
      pipeline_.resume_at(pipeline_.cycle() + 1);
      pipeline_.skip_instruction();
      return true;
    case isa::Op::task_finish:
      if (!in_task || pipeline_.hart().capsule_depth != 0) break;
      return on_finish(now);
    case isa::Op::task_region: {
      if (pipeline_.hart().capsule_depth != 0) break;
      if (in_task)
        return on_fault(
            {FaultKind::task_error, pipeline_.hart().pc, 0,
             "a task called run(), which cannot be nested: create tasks instead, and order what follows "
             "them with a TaskGroup (group, after)"},
            now);
      const Cycle at = pipeline_.drain();
      if (must_wait(at, now)) return false;
      const bool worker = static_cast<RegionOp>(insn.imm) == RegionOp::worker;
      pipeline_.count_instruction();
      Thread* thread = release_thread(at);
      host_.region_instruction(*this, *thread, worker, at);
      return false;
    }
    default:
      break;
  }
  return on_fault({FaultKind::illegal_instruction, pipeline_.hart().pc, 0, {}}, now);
}

bool Core::on_create(Cycle now) {
  const HartState& hart = pipeline_.hart();
  const TaskDescriptor task = descriptor_of(hart, static_cast<std::uint32_t>(pipeline_.insn().imm));
  const Cycle at = pipeline_.cycle();
  if (activity_ == Activity::thread) {
    host_.create_outside_task(*this, task, at);
  } else if (activity_ == Activity::task) {
    std::string error;
    const CreateOutcome outcome = host_.tasks().create(id_, task, at, error);
    if (activity_ != Activity::task) return false;  // making room aborted the creator
    if (outcome != CreateOutcome::accepted && is_protected()) {
      // Run anew it would find as little room: it waits to be promoted instead.
      account_until(at);
      if (host_.tasks().exception(id_, at, true) && activity_ == Activity::task) doom(at);
      return false;
    }
    if (outcome == CreateOutcome::exception && is_speculating())
      return !is_exception(now);  // gone on as a non-speculative task, it creates again
    if (!error.empty()) return on_fault({FaultKind::task_error, hart.pc, 0, error}, now);
    if (outcome == CreateOutcome::stalled) {
      account_until(at);
      stalled_ = true;
      return false;
    }
    RUBATO_CHECK(outcome == CreateOutcome::accepted, "a non-speculative task's create is no exception");
  } else if (capsule_.has(CapsuleFault::doomed_create_performed)) {  // else a doomed run creates nothing
    host_.tasks().run_handler(id_, {task, capsule_.handlers().take()}, at);
  }
  pipeline_.resume_at(at + config_.task.create_cycles);
  pipeline_.skip_instruction();
  return true;
}

bool Core::on_finish(Cycle now) {
  // A task finishes only when its stores are acknowledged (C16).
  const Cycle drained = pipeline_.drain();
  if (must_wait(drained, now)) return false;
  account_until(drained);
  const bool waits = (static_cast<std::uint32_t>(pipeline_.insn().imm) & FinishFlags::kWaits) != 0;
  const bool finished = host_.tasks().finish(id_, drained, waits);
  if (activity_ != Activity::task) return false;  // aborted
  if (!finished) {
    stalled_ = true;
    return false;
  }
  pipeline_.count_instruction();
  pipeline_.resume_at(drained + config_.task.finish_cycles);
  account_until(pipeline_.cycle());
  leave_task(pipeline_.cycle());
  return false;
}

}  // namespace rubato::chip
