// SPDX-License-Identifier: MIT
#include "chip/replay/capsule_lint.hpp"

#include <fmt/format.h>

namespace rubato::chip {

CapsuleLint::CapsuleLint(const AddressSpace& memory, const Symbols& symbols, const LockMarks& locks,
                         const LockTickets& tickets, std::uint32_t cores, std::function<Place(CoreId)> place,
                         std::function<void(const std::string&)> fail)
    : memory_(memory),
      symbols_(symbols),
      locks_(locks),
      tickets_(tickets),
      place_(std::move(place)),
      fail_(std::move(fail)),
      calls_(cores) {}

void CapsuleLint::on_instruction(const ExecutedInstruction& executed) {
  if (has_failed_) return;
  Call& call = calls_[executed.core.value];
  const Place place = place_(executed.core);
  if (place.depth == 0) {
    if (call.held != 0)
      fail(call.taken_at, "takes a lock that its capsule holds where it returns, waits or promotes");
    if (call.is_open) call = {};
    return;
  }
  if (!call.is_open) {
    call.is_open = true;  // by the call itself
    return;
  }
  follow_locks(call, executed.pc);
  if (call.held != 0 && executed.insn.op == isa::Op::task_create)
    return fail(executed.pc, "creates a task with a lock held");
  if (executed.has_access)
    check(call, executed, executed.address >= place.stack_low && executed.address < place.stack_high);
  follow(call, executed.insn);
  if (executed.has_access && locks_.is_draw(executed.insn, executed.pc)) {
    call.awaited = executed.address;
    check_wait(executed.core, executed.pc);
  }
}

void CapsuleLint::check_wait(CoreId core, Addr pc) {
  std::string chain;
  CoreId waiting = core;
  for (std::size_t others = 0; others < calls_.size(); ++others) {
    const Addr lock = calls_[waiting.value].awaited;
    if (lock == 0 || tickets_.has_turn(waiting, lock)) return;
    const LockTickets::Draw* const holder = tickets_.holder(lock);
    if (holder == nullptr || holder->runner.task == 0) return;
    chain += fmt::format("{}waits for the lock {}, held by {}", chain.empty() ? "" : ", which ",
                         symbols_.describe(lock), LockTickets::describe(*holder, symbols_));
    waiting = holder->core;
    if (waiting == core) return fail(pc, chain + ": for ever");
  }
}

void CapsuleLint::check(Call& call, const ExecutedInstruction& executed, bool is_on_stack) {
  const isa::Insn& insn = executed.insn;
  const std::uint8_t attributes = memory_.attributes(executed.address);
  if ((attributes & Page::kUntracked) != 0 || (attributes & Page::kWrite) == 0) return;
  const std::string at = symbols_.describe(executed.address);
  if (insn.rs1 == reg::tp || call.of_thread[insn.rs1])  // whose variables may lie beside its stack
    return fail(executed.pc, fmt::format("accesses {} by tp, which is its caller's", at));
  if (is_on_stack) return;
  if (insn.rs1 == reg::gp || call.own[insn.rs1])
    return fail(executed.pc, fmt::format("accesses {}, which tasks can write to", at));
  if (call.held != 0)
    return fail(executed.pc, fmt::format("accesses {}, which is tracked, with a lock held", at));
  const Addr word = executed.address & ~Addr{7};
  if (insn.is_load() && call.stored.contains(word))
    return fail(executed.pc,
                fmt::format("loads what it has stored at {}: in a doomed run that is not there", at));
  if (insn.is_store()) call.stored.insert(word);
}

void CapsuleLint::follow_locks(Call& call, Addr pc) const {
  const auto mark = locks_.at(pc);
  if (!mark) return;
  if (mark == LockMarks::Kind::taken) {
    ++call.held;
    call.taken_at = pc;
    call.awaited = 0;
  } else if (mark == LockMarks::Kind::released && call.held != 0) {
    --call.held;
  }
}

void CapsuleLint::follow(Call& call, const isa::Insn& insn) {
  switch (insn.op) {
    case isa::Op::auipc:
    case isa::Op::lui:
      call.of_thread.reset(insn.rd);
      call.own.set(insn.rd);
      break;
    case isa::Op::addi:
      call.of_thread.set(insn.rd, call.of_thread[insn.rs1] || insn.rs1 == reg::tp);
      call.own.set(insn.rd, call.own[insn.rs1]);
      break;
    case isa::Op::add:
      call.of_thread.set(insn.rd, call.of_thread[insn.rs1] || call.of_thread[insn.rs2] ||
                                      insn.rs1 == reg::tp || insn.rs2 == reg::tp);
      call.own.set(insn.rd, call.own[insn.rs1] || call.own[insn.rs2]);
      break;
    default:
      call.of_thread.reset(insn.rd);
      call.own.reset(insn.rd);
  }
}

void CapsuleLint::fail(Addr pc, const std::string& what) {
  has_failed_ = true;
  fail_(fmt::format("capsules: {} {} (docs/capsules.md, Writing a capsule)", symbols_.describe(pc), what));
}

}  // namespace rubato::chip
