// The decoded instruction: what interpreters execute and timing models look at. Compressed instructions
// expand to the same operations as their long forms; only `length` tells them apart.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip::isa {

/// Every operation, in the order of semantics.inc.
enum class Op : std::uint16_t {
#define RUBATO_INSN(name, ...) name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
};

inline constexpr unsigned kOpCount = 0
#define RUBATO_INSN(name, ...) +1
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
    ;

/// Classes of instructions that a timing model distinguishes.
enum class InsnClass : std::uint8_t {
  int_alu,
  int_mul,
  int_div,
  load,  ///< integer and floating point
  store,
  atomic,         ///< amo, lr, sc, cbo.zero
  branch,         ///< conditional
  jump,           ///< jal: target known when decoded
  jump_indirect,  ///< jalr
  fp_add,
  fp_mul,
  fp_fma,
  fp_div,
  fp_sqrt,
  fp_misc,  ///< moves, sign injection, min/max, comparisons, conversions, classification
  fence,
  system,  ///< ecall, ebreak, CSR accesses, fence.i
  task,    ///< custom-0
  pseudo,  ///< illegal, fetch_fault, block_end, note, stop, host_call: not an instruction of the guest
};
inline constexpr unsigned kInsnClassCount = static_cast<unsigned>(InsnClass::pseudo) + 1;

/// A decoded instruction. Registers have uniform numbers: 0..31 integer, 32..63 floating point. An operand
/// that the instruction does not have reads register 0 (x0, always ready); a result that no instruction reads
/// (none, or x0) goes to kSink. So a scoreboard is one array of 65 entries and needs no flags: ready =
/// max(ready[rs1], ready[rs2], ready[rs3]); ready[rd] = ready + latency.
struct Insn {
  static constexpr std::uint8_t kSink = 64;
  static constexpr std::uint8_t kFloat = 32;   ///< added to the number of an f register
  static constexpr std::uint8_t kDynamic = 7;  ///< rm: take frm

  static constexpr std::uint8_t kEndsBlock = 1;  ///< branch, jump, system, task or pseudo
  static constexpr std::uint8_t kLoads = 2;      ///< reads data memory (also amo, lr)
  static constexpr std::uint8_t kStores = 4;     ///< writes data memory (also amo, sc)
  static constexpr std::uint8_t kLink = 8;       ///< jal, jalr with rd = ra or t0: a call
  static constexpr std::uint8_t kReturn = 16;    ///< jalr with rs1 = ra or t0 (and not the same rd): a return
  static constexpr std::uint8_t kAcquire = 32, kRelease = 64;  ///< aq, rl of atomics

  Op op = Op::illegal;
  std::uint8_t rd = kSink, rs1 = 0, rs2 = 0, rs3 = 0;
  std::uint8_t rm = 0;      ///< rounding mode of FP arithmetic; 5-bit immediate of csrr*i; constant of fli
  std::uint8_t offset = 0;  ///< bytes from the start of the block to this instruction
  std::int32_t imm = 0;     ///< immediate; CSR number; for `illegal` the instruction word
  InsnClass cls = InsnClass::pseudo;
  std::uint8_t length = 4;  ///< bytes in memory: 2 or 4; 0 for block_end, note, stop and host_call
  std::uint8_t bytes = 0;   ///< size of the data access, 0 if none
  std::uint8_t flags = 0;

  bool ends_block() const { return flags & kEndsBlock; }
  bool is_load() const { return flags & kLoads; }
  bool is_store() const { return flags & kStores; }
  bool is_compressed() const { return length == 2; }
  /// Computes in floating point, or (CSRs) may look at what that left behind.
  bool is_float() const {
    return (cls >= InsnClass::fp_add && cls <= InsnClass::fp_misc) || cls == InsnClass::system;
  }
  /// Loads do so too, which are not is_float().
  bool writes_float() const { return rd >= 32 && rd < kSink; }
};
static_assert(sizeof(Insn) == 16);

/// CSR numbers of user mode.
namespace csr {
inline constexpr unsigned fflags = 0x001, frm = 0x002, fcsr = 0x003, cycle = 0xc00, time = 0xc01,
                          instret = 0xc02, hpmcounter3 = 0xc03, hpmcounter31 = 0xc1f;
}

}  // namespace rubato::chip::isa
