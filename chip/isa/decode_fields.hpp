// Common code of the decoder's two halves: bit fields and constructors of decoded instructions. Register
// arguments are the encoded numbers 0..31; the constructors turn them into uniform ones.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/isa/decode.hpp"
#include "chip/isa/insn.hpp"

namespace rubato::chip::isa {

constexpr std::uint32_t field(std::uint32_t bits, unsigned low, unsigned width) {
  return (bits >> low) & ((1u << width) - 1);
}
constexpr std::int32_t sign_extend(std::uint32_t value, unsigned width) {
  return static_cast<std::int32_t>(value << (32 - width)) >> (32 - width);
}

inline Insn with_info(Op op) {
  Insn insn;
  const OpInfo& i = info(op);
  insn.op = op;
  insn.cls = i.cls;
  insn.bytes = i.bytes;
  insn.flags = i.flags;
  return insn;
}
inline Insn make_illegal(std::uint32_t word, unsigned length) {
  Insn insn = with_info(Op::illegal);
  insn.imm = static_cast<std::int32_t>(word);
  insn.length = static_cast<std::uint8_t>(length);
  return insn;
}
inline Insn make_r(Op op, unsigned rd, unsigned rs1, unsigned rs2) {
  Insn insn = with_info(op);
  insn.rd = static_cast<std::uint8_t>(rd == 0 ? Insn::kSink : rd);
  insn.rs1 = static_cast<std::uint8_t>(rs1);
  insn.rs2 = static_cast<std::uint8_t>(rs2);
  return insn;
}
inline Insn make_i(Op op, unsigned rd, unsigned rs1, std::int32_t imm) {
  Insn insn = make_r(op, rd, rs1, 0);
  insn.imm = imm;
  return insn;
}
/// Two sources and an immediate: stores (address register, value register) and branches.
inline Insn make_s(Op op, unsigned rs1, unsigned rs2, std::int32_t imm) {
  Insn insn = make_r(op, 0, rs1, rs2);
  insn.imm = imm;
  return insn;
}
inline Insn make_float_load(Op op, unsigned rd, unsigned rs1, std::int32_t imm) {
  Insn insn = make_i(op, 0, rs1, imm);
  insn.rd = static_cast<std::uint8_t>(rd + Insn::kFloat);
  return insn;
}
inline Insn make_float_store(Op op, unsigned rs1, unsigned rs2, std::int32_t imm) {
  return make_s(op, rs1, rs2 + Insn::kFloat, imm);
}

/// The link registers by convention: ra and t0 (the manual's return-address stack hints).
constexpr bool is_link(unsigned x) { return x == 1 || x == 5; }

inline Insn make_jump(unsigned rd, std::int32_t imm) {
  Insn insn = make_i(Op::jal, rd, 0, imm);
  if (is_link(rd)) insn.flags |= Insn::kLink;
  return insn;
}
inline Insn make_jump_indirect(unsigned rd, unsigned rs1, std::int32_t imm) {
  Insn insn = make_i(Op::jalr, rd, rs1, imm);
  if (is_link(rd)) insn.flags |= Insn::kLink;
  if (is_link(rs1) && rs1 != rd) insn.flags |= Insn::kReturn;
  return insn;
}

/// Decodes a 16-bit instruction; defined in decode_compressed.cpp.
Insn decode_compressed(std::uint32_t half);

}  // namespace rubato::chip::isa
