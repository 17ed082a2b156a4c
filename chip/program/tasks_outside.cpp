// SPDX-License-Identifier: MIT
#include "chip/program/tasks_outside.hpp"

namespace rubato::chip {

TasksOutside::Next TasksOutside::execute(Program& program, Thread& thread, const isa::Insn& insn) {
  using Is = Next::Is;
  HartState& hart = thread.regs;
  switch (insn.op) {
    case isa::Op::task_create:
      if (is_shared_) return {Is::fault, refusal(thread)};
      tasks_.create_before_region(descriptor_of(hart, static_cast<std::uint32_t>(insn.imm)));
      break;
    case isa::Op::task_read:
      hart.registers()[insn.rd] = read(static_cast<isa::ReadSelector>(insn.imm), hart);
      break;
    case isa::Op::capsule_call:
    case isa::Op::capsule_vector:
    case isa::Op::capsule_return:
    case isa::Op::capsule_on_abort:
      return execute_capsule(program, hart, insn);
    case isa::Op::task_region:
      if (is_shared_) return {Is::fault, refusal(thread)};
      return {static_cast<isa::RegionOp>(insn.imm) == isa::RegionOp::worker ? Is::worker : Is::region, {}};
    default:
      return {Is::fault, {FaultKind::illegal_instruction, hart.pc, 0, {}}};
  }
  hart.pc += insn.length;
  return {};
}

TasksOutside::Next TasksOutside::execute_capsule(Program& program, HartState& hart, const isa::Insn& insn) {
  using Is = Next::Is;
  CapsuleVector& capsule_vector = program.capsule_vector;
  std::string error;
  switch (insn.op) {
    case isa::Op::capsule_call:
      error = capsule_vector.refusal(hart);
      if (error.empty()) {
        capsule_vector.enter(hart, insn.rd == reg::ra);
        return {};
      }
      break;
    case isa::Op::capsule_return:
      if (hart.capsule_depth == 0) return {Is::fault, {FaultKind::illegal_instruction, hart.pc, 0, {}}};
      CapsuleVector::leave(hart);
      return {};
    case isa::Op::capsule_vector:
      error = capsule_vector.set(hart.x[reg::a0], hart.x[reg::a1]);
      break;
    default:
      break;
  }
  if (!error.empty()) return {Is::fault, {FaultKind::task_error, hart.pc, 0, error}};
  hart.pc += insn.length;
  return {};
}

std::uint64_t TasksOutside::read(isa::ReadSelector selector, const HartState& hart) const {
  switch (selector) {
    case isa::ReadSelector::cores:
      return config_.chip.cores;
    case isa::ReadSelector::workers:
      return workers_;
    case isa::ReadSelector::capsule_depth:
      return hart.capsule_depth;
    case isa::ReadSelector::has_capsules:
      return config_.task.capsules ? 1 : 0;
    default:
      return 0;
  }
}

}  // namespace rubato::chip
