// The contract between semantics.inc and an interpreter. Include it in the .cpp of an interpreter, inside no
// namespace, then define the macros below, then include semantics.inc inside the run loop with RUBATO_INSN
// defined.
//
//   static const void* const labels[] = {
//   #define RUBATO_INSN(name, ...) &&op_##name,
//   #include "chip/isa/semantics.inc"
//   #undef RUBATO_INSN
//   };
//   ... goto *labels[static_cast<unsigned>(insn->op)];
//   #define RUBATO_INSN(name, ...) op_##name: { PROLOGUE; __VA_ARGS__; EPILOGUE; ++insn; DISPATCH; }
//   #include "chip/isa/semantics.inc"
//
// The interpreter defines:
//   INSN             const Insn&, the instruction
//   REGS             std::uint64_t*, HartState::registers(): x, f, sink, by uniform numbers
//   STATE            HartState&; only fcsr is touched by bodies
//   PC               Addr of the instruction: block pc + INSN.offset
//   LOAD(T, name, address)             declares `const T name` and loads it
//   STORE(T, address, value)           stores the T `value`
//   AMO(T, name, address, new_value)   declares `const T name` = old value, stores new_value (an expression
//   of name);
//                                      address must be aligned, else TRAP(misaligned_atomic, address)
//   LR(T, name, address)               like LOAD, aligned, and makes the reservation
//   SC(T, name, address, value)        declares `const std::uint64_t name`: 0 stored, 1 failed; ends the
//   reservation FENCE()                            memory fence; the body goes on to the next instruction
//   JUMP(target)             ends the block: direct jump (the same target each time: may be linked)
//   JUMP_INDIRECT(target)    ends the block: target may differ each time
//   BRANCH(condition, target)  ends the block: to target, or to NEXT_PC
//   NEXT_BLOCK()             ends the block: to NEXT_PC
//   NOTE()                   begins the block and is no instruction: show the hart (BlockCache::show_note),
//   then
//                            go on behind it, uncounted; never returns to the body
//   TRAP(kind, address)      ends execution: Fault{FaultKind::kind, PC, address}; the pc stays at the
//   instruction
//   EVENT(kind)              ends the block: kind is ecall, fence_i, stop or host_call; the last two are no
//                            instructions (BlockCache): do not count them. pc stays at the instruction
//   TASK(name)               ends the block: a task instruction; the end of semantics.inc lists the
//                            names
//   READ_COUNTER(number)     value of csr::cycle, csr::time or csr::instret
// LOAD, STORE, AMO, LR, SC may leave the interpreter (fault, cache miss, ...): nothing has been written then,
// and executing the same Insn again is correct. They are used as statements at the top of a body, in a scope
// of its own. JUMP ... TASK are the last statement on their path and never return to the body.
//
// Host floating point: FP bodies run with round-to-nearest, masked exceptions and gather flags in the sticky
// bits of MXCSR. The interpreter calls fp::enter() before its loop, or before the first block that has_float,
// and fp::leave(STATE) when it stops executing this hart (see fp.hpp). FP instructions never change the
// host's rounding mode.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "chip/isa/cache_block.hpp"
#include "chip/isa/fp.hpp"
#include "chip/isa/fp_more.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/isa/insn.hpp"
#include "chip/isa/integer.hpp"
#include "chip/isa/task_instructions.hpp"

// Derived macros, the same for every interpreter.
#define RS1 (REGS[INSN.rs1])
#define RS2 (REGS[INSN.rs2])
#define RS3 (REGS[INSN.rs3])
#define IMM (static_cast<std::uint64_t>(static_cast<std::int64_t>(INSN.imm)))
#define NEXT_PC (PC + INSN.length)
#define WRITE_RD(value) REGS[INSN.rd] = (value)
#define FFLAGS (STATE.fcsr)
// hpmcounter3 and above count nothing: the manual allows counters that are always 0.
#define CSR_READ(number)                                                                             \
  ((number) <= static_cast<int>(csr::fcsr)      ? fp::read_csr(STATE, static_cast<unsigned>(number)) \
   : (number) <= static_cast<int>(csr::instret) ? READ_COUNTER(number)                               \
                                                : 0)
#define CSR_WRITE(number, value) fp::write_csr(STATE, static_cast<unsigned>(number), value)
#define ROUNDING                                                                   \
  const unsigned rm = INSN.rm == Insn::kDynamic ? (STATE.fcsr >> 5) & 7 : INSN.rm; \
  if (rm > 4) TRAP(illegal_instruction, zext32(IMM))
