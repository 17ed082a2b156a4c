// The four capsule instructions on a core: P12, P13, P21, P22, P27; Espresso, Sec. IV-B, V-C.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string>

#include "chip/capsule/vector.hpp"
#include "chip/core/core.hpp"
#include "chip/isa/task_instructions.hpp"

namespace rubato::chip {

void Core::inject(CapsuleFault fault, DoomPlan* plan, OrderFault order) {
  capsule_.inject(fault, plan, *this, timeline_);
  pipeline_.inject(fault, order);
}

bool Core::on_capsule_instruction(Cycle now) {
  switch (pipeline_.insn().op) {
    case isa::Op::capsule_call:
      return on_capsule_call(now);
    case isa::Op::capsule_return:
      if (!capsule_.is_entered()) break;
      pipeline_.leave_capsule();
      if (capsule_.is_entered()) return true;
      capsule_.end(pipeline_.cycle());
      if (activity_ != Activity::doomed) return true;
      end_doomed(later(now, pipeline_.cycle()));
      return false;
    case isa::Op::capsule_on_abort:
      return on_abort_handler(now);
    case isa::Op::capsule_vector: {
      if (is_exception(now)) return false;
      const HartState& hart = pipeline_.hart();
      const std::string error =
          activity_ == Activity::task
              ? std::string("a task set the capsule vector: that is for a program's start")
              : host_.capsules(id_).set(hart.x[reg::a0], hart.x[reg::a1]);
      if (!error.empty()) return on_fault({FaultKind::task_error, hart.pc, 0, error}, now);
      pipeline_.resume_at(pipeline_.cycle() + 1);
      pipeline_.skip_instruction();
      return true;
    }
    default:
      break;
  }
  return on_fault({FaultKind::illegal_instruction, pipeline_.hart().pc, 0, {}}, now);
}

bool Core::on_capsule_call(Cycle now) {
  if (!capsule_.is_entered() && is_speculating() && capsule_.is_bad_call()) return !is_exception(now);
  const HartState& hart = pipeline_.hart();
  if (const std::string refusal = capsule_.refusal(); !refusal.empty())
    return on_fault({FaultKind::task_error, hart.pc, 0, refusal}, now);
  if (!pipeline_.enter_capsule(host_.capsules(id_), config_.task.capsule_call_cycles)) {
    blocked_ = true;
    return false;
  }
  if (hart.capsule_depth == 1) {
    capsule_.begin(pipeline_.cycle(), in_region_);
    if (is_speculating()) capsule_.follow_plan(later(now, pipeline_.cycle()));
  }
  return true;
}

TaskDescriptor handler_of(const HartState& hart, std::uint32_t flags) {
  TaskDescriptor handler = descriptor_of(hart, flags);
  handler.type = TaskType::nonspec;
  return handler;
}

bool Core::on_abort_handler(Cycle now) {
  const HartState& hart = pipeline_.hart();
  const bool is_doomed = activity_ == Activity::doomed;
  if (is_speculating() && config_.task.capsules && !capsule_.is_entered()) return !is_exception(now);
  const TaskDescriptor handler = handler_of(hart, static_cast<std::uint32_t>(pipeline_.insn().imm));
  if (is_protected() || is_doomed) {
    if (capsule_.has_most_handlers())
      return on_fault({FaultKind::task_error, hart.pc, 0,
                       fmt::format("a capsule call registered more than {} handlers (task.capsule_handlers)",
                                   config_.task.capsule_handlers)},
                      now);
    if (!pipeline_.store_record(capsule_.records().front())) {
      blocked_ = true;
      return false;
    }
    const Handler registered{handler, capsule_.take_record()};
    if (is_doomed) {
      host_.tasks().run_handler(id_, registered, later(now, pipeline_.cycle()));
    } else {
      host_.tasks().on_abort(id_, registered);
    }
  }
  if (observer_ != nullptr && activity_ == Activity::task) observer_->on_handler(id_, handler);
  pipeline_.resume_at(pipeline_.cycle() + config_.task.abort_handler_cycles);
  pipeline_.skip_instruction();
  return true;
}

// The attempt has been aborted, is about to roll back, and is forgotten here; the capsule goes on.
void Core::doom(Cycle at) {
  at = later(at, reached());
  account_until(at);
  capsule_.doom(at);
  model_->cancel(at);
  pipeline_.doom();
  stalled_ = blocked_ = promotes_ = false;
  task_.attempt = nullptr;
  activity_ = Activity::doomed;
  wakeup_.cancel();
  wakeup_.schedule(at);
}

// A fault that only the capsule's own code can cause is its error, not misspeculation (P42).
bool Core::dooms(const Fault& fault, Cycle now) {
  const bool is_access = fault.kind == FaultKind::load_access || fault.kind == FaultKind::store_access;
  if (!fault.is_of_task && (!is_access || pipeline_.rights().is_in_untracked_page(fault.address)))
    return false;
  const Cycle at = later(now, pipeline_.cycle());
  account_until(at);
  if (host_.tasks().exception(id_, at, true) && activity_ == Activity::task) doom(at);
  return true;
}

void Core::end_doomed(Cycle at) {
  account_until(at);
  host_.tasks().end_doomed(id_, at);
  leave_task(at);
}

}  // namespace rubato::chip
