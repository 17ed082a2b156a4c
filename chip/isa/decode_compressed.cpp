// Decoder of the 16-bit instructions (C extension for RV64 with D), by quadrant. Each expands to the
// operation of its long form.
// SPDX-License-Identifier: MIT
#include "chip/isa/decode_fields.hpp"

namespace rubato::chip::isa {
namespace {

/// The fields of a 16-bit instruction.
struct Half {
  std::uint32_t bits;
  unsigned funct3() const { return bits >> 13; }
  unsigned rd() const { return field(bits, 7, 5); }
  unsigned rs2() const { return field(bits, 2, 5); }
  unsigned rd_short() const { return 8 + field(bits, 2, 3); }   ///< rd' or rs2' in bits 4:2
  unsigned rs1_short() const { return 8 + field(bits, 7, 3); }  ///< rs1' or rd' in bits 9:7
  std::uint32_t bit(unsigned at, unsigned to) const { return field(bits, at, 1) << to; }
  std::uint32_t range(unsigned low, unsigned width, unsigned to) const {
    return field(bits, low, width) << to;
  }

  std::uint32_t uimm6() const { return bit(12, 5) | range(2, 5, 0); }
  std::int32_t imm6() const { return sign_extend(uimm6(), 6); }
  std::int32_t offset_w() const { return static_cast<std::int32_t>(range(10, 3, 3) | bit(6, 2) | bit(5, 6)); }
  std::int32_t offset_d() const { return static_cast<std::int32_t>(range(10, 3, 3) | range(5, 2, 6)); }
  std::int32_t stack_load_w() const {
    return static_cast<std::int32_t>(bit(12, 5) | range(4, 3, 2) | range(2, 2, 6));
  }
  std::int32_t stack_load_d() const {
    return static_cast<std::int32_t>(bit(12, 5) | range(5, 2, 3) | range(2, 3, 6));
  }
  std::int32_t stack_store_w() const { return static_cast<std::int32_t>(range(9, 4, 2) | range(7, 2, 6)); }
  std::int32_t stack_store_d() const { return static_cast<std::int32_t>(range(10, 3, 3) | range(7, 3, 6)); }
  std::int32_t add_sp() const {  // c.addi4spn
    return static_cast<std::int32_t>(range(11, 2, 4) | range(7, 4, 6) | bit(6, 2) | bit(5, 3));
  }
  std::int32_t adjust_sp() const {  // c.addi16sp
    return sign_extend(bit(12, 9) | bit(6, 4) | bit(5, 6) | range(3, 2, 7) | bit(2, 5), 10);
  }
  std::int32_t jump() const {
    return sign_extend(bit(12, 11) | bit(11, 4) | range(9, 2, 8) | bit(8, 10) | bit(7, 6) | bit(6, 7) |
                           range(3, 3, 1) | bit(2, 5),
                       12);
  }
  std::int32_t branch() const {
    return sign_extend(bit(12, 8) | range(10, 2, 3) | range(5, 2, 6) | range(3, 2, 1) | bit(2, 5), 9);
  }
};

constexpr unsigned kSp = 2, kRa = 1;

Insn illegal(Half h) { return make_illegal(h.bits, 2); }

Insn quadrant_0(Half h) {
  const unsigned base = h.rs1_short(), data = h.rd_short();
  switch (h.funct3()) {
    case 0:
      return h.add_sp() == 0 ? illegal(h) : make_i(Op::addi, data, kSp, h.add_sp());
    case 1:
      return make_float_load(Op::fld, data, base, h.offset_d());
    case 2:
      return make_i(Op::lw, data, base, h.offset_w());
    case 3:
      return make_i(Op::ld, data, base, h.offset_d());
    case 5:
      return make_float_store(Op::fsd, base, data, h.offset_d());
    case 6:
      return make_s(Op::sw, base, data, h.offset_w());
    case 7:
      return make_s(Op::sd, base, data, h.offset_d());
    default:
      return illegal(h);
  }
}

/// c.srli, c.srai, c.andi, c.sub ... c.addw
Insn arithmetic(Half h) {
  const unsigned rd = h.rs1_short(), rs2 = h.rd_short();
  switch (field(h.bits, 10, 2)) {
    case 0:
      return make_i(Op::srli, rd, rd, static_cast<std::int32_t>(h.uimm6()));
    case 1:
      return make_i(Op::srai, rd, rd, static_cast<std::int32_t>(h.uimm6()));
    case 2:
      return make_i(Op::andi, rd, rd, h.imm6());
    default:
      break;
  }
  static constexpr Op kOps[] = {Op::sub,  Op::xor_, Op::or_,     Op::and_,
                                Op::subw, Op::addw, Op::illegal, Op::illegal};
  return make_r(kOps[h.bit(12, 2) | field(h.bits, 5, 2)], rd, rd, rs2);
}

Insn quadrant_1(Half h) {
  const unsigned rd = h.rd();
  switch (h.funct3()) {
    case 0:
      return make_i(Op::addi, rd, rd, h.imm6());
    case 1:
      return rd == 0 ? illegal(h) : make_i(Op::addiw, rd, rd, h.imm6());
    case 2:
      return make_i(Op::addi, rd, 0, h.imm6());
    case 3:
      if (h.uimm6() == 0) return illegal(h);
      if (rd == kSp) return make_i(Op::addi, kSp, kSp, h.adjust_sp());
      return make_i(Op::lui, rd, 0, h.imm6() * 4096);
    case 4:
      return arithmetic(h);
    case 5:
      return make_jump(0, h.jump());
    case 6:
      return make_s(Op::beq, h.rs1_short(), 0, h.branch());
    default:
      return make_s(Op::bne, h.rs1_short(), 0, h.branch());
  }
}

/// c.jr, c.mv, c.ebreak, c.jalr, c.add
Insn moves_and_jumps(Half h) {
  const unsigned rd = h.rd(), rs2 = h.rs2();
  if (h.bit(12, 0) == 0) {
    if (rs2 != 0) return make_r(Op::add, rd, 0, rs2);
    return rd == 0 ? illegal(h) : make_jump_indirect(0, rd, 0);
  }
  if (rs2 != 0) return make_r(Op::add, rd, rd, rs2);
  return rd == 0 ? with_info(Op::ebreak) : make_jump_indirect(kRa, rd, 0);
}

Insn quadrant_2(Half h) {
  const unsigned rd = h.rd();
  switch (h.funct3()) {
    case 0:
      return make_i(Op::slli, rd, rd, static_cast<std::int32_t>(h.uimm6()));
    case 1:
      return make_float_load(Op::fld, rd, kSp, h.stack_load_d());
    case 2:
      return rd == 0 ? illegal(h) : make_i(Op::lw, rd, kSp, h.stack_load_w());
    case 3:
      return rd == 0 ? illegal(h) : make_i(Op::ld, rd, kSp, h.stack_load_d());
    case 4:
      return moves_and_jumps(h);
    case 5:
      return make_float_store(Op::fsd, kSp, h.rs2(), h.stack_store_d());
    case 6:
      return make_s(Op::sw, kSp, h.rs2(), h.stack_store_w());
    default:
      return make_s(Op::sd, kSp, h.rs2(), h.stack_store_d());
  }
}

}  // namespace

Insn decode_compressed(std::uint32_t half) {
  const Half h{half};
  Insn insn = (half & 3) == 0 ? quadrant_0(h) : (half & 3) == 1 ? quadrant_1(h) : quadrant_2(h);
  if (insn.op == Op::illegal) return illegal(h);
  insn.length = 2;
  return insn;
}

}  // namespace rubato::chip::isa
