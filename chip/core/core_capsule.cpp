// What a core does at the four capsule instructions: P12, P13, P21, P22, P27; Espresso, Sec. IV-B, V-C.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <string>

#include "chip/capsule/vector.hpp"
#include "chip/core/core.hpp"
#include "chip/isa/task_instructions.hpp"

namespace rubato::chip {

/// Carries out a DoomPlan on one core.
class Core::Doomer final : public EventHandler {
 public:
  Doomer(Core& core, DoomPlan& plan) : core_(core), plan_(plan) {}

  void enter(Cycle at) {
    if (plan_.begun[core_.task_.id]++ >= plan_.attempts) return;
    ++calls_;
    core_.timeline_.schedule(at + plan_.delay, this, 0, calls_);
  }
  void leave() { ++calls_; }

  void on_event(Cycle now, std::uint32_t, std::uint64_t call) override {
    if (call != calls_ || !core_.is_protected()) return;
    ++plan_.dooms;
    core_.host_.tasks().doom(core_.id_, AbortCause::conflict, now);
  }

 private:
  Core& core_;
  DoomPlan& plan_;
  std::uint64_t calls_ = 0;  // an event is for the call of its number
};

void Core::inject(CapsuleFault fault, DoomPlan* plan) {
  capsule_fault_ = fault;
  pipeline_.inject(fault);
  doomer_ = plan != nullptr ? std::make_shared<Doomer>(*this, *plan) : nullptr;
}

bool Core::on_capsule_instruction(Cycle now) {
  switch (pipeline_.insn().op) {
    case isa::Op::capsule_call:
      return on_capsule_call(now);
    case isa::Op::capsule_return:
      if (pipeline_.hart().capsule_depth == 0) break;
      pipeline_.leave_capsule();
      if (doomer_ != nullptr && pipeline_.hart().capsule_depth == 0) doomer_->leave();
      if (pipeline_.hart().capsule_depth == 0) end_capsule_call(pipeline_.cycle());
      if (activity_ != Activity::doomed || pipeline_.hart().capsule_depth != 0) return true;
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
              : host_.capsules().set(hart.x[reg::a0], hart.x[reg::a1]);
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

std::string Core::call_refusal() const {
  if (capsule_fault_ == CapsuleFault::vector_unchecked) return {};
  return host_.capsules().refusal(pipeline_.hart());
}

bool Core::is_bad_call() const {
  const HartState& hart = pipeline_.hart();
  const auto [low, high] = pipeline_.rights().own_stack();
  const Addr sp = hart.x[reg::sp];
  if (capsule_fault_ == CapsuleFault::stack_unchecked) return !call_refusal().empty();
  return !call_refusal().empty() || sp % 16 != 0 || sp > high || sp < low ||
         sp - low < config_.task.capsule_stack || handlers_.left() < config_.task.capsule_handlers;
}

bool Core::on_capsule_call(Cycle now) {
  const HartState& hart = pipeline_.hart();
  if (hart.capsule_depth == 0) {
    if (is_speculating() && is_bad_call()) return !is_exception(now);
    caller_stack_ = hart.x[reg::sp];
    call_handlers_ = 0;
  }
  if (const std::string refusal = call_refusal(); !refusal.empty())
    return on_fault({FaultKind::task_error, hart.pc, 0, refusal}, now);
  if (pipeline_.enter_capsule(host_.capsules(), config_.task.capsule_call_cycles)) {
    if (hart.capsule_depth == 1 && in_region_) capsule_call_ = {hart.pc, pipeline_.cycle()};
    if (doomer_ != nullptr && hart.capsule_depth == 1 && is_speculating())
      doomer_->enter(later(now, pipeline_.cycle()));
    return true;
  }
  blocked_ = true;
  return false;
}

TaskDescriptor handler_of(const HartState& hart, std::uint32_t flags) {
  TaskDescriptor handler = descriptor_of(hart, flags);
  handler.type = TaskType::nonspec;
  return handler;
}

bool Core::on_abort_handler(Cycle now) {
  const HartState& hart = pipeline_.hart();
  const bool is_doomed = activity_ == Activity::doomed;
  if (is_speculating() && config_.task.capsules && hart.capsule_depth == 0) return !is_exception(now);
  const TaskDescriptor handler = handler_of(hart, static_cast<std::uint32_t>(pipeline_.insn().imm));
  if (is_protected() || is_doomed) {
    if (call_handlers_ == config_.task.capsule_handlers)
      return on_fault({FaultKind::task_error, hart.pc, 0,
                       fmt::format("a capsule call registered more than {} handlers (task.capsule_handlers)",
                                   config_.task.capsule_handlers)},
                      now);
    if (!pipeline_.store_record(handlers_.front())) {
      blocked_ = true;
      return false;
    }
    ++call_handlers_;
    if (is_doomed) {
      host_.tasks().run_handler(id_, {handler, handlers_.take()}, later(now, pipeline_.cycle()));
    } else {
      host_.tasks().on_abort(id_, {handler, handlers_.take()});
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
  const Addr stub = capsule_call_.stub;
  end_capsule_call(at);
  capsule_call_ = {stub, at};
  pipeline_.doom();
  stalled_ = blocked_ = promotes_ = false;
  task_.attempt = nullptr;
  activity_ = Activity::doomed;
  wakeup_.cancel();
  wakeup_.schedule(at);
}

// What only the capsule's own code can cause is its error, not misspeculation (P42).
bool Core::dooms(const Fault& fault, Cycle now) {
  const bool is_access = fault.kind == FaultKind::load_access || fault.kind == FaultKind::store_access;
  if (!fault.is_of_task && (!is_access || pipeline_.rights().is_in_untracked_page(fault.address)))
    return false;
  const Cycle at = later(now, pipeline_.cycle());
  account_until(at);
  if (host_.tasks().exception(id_, at, true) && activity_ == Activity::task) doom(at);
  return true;
}

void Core::report_capsule_call(Cycle at) {
  const auto [stub, since] = capsule_call_;
  host_.capsule_ended(id_, stub, since, later(since, at), activity_ == Activity::doomed);
  capsule_call_ = {};
}

void Core::end_doomed(Cycle at) {
  account_until(at);
  host_.tasks().end_doomed(id_, at);
  leave_task(at);
}

}  // namespace rubato::chip
