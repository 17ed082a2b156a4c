// Decoder of 32-bit instructions, by major opcode. Compressed ones: decode_compressed.cpp.
// SPDX-License-Identifier: MIT
#include "chip/isa/decode.hpp"

#include <array>
#include <string_view>

#include "chip/isa/cache_block.hpp"
#include "chip/isa/decode_fields.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/isa/task_instructions.hpp"

namespace rubato::chip::isa {
namespace {

constexpr std::string_view kNames[] = {
#define RUBATO_INSN(name, ...) #name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
};

constexpr bool in(Op op, Op first, Op last) { return first <= op && op <= last; }

constexpr InsnClass class_of(Op op) {
  const std::string_view name = kNames[static_cast<unsigned>(op)];
  if (in(op, Op::illegal, Op::host_call)) return InsnClass::pseudo;
  if (in(op, Op::task_create, Op::capsule_on_abort)) return InsnClass::task;
  if (in(op, Op::lui, Op::sraw) || in(op, Op::add_uw, Op::pause)) return InsnClass::int_alu;
  if (op == Op::jal) return InsnClass::jump;
  if (op == Op::jalr) return InsnClass::jump_indirect;
  if (in(op, Op::beq, Op::bgeu)) return InsnClass::branch;
  if (in(op, Op::lb, Op::lwu) || op == Op::flh || op == Op::flw || op == Op::fld) return InsnClass::load;
  if (op == Op::cbo_clean || op == Op::cbo_flush) return InsnClass::load;
  if (in(op, Op::sb, Op::sd) || op == Op::fsh || op == Op::fsw || op == Op::fsd) return InsnClass::store;
  if (op == Op::fence) return InsnClass::fence;
  if (in(op, Op::fence_i, Op::csrrci)) return InsnClass::system;
  if (in(op, Op::mul, Op::mulhu) || op == Op::mulw) return InsnClass::int_mul;
  if (in(op, Op::div, Op::remuw)) return InsnClass::int_div;
  if (in(op, Op::lr_w, Op::amomaxu_d) || op == Op::cbo_zero) return InsnClass::atomic;
  const std::string_view stem = name.substr(0, name.find('_'));
  if (stem == "fadd" || stem == "fsub") return InsnClass::fp_add;
  if (stem == "fmul") return InsnClass::fp_mul;
  if (stem == "fdiv") return InsnClass::fp_div;
  if (stem == "fsqrt") return InsnClass::fp_sqrt;
  if (stem == "fmadd" || stem == "fmsub" || stem == "fnmadd" || stem == "fnmsub") return InsnClass::fp_fma;
  return InsnClass::fp_misc;
}

constexpr std::uint8_t bytes_of(Op op) {
  const std::string_view name = kNames[static_cast<unsigned>(op)];
  if (in(op, Op::lr_w, Op::amomaxu_d)) return name.back() == 'w' ? 4 : 8;
  switch (op) {
    case Op::lb:
    case Op::lbu:
    case Op::sb:
    case Op::cbo_clean:
    case Op::cbo_flush:
      return 1;
    case Op::lh:
    case Op::lhu:
    case Op::sh:
    case Op::flh:
    case Op::fsh:
      return 2;
    case Op::lw:
    case Op::lwu:
    case Op::sw:
    case Op::flw:
    case Op::fsw:
      return 4;
    case Op::ld:
    case Op::sd:
    case Op::fld:
    case Op::fsd:
      return 8;
    case Op::cbo_zero:
      return sizeof(CacheBlock);
    default:
      return 0;
  }
}

constexpr std::uint8_t flags_of(Op op) {
  switch (class_of(op)) {
    case InsnClass::load:
      return Insn::kLoads;
    case InsnClass::store:
      return Insn::kStores;
    case InsnClass::atomic:
      if (op == Op::lr_w || op == Op::lr_d) return Insn::kLoads;
      if (op == Op::sc_w || op == Op::sc_d) return Insn::kStores;
      return Insn::kLoads | Insn::kStores;
    case InsnClass::branch:
    case InsnClass::jump:
    case InsnClass::jump_indirect:
    case InsnClass::system:
    case InsnClass::task:
    case InsnClass::pseudo:
      return Insn::kEndsBlock;
    default:
      return 0;
  }
}

constexpr std::array<OpInfo, kOpCount> kInfo = [] {
  std::array<OpInfo, kOpCount> table{};
  for (unsigned i = 0; i < kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    table[i] = {class_of(op), bytes_of(op), flags_of(op)};
  }
  return table;
}();

constexpr std::uint8_t destination(unsigned x) { return x == 0 ? Insn::kSink : static_cast<std::uint8_t>(x); }
constexpr std::uint8_t float_register(unsigned f) { return static_cast<std::uint8_t>(f + Insn::kFloat); }
constexpr Op nth(Op first, unsigned n) { return static_cast<Op>(static_cast<unsigned>(first) + n); }

/// The fields of a 32-bit instruction.
struct Word {
  std::uint32_t bits;
  unsigned rd() const { return field(bits, 7, 5); }
  unsigned funct3() const { return field(bits, 12, 3); }
  unsigned rs1() const { return field(bits, 15, 5); }
  unsigned rs2() const { return field(bits, 20, 5); }
  unsigned funct7() const { return field(bits, 25, 7); }
  std::int32_t imm_i() const { return sign_extend(bits >> 20, 12); }
  std::int32_t imm_s() const { return sign_extend((funct7() << 5) | rd(), 12); }
  std::int32_t imm_b() const {
    return sign_extend((field(bits, 31, 1) << 12) | (field(bits, 7, 1) << 11) | (field(bits, 25, 6) << 5) |
                           (field(bits, 8, 4) << 1),
                       13);
  }
  std::int32_t imm_u() const { return static_cast<std::int32_t>(bits & 0xffff'f000); }
  std::int32_t imm_j() const {
    return sign_extend((field(bits, 31, 1) << 20) | (field(bits, 12, 8) << 12) | (field(bits, 20, 1) << 11) |
                           (field(bits, 21, 10) << 1),
                       21);
  }
};

Insn illegal(Word w) { return make_illegal(w.bits, 4); }

Insn decode_load(Word w) {
  static constexpr Op kOps[] = {Op::lb, Op::lh, Op::lw, Op::ld, Op::lbu, Op::lhu, Op::lwu, Op::illegal};
  return make_i(kOps[w.funct3()], w.rd(), w.rs1(), w.imm_i());
}

Insn decode_store(Word w) {
  static constexpr Op kOps[] = {Op::sb, Op::sh, Op::sw, Op::sd};
  return w.funct3() < 4 ? make_s(kOps[w.funct3()], w.rs1(), w.rs2(), w.imm_s()) : illegal(w);
}

Insn decode_branch(Word w) {
  static constexpr Op kOps[] = {Op::beq, Op::bne, Op::illegal, Op::illegal,
                                Op::blt, Op::bge, Op::bltu,    Op::bgeu};
  return make_s(kOps[w.funct3()], w.rs1(), w.rs2(), w.imm_b());
}

/// Zbb's instructions with one source, in the place of a shift's amount and of what is above it.
Op unary(unsigned funct3, std::uint32_t imm, bool is_32_bit) {
  static constexpr Op kCounts[] = {Op::clz, Op::ctz, Op::cpop}, kCounts32[] = {Op::clzw, Op::ctzw, Op::cpopw};
  if (funct3 == 1 && imm >= 0x600 && imm <= 0x602) return (is_32_bit ? kCounts32 : kCounts)[imm - 0x600];
  if (is_32_bit) return Op::illegal;
  if (funct3 == 1 && imm == 0x604) return Op::sext_b;
  if (funct3 == 1 && imm == 0x605) return Op::sext_h;
  if (funct3 == 5 && imm == 0x287) return Op::orc_b;
  if (funct3 == 5 && imm == 0x6b8) return Op::rev8;
  return Op::illegal;
}

/// A shift by an immediate, or an operation on one bit: `above` is the immediate without the amount.
Op shift(unsigned funct3, std::uint32_t above) {
  switch (above) {
    case 0x000:
      return funct3 == 1 ? Op::slli : Op::srli;
    case 0x280:
      return funct3 == 1 ? Op::bseti : Op::illegal;
    case 0x400:
      return funct3 == 1 ? Op::illegal : Op::srai;
    case 0x480:
      return funct3 == 1 ? Op::bclri : Op::bexti;
    case 0x600:
      return funct3 == 1 ? Op::illegal : Op::rori;
    case 0x680:
      return funct3 == 1 ? Op::binvi : Op::illegal;
    default:
      return Op::illegal;
  }
}
Op shift32(unsigned funct3, std::uint32_t above) {
  if (above == 0) return funct3 == 1 ? Op::slliw : Op::srliw;
  if (funct3 == 1) return Op::illegal;
  return above == 0x400 ? Op::sraiw : above == 0x600 ? Op::roriw : Op::illegal;
}

Insn decode_op_imm(Word w, bool is_32_bit) {
  const unsigned funct3 = w.funct3();
  if (funct3 == 1 || funct3 == 5) {
    const std::uint32_t imm = w.bits >> 20;
    if (const Op op = unary(funct3, imm, is_32_bit); op != Op::illegal) return make_i(op, w.rd(), w.rs1(), 0);
    // slli.uw has the amount of a 64-bit shift.
    const bool is_unsigned_word = is_32_bit && funct3 == 1 && imm >> 6 == 2;
    const unsigned bits = is_32_bit && !is_unsigned_word ? 5 : 6;
    const std::uint32_t above = imm >> bits << bits;
    const Op op = is_unsigned_word ? Op::slli_uw : is_32_bit ? shift32(funct3, above) : shift(funct3, above);
    return make_i(op, w.rd(), w.rs1(), static_cast<std::int32_t>(field(imm, 0, bits)));
  }
  static constexpr Op kOps[] = {Op::addi, Op::illegal, Op::slti, Op::sltiu,
                                Op::xori, Op::illegal, Op::ori,  Op::andi};
  if (is_32_bit) return funct3 == 0 ? make_i(Op::addiw, w.rd(), w.rs1(), w.imm_i()) : illegal(w);
  return make_i(kOps[funct3], w.rd(), w.rs1(), w.imm_i());
}

/// The operations of one funct7 by funct3.
struct OpsOfFunct7 {
  unsigned funct7;
  Op ops[8];
};
constexpr Op kNone = Op::illegal;
constexpr OpsOfFunct7 kRegisterOps[] = {
    {0x00, {Op::add, Op::sll, Op::slt, Op::sltu, Op::xor_, Op::srl, Op::or_, Op::and_}},
    {0x01, {Op::mul, Op::mulh, Op::mulhsu, Op::mulhu, Op::div, Op::divu, Op::rem, Op::remu}},
    {0x05, {kNone, kNone, kNone, kNone, Op::min, Op::minu, Op::max, Op::maxu}},
    {0x07, {kNone, kNone, kNone, kNone, kNone, Op::czero_eqz, kNone, Op::czero_nez}},
    {0x10, {kNone, kNone, Op::sh1add, kNone, Op::sh2add, kNone, Op::sh3add, kNone}},
    {0x14, {kNone, Op::bset, kNone, kNone, kNone, kNone, kNone, kNone}},
    {0x20, {Op::sub, kNone, kNone, kNone, Op::xnor, Op::sra, Op::orn, Op::andn}},
    {0x24, {kNone, Op::bclr, kNone, kNone, kNone, Op::bext, kNone, kNone}},
    {0x30, {kNone, Op::rol, kNone, kNone, kNone, Op::ror, kNone, kNone}},
    {0x34, {kNone, Op::binv, kNone, kNone, kNone, kNone, kNone, kNone}},
};
constexpr OpsOfFunct7 kRegisterOps32[] = {
    {0x00, {Op::addw, Op::sllw, kNone, kNone, kNone, Op::srlw, kNone, kNone}},
    {0x01, {Op::mulw, kNone, kNone, kNone, Op::divw, Op::divuw, Op::remw, Op::remuw}},
    {0x04, {Op::add_uw, kNone, kNone, kNone, Op::zext_h, kNone, kNone, kNone}},
    {0x10, {kNone, kNone, Op::sh1add_uw, kNone, Op::sh2add_uw, kNone, Op::sh3add_uw, kNone}},
    {0x20, {Op::subw, kNone, kNone, kNone, kNone, Op::sraw, kNone, kNone}},
    {0x30, {kNone, Op::rolw, kNone, kNone, kNone, Op::rorw, kNone, kNone}},
};

Insn decode_op(Word w, bool is_32_bit) {
  const auto of = [w](const auto& table) {
    for (const OpsOfFunct7& row : table)
      if (row.funct7 == w.funct7()) return row.ops[w.funct3()];
    return kNone;
  };
  const Op op = is_32_bit ? of(kRegisterOps32) : of(kRegisterOps);
  if (op == Op::zext_h) return w.rs2() == 0 ? make_i(op, w.rd(), w.rs1(), 0) : illegal(w);
  return make_r(op, w.rd(), w.rs1(), w.rs2());
}

Insn decode_amo(Word w) {
  // In the order of semantics.inc behind lr and sc, by funct5.
  static constexpr unsigned kFunct5[] = {1, 0, 4, 12, 8, 16, 20, 24, 28};
  if (w.funct3() != 2 && w.funct3() != 3) return illegal(w);
  const bool is_double = w.funct3() == 3;
  const unsigned funct5 = w.funct7() >> 2;
  Op op = Op::illegal;
  if (funct5 == 2 && w.rs2() == 0) op = is_double ? Op::lr_d : Op::lr_w;
  if (funct5 == 3) op = is_double ? Op::sc_d : Op::sc_w;
  for (unsigned i = 0; i < std::size(kFunct5); ++i)
    if (funct5 == kFunct5[i]) op = nth(is_double ? Op::amoswap_d : Op::amoswap_w, i);
  if (op == Op::illegal) return illegal(w);
  Insn insn = make_r(op, w.rd(), w.rs1(), w.rs2());
  if (w.bits & (1u << 26)) insn.flags |= Insn::kAcquire;
  if (w.bits & (1u << 25)) insn.flags |= Insn::kRelease;
  return insn;
}

Insn decode_system(Word w) {
  if (w.funct3() == 0) {
    if (w.bits == 0x0000'0073) return make_i(Op::ecall, 0, 0, 0);
    if (w.bits == 0x0010'0073) return make_i(Op::ebreak, 0, 0, 0);
    return illegal(w);
  }
  if (w.funct3() == 4) return illegal(w);
  const unsigned number = w.bits >> 20;
  const bool is_immediate = w.funct3() & 4;
  const bool writes = (w.funct3() & 3) == 1 || w.rs1() != 0;
  const bool read_write = number >= csr::fflags && number <= csr::fcsr;
  const bool read_only = number >= csr::cycle && number <= csr::hpmcounter31;
  if (!read_write && !(read_only && !writes)) return illegal(w);
  static constexpr Op kOps[] = {Op::csrrw, Op::csrrs, Op::csrrc};
  static constexpr Op kImmediateOps[] = {Op::csrrwi, Op::csrrsi, Op::csrrci};
  const unsigned index = (w.funct3() & 3) - 1;
  Insn insn = make_i(is_immediate ? kImmediateOps[index] : kOps[index], w.rd(), is_immediate ? 0 : w.rs1(),
                     static_cast<std::int32_t>(number));
  if (is_immediate) insn.rm = static_cast<std::uint8_t>(w.rs1());
  return insn;
}

/// custom-0 with funct3 5 to 7 (P21).
Insn decode_capsule(Word w) {
  const std::uint32_t imm = w.bits >> 20;
  if (w.rs1() != 0) return illegal(w);
  switch (static_cast<TaskOp>(w.funct3())) {
    case TaskOp::capsule_call:
      if (imm == static_cast<std::uint32_t>(CapsuleOp::call) && (w.rd() == 0 || w.rd() == reg::ra))
        return make_i(Op::capsule_call, w.rd(), 0, 0);
      if (imm == static_cast<std::uint32_t>(CapsuleOp::vector) && w.rd() == 0)
        return make_i(Op::capsule_vector, 0, 0, 0);
      break;
    case TaskOp::capsule_return:
      if (imm == 0 && w.rd() == 0) return make_i(Op::capsule_return, 0, 0, 0);
      break;
    case TaskOp::capsule_on_abort: {
      const std::uint32_t arguments = imm >> CreateFlags::kArgumentsShift;
      if ((imm & 0xf) == 0 && arguments <= kMaxArguments && w.rd() == 0)
        return make_i(Op::capsule_on_abort, 0, 0, static_cast<std::int32_t>(imm));
      break;
    }
    default:
      break;
  }
  return illegal(w);
}

Insn decode_task(Word w) {
  const auto task = static_cast<TaskOp>(w.funct3());
  const std::uint32_t imm = w.bits >> 20;
  bool good = false;
  switch (task) {
    case TaskOp::create: {
      const std::uint32_t arguments = (imm >> CreateFlags::kArgumentsShift) & 7;
      constexpr std::uint32_t kBoth = CreateFlags::kHasLocale | CreateFlags::kHasPlace;
      good = (imm & CreateFlags::kReserved) == 0 && (imm & CreateFlags::kTypeMask) != 3 &&
             (imm & kBoth) != kBoth && arguments <= kMaxArguments &&
             (arguments != 0 || (imm & CreateFlags::kNamed) == 0) && w.rd() == 0;
      break;
    }
    case TaskOp::finish:
      good = (imm & ~FinishFlags::kWaits) == 0 && w.rd() == 0;
      break;
    case TaskOp::promote:
      good = imm == 0 && w.rd() == 0;
      break;
    case TaskOp::read:
      good = imm <= static_cast<std::uint32_t>(ReadSelector::own_core);
      break;
    case TaskOp::region:
      good = imm <= static_cast<std::uint32_t>(RegionOp::worker) && w.rd() == 0;
      break;
    case TaskOp::capsule_call:
    case TaskOp::capsule_return:
    case TaskOp::capsule_on_abort:
      return decode_capsule(w);
  }
  if (!good || w.rs1() != 0) return illegal(w);
  return make_i(nth(Op::task_create, w.funct3()), w.rd(), 0, static_cast<std::int32_t>(imm));
}

/// FP registers unless noted; the instruction word stays in imm for the fault of a bad dynamic rounding mode.
Insn fp_arithmetic(Op op, Word w, unsigned rd, unsigned rs1, unsigned rs2, unsigned rs3) {
  Insn insn = with_info(op);
  insn.rd = static_cast<std::uint8_t>(rd);
  insn.rs1 = static_cast<std::uint8_t>(rs1);
  insn.rs2 = static_cast<std::uint8_t>(rs2);
  insn.rs3 = static_cast<std::uint8_t>(rs3);
  insn.rm = static_cast<std::uint8_t>(w.funct3());
  insn.imm = static_cast<std::int32_t>(w.bits);
  return insn;
}

bool reserved_rounding(Word w) { return w.funct3() == 5 || w.funct3() == 6; }

/// The constant's number is where other instructions have rs1.
Insn float_constant(Op op, Word w) {
  Insn insn = fp_arithmetic(op, w, float_register(w.rd()), 0, 0, 0);
  insn.rm = static_cast<std::uint8_t>(w.rs1());
  return insn;
}

/// Half precision has transfers and conversions only.
Insn decode_half(Word w) {
  const unsigned funct5 = w.bits >> 27, funct3 = w.funct3(), rs2 = w.rs2();
  const unsigned fd = float_register(w.rd()), f1 = float_register(w.rs1());
  if (funct5 == 0x08 && rs2 < 2 && !reserved_rounding(w))
    return fp_arithmetic(rs2 == 0 ? Op::fcvt_h_s : Op::fcvt_h_d, w, fd, f1, 0, 0);
  if (funct5 == 0x1c && rs2 == 0 && funct3 == 0)
    return fp_arithmetic(Op::fmv_x_h, w, destination(w.rd()), f1, 0, 0);
  if (funct5 == 0x1e && rs2 == 0 && funct3 == 0) return fp_arithmetic(Op::fmv_h_x, w, fd, w.rs1(), 0, 0);
  return illegal(w);
}

Insn decode_fma(Word w, Op single, Op for_double) {
  const unsigned format = field(w.bits, 25, 2);
  if (format > 1 || reserved_rounding(w)) return illegal(w);
  return fp_arithmetic(format ? for_double : single, w, float_register(w.rd()), float_register(w.rs1()),
                       float_register(w.rs2()), float_register(w.bits >> 27));
}

Insn decode_fp(Word w) {
  const unsigned format = field(w.bits, 25, 2), funct5 = w.bits >> 27, funct3 = w.funct3(), rs2 = w.rs2();
  if (format == 2) return decode_half(w);
  if (format > 1) return illegal(w);
  const bool d = format == 1;
  const unsigned fd = float_register(w.rd()), f1 = float_register(w.rs1()), f2 = float_register(rs2),
                 xd = destination(w.rd()), x1 = w.rs1();
  const bool rounds = !reserved_rounding(w);
  const auto pick = [d](Op single, Op for_double) { return d ? for_double : single; };
  switch (funct5) {
    case 0x00:
      if (rounds) return fp_arithmetic(pick(Op::fadd_s, Op::fadd_d), w, fd, f1, f2, 0);
      break;
    case 0x01:
      if (rounds) return fp_arithmetic(pick(Op::fsub_s, Op::fsub_d), w, fd, f1, f2, 0);
      break;
    case 0x02:
      if (rounds) return fp_arithmetic(pick(Op::fmul_s, Op::fmul_d), w, fd, f1, f2, 0);
      break;
    case 0x03:
      if (rounds) return fp_arithmetic(pick(Op::fdiv_s, Op::fdiv_d), w, fd, f1, f2, 0);
      break;
    case 0x0b:
      if (rounds && rs2 == 0) return fp_arithmetic(pick(Op::fsqrt_s, Op::fsqrt_d), w, fd, f1, 0, 0);
      break;
    case 0x04:
      if (funct3 < 3) return fp_arithmetic(nth(pick(Op::fsgnj_s, Op::fsgnj_d), funct3), w, fd, f1, f2, 0);
      break;
    case 0x05:
      if (funct3 < 2) return fp_arithmetic(nth(pick(Op::fmin_s, Op::fmin_d), funct3), w, fd, f1, f2, 0);
      if (funct3 < 4) return fp_arithmetic(nth(pick(Op::fminm_s, Op::fminm_d), funct3 - 2), w, fd, f1, f2, 0);
      break;
    case 0x08:
      if (rounds && d && rs2 == 0) return fp_arithmetic(Op::fcvt_d_s, w, fd, f1, 0, 0);
      if (rounds && !d && rs2 == 1) return fp_arithmetic(Op::fcvt_s_d, w, fd, f1, 0, 0);
      if (rounds && rs2 == 2) return fp_arithmetic(pick(Op::fcvt_s_h, Op::fcvt_d_h), w, fd, f1, 0, 0);
      if (rounds && rs2 == 4) return fp_arithmetic(pick(Op::fround_s, Op::fround_d), w, fd, f1, 0, 0);
      if (rounds && rs2 == 5) return fp_arithmetic(pick(Op::froundnx_s, Op::froundnx_d), w, fd, f1, 0, 0);
      break;
    case 0x14: {
      static constexpr Op kSingleOps[] = {Op::fle_s, Op::flt_s, Op::feq_s, kNone, Op::fleq_s, Op::fltq_s},
                          kDoubleOps[] = {Op::fle_d, Op::flt_d, Op::feq_d, kNone, Op::fleq_d, Op::fltq_d};
      if (funct3 < 6 && funct3 != 3)
        return fp_arithmetic(pick(kSingleOps[funct3], kDoubleOps[funct3]), w, xd, f1, f2, 0);
      break;
    }
    case 0x18:  // the pairs to and from w, wu, l, lu alternate in semantics.inc
      if (rounds && rs2 < 4)
        return fp_arithmetic(nth(pick(Op::fcvt_w_s, Op::fcvt_w_d), 2 * rs2), w, xd, f1, 0, 0);
      if (d && rs2 == 8 && funct3 == 1) return fp_arithmetic(Op::fcvtmod_w_d, w, xd, f1, 0, 0);
      break;
    case 0x1a:
      if (rounds && rs2 < 4)
        return fp_arithmetic(nth(pick(Op::fcvt_s_w, Op::fcvt_d_w), 2 * rs2), w, fd, x1, 0, 0);
      break;
    case 0x1c:
      if (rs2 == 0 && funct3 == 0) return fp_arithmetic(pick(Op::fmv_x_w, Op::fmv_x_d), w, xd, f1, 0, 0);
      if (rs2 == 0 && funct3 == 1) return fp_arithmetic(pick(Op::fclass_s, Op::fclass_d), w, xd, f1, 0, 0);
      break;
    case 0x1e:
      if (rs2 == 0 && funct3 == 0) return fp_arithmetic(pick(Op::fmv_w_x, Op::fmv_d_x), w, fd, x1, 0, 0);
      if (rs2 == 1 && funct3 == 0) return float_constant(pick(Op::fli_s, Op::fli_d), w);
      break;
    default:
      break;
  }
  return illegal(w);
}

/// Fences, pause and cache blocks. Operands of fences are hints: reserved ones act as plain fences. User mode
/// has no cbo.inval, as under Linux.
Insn decode_misc_mem(Word w) {
  constexpr std::uint32_t kPause = 0x0100'000f;
  if (w.bits == kPause) return with_info(Op::pause);
  if (w.funct3() < 2) return with_info(w.funct3() == 0 ? Op::fence : Op::fence_i);
  static constexpr Op kBlockOps[] = {kNone, Op::cbo_clean, Op::cbo_flush, kNone, Op::cbo_zero};
  const std::uint32_t number = w.bits >> 20;
  if (w.funct3() != 2 || w.rd() != 0 || number >= std::size(kBlockOps)) return illegal(w);
  return make_i(kBlockOps[number], 0, w.rs1(), 0);
}

Insn decode_jump(Word w) {
  const bool is_jal = field(w.bits, 2, 5) == 0x1b;
  return is_jal ? make_jump(w.rd(), w.imm_j()) : make_jump_indirect(w.rd(), w.rs1(), w.imm_i());
}

Insn decode_long(Word w) {
  static constexpr Op kFloatLoads[] = {Op::flh, Op::flw, Op::fld},
                      kFloatStores[] = {Op::fsh, Op::fsw, Op::fsd};
  switch (field(w.bits, 2, 5)) {
    case 0x00:
      return decode_load(w);
    case 0x01:
      if (w.funct3() < 1 || w.funct3() > 3) return illegal(w);
      return make_float_load(kFloatLoads[w.funct3() - 1], w.rd(), w.rs1(), w.imm_i());
    case 0x02:
      return decode_task(w);
    case 0x03:
      return decode_misc_mem(w);
    case 0x04:
      return decode_op_imm(w, false);
    case 0x05:
      return make_i(Op::auipc, w.rd(), 0, w.imm_u());
    case 0x06:
      return decode_op_imm(w, true);
    case 0x08:
      return decode_store(w);
    case 0x09:
      if (w.funct3() < 1 || w.funct3() > 3) return illegal(w);
      return make_float_store(kFloatStores[w.funct3() - 1], w.rs1(), w.rs2(), w.imm_s());
    case 0x0b:
      return decode_amo(w);
    case 0x0c:
      return decode_op(w, false);
    case 0x0d:
      return make_i(Op::lui, w.rd(), 0, w.imm_u());
    case 0x0e:
      return decode_op(w, true);
    case 0x10:
      return decode_fma(w, Op::fmadd_s, Op::fmadd_d);
    case 0x11:
      return decode_fma(w, Op::fmsub_s, Op::fmsub_d);
    case 0x12:
      return decode_fma(w, Op::fnmsub_s, Op::fnmsub_d);
    case 0x13:
      return decode_fma(w, Op::fnmadd_s, Op::fnmadd_d);
    case 0x14:
      return decode_fp(w);
    case 0x18:
      return decode_branch(w);
    case 0x19:
      return w.funct3() == 0 ? decode_jump(w) : illegal(w);
    case 0x1b:
      return decode_jump(w);
    case 0x1c:
      return decode_system(w);
    default:
      return illegal(w);
  }
}

}  // namespace

const OpInfo& info(Op op) { return kInfo[static_cast<unsigned>(op)]; }

Insn decode(std::uint32_t word) {
  if (!is_long(word)) return decode_compressed(word & 0xffff);
  const Insn insn = decode_long({word});
  return insn.op == Op::illegal ? make_illegal(word, 4) : insn;
}

}  // namespace rubato::chip::isa
