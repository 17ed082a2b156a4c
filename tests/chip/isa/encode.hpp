// Encodings of every 32-bit instruction of user mode as the manual's listing has them, independent of the
// decoder: fixed bits and operand layout. For decode tests and for the generator of fuzz sequences.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace rubato::chip::isa::test {

enum class Form : std::uint8_t {
  r,         // rd rs1 rs2
  i,         // rd rs1 imm12
  shift6,    // rd rs1 shamt 0..63
  shift5,    // rd rs1 shamt 0..31
  load,      // rd imm12(rs1)
  store,     // rs2 imm12(rs1)
  branch,    // rs1 rs2 imm13
  u,         // rd imm[31:12]
  jal,       // rd imm21
  jalr,      // rd rs1 imm12
  amo,       // rd rs2 (rs1)
  lr,        // rd (rs1)
  r2,        // rd rs1
  r2_rm,     // rd rs1 rm
  r_rm,      // rd rs1 rs2 rm
  r4_rm,     // rd rs1 rs2 rs3 rm
  csr,       // rd csr rs1
  csr_imm,   // rd csr uimm5
  constant,  // rd, number of a constant in rs1
  block,     // (rs1)
  none,
};

/// Register files of the operands: bit 0 rd, bit 1 rs1, bit 2 rs2 and rs3 are f registers.
enum : std::uint8_t { kInt = 0, kFd = 1, kF1 = 2, kF2 = 4, kFd1 = 3, kF12 = 6, kAllF = 7 };

struct Encoding {
  std::string_view name;
  std::uint32_t match;
  Form form;
  std::uint8_t floats = kInt;
};

inline constexpr Encoding kEncodings[] = {
    {"lui", 0x37, Form::u},
    {"auipc", 0x17, Form::u},
    {"jal", 0x6f, Form::jal},
    {"jalr", 0x67, Form::jalr},
    {"beq", 0x63, Form::branch},
    {"bne", 0x1063, Form::branch},
    {"blt", 0x4063, Form::branch},
    {"bge", 0x5063, Form::branch},
    {"bltu", 0x6063, Form::branch},
    {"bgeu", 0x7063, Form::branch},
    {"lb", 0x03, Form::load},
    {"lh", 0x1003, Form::load},
    {"lw", 0x2003, Form::load},
    {"ld", 0x3003, Form::load},
    {"lbu", 0x4003, Form::load},
    {"lhu", 0x5003, Form::load},
    {"lwu", 0x6003, Form::load},
    {"sb", 0x23, Form::store},
    {"sh", 0x1023, Form::store},
    {"sw", 0x2023, Form::store},
    {"sd", 0x3023, Form::store},
    {"addi", 0x13, Form::i},
    {"slti", 0x2013, Form::i},
    {"sltiu", 0x3013, Form::i},
    {"xori", 0x4013, Form::i},
    {"ori", 0x6013, Form::i},
    {"andi", 0x7013, Form::i},
    {"slli", 0x1013, Form::shift6},
    {"srli", 0x5013, Form::shift6},
    {"srai", 0x40005013, Form::shift6},
    {"add", 0x33, Form::r},
    {"sub", 0x40000033, Form::r},
    {"sll", 0x1033, Form::r},
    {"slt", 0x2033, Form::r},
    {"sltu", 0x3033, Form::r},
    {"xor", 0x4033, Form::r},
    {"srl", 0x5033, Form::r},
    {"sra", 0x40005033, Form::r},
    {"or", 0x6033, Form::r},
    {"and", 0x7033, Form::r},
    {"addiw", 0x1b, Form::i},
    {"slliw", 0x101b, Form::shift5},
    {"srliw", 0x501b, Form::shift5},
    {"sraiw", 0x4000501b, Form::shift5},
    {"addw", 0x3b, Form::r},
    {"subw", 0x4000003b, Form::r},
    {"sllw", 0x103b, Form::r},
    {"srlw", 0x503b, Form::r},
    {"sraw", 0x4000503b, Form::r},
    {"fence", 0x0ff0000f, Form::none},
    {"fence.i", 0x100f, Form::none},
    {"ecall", 0x73, Form::none},
    {"ebreak", 0x100073, Form::none},
    {"csrrw", 0x1073, Form::csr},
    {"csrrs", 0x2073, Form::csr},
    {"csrrc", 0x3073, Form::csr},
    {"csrrwi", 0x5073, Form::csr_imm},
    {"csrrsi", 0x6073, Form::csr_imm},
    {"csrrci", 0x7073, Form::csr_imm},
    {"mul", 0x02000033, Form::r},
    {"mulh", 0x02001033, Form::r},
    {"mulhsu", 0x02002033, Form::r},
    {"mulhu", 0x02003033, Form::r},
    {"div", 0x02004033, Form::r},
    {"divu", 0x02005033, Form::r},
    {"rem", 0x02006033, Form::r},
    {"remu", 0x02007033, Form::r},
    {"mulw", 0x0200003b, Form::r},
    {"divw", 0x0200403b, Form::r},
    {"divuw", 0x0200503b, Form::r},
    {"remw", 0x0200603b, Form::r},
    {"remuw", 0x0200703b, Form::r},
    {"lr.w", 0x1000202f, Form::lr},
    {"sc.w", 0x1800202f, Form::amo},
    {"amoswap.w", 0x0800202f, Form::amo},
    {"amoadd.w", 0x0000202f, Form::amo},
    {"amoxor.w", 0x2000202f, Form::amo},
    {"amoand.w", 0x6000202f, Form::amo},
    {"amoor.w", 0x4000202f, Form::amo},
    {"amomin.w", 0x8000202f, Form::amo},
    {"amomax.w", 0xa000202f, Form::amo},
    {"amominu.w", 0xc000202f, Form::amo},
    {"amomaxu.w", 0xe000202f, Form::amo},
    {"lr.d", 0x1000302f, Form::lr},
    {"sc.d", 0x1800302f, Form::amo},
    {"amoswap.d", 0x0800302f, Form::amo},
    {"amoadd.d", 0x0000302f, Form::amo},
    {"amoxor.d", 0x2000302f, Form::amo},
    {"amoand.d", 0x6000302f, Form::amo},
    {"amoor.d", 0x4000302f, Form::amo},
    {"amomin.d", 0x8000302f, Form::amo},
    {"amomax.d", 0xa000302f, Form::amo},
    {"amominu.d", 0xc000302f, Form::amo},
    {"amomaxu.d", 0xe000302f, Form::amo},
    {"flw", 0x2007, Form::load, kFd},
    {"fsw", 0x2027, Form::store, kF2},
    {"fmadd.s", 0x43, Form::r4_rm, kAllF},
    {"fmsub.s", 0x47, Form::r4_rm, kAllF},
    {"fnmsub.s", 0x4b, Form::r4_rm, kAllF},
    {"fnmadd.s", 0x4f, Form::r4_rm, kAllF},
    {"fadd.s", 0x53, Form::r_rm, kAllF},
    {"fsub.s", 0x08000053, Form::r_rm, kAllF},
    {"fmul.s", 0x10000053, Form::r_rm, kAllF},
    {"fdiv.s", 0x18000053, Form::r_rm, kAllF},
    {"fsqrt.s", 0x58000053, Form::r2_rm, kFd1},
    {"fsgnj.s", 0x20000053, Form::r, kAllF},
    {"fsgnjn.s", 0x20001053, Form::r, kAllF},
    {"fsgnjx.s", 0x20002053, Form::r, kAllF},
    {"fmin.s", 0x28000053, Form::r, kAllF},
    {"fmax.s", 0x28001053, Form::r, kAllF},
    {"fle.s", 0xa0000053, Form::r, kF12},
    {"flt.s", 0xa0001053, Form::r, kF12},
    {"feq.s", 0xa0002053, Form::r, kF12},
    {"fclass.s", 0xe0001053, Form::r2, kF1},
    {"fmv.x.w", 0xe0000053, Form::r2, kF1},
    {"fmv.w.x", 0xf0000053, Form::r2, kFd},
    {"fcvt.w.s", 0xc0000053, Form::r2_rm, kF1},
    {"fcvt.wu.s", 0xc0100053, Form::r2_rm, kF1},
    {"fcvt.l.s", 0xc0200053, Form::r2_rm, kF1},
    {"fcvt.lu.s", 0xc0300053, Form::r2_rm, kF1},
    {"fcvt.s.w", 0xd0000053, Form::r2_rm, kFd},
    {"fcvt.s.wu", 0xd0100053, Form::r2_rm, kFd},
    {"fcvt.s.l", 0xd0200053, Form::r2_rm, kFd},
    {"fcvt.s.lu", 0xd0300053, Form::r2_rm, kFd},
    {"fld", 0x3007, Form::load, kFd},
    {"fsd", 0x3027, Form::store, kF2},
    {"fmadd.d", 0x02000043, Form::r4_rm, kAllF},
    {"fmsub.d", 0x02000047, Form::r4_rm, kAllF},
    {"fnmsub.d", 0x0200004b, Form::r4_rm, kAllF},
    {"fnmadd.d", 0x0200004f, Form::r4_rm, kAllF},
    {"fadd.d", 0x02000053, Form::r_rm, kAllF},
    {"fsub.d", 0x0a000053, Form::r_rm, kAllF},
    {"fmul.d", 0x12000053, Form::r_rm, kAllF},
    {"fdiv.d", 0x1a000053, Form::r_rm, kAllF},
    {"fsqrt.d", 0x5a000053, Form::r2_rm, kFd1},
    {"fsgnj.d", 0x22000053, Form::r, kAllF},
    {"fsgnjn.d", 0x22001053, Form::r, kAllF},
    {"fsgnjx.d", 0x22002053, Form::r, kAllF},
    {"fmin.d", 0x2a000053, Form::r, kAllF},
    {"fmax.d", 0x2a001053, Form::r, kAllF},
    {"fle.d", 0xa2000053, Form::r, kF12},
    {"flt.d", 0xa2001053, Form::r, kF12},
    {"feq.d", 0xa2002053, Form::r, kF12},
    {"fclass.d", 0xe2001053, Form::r2, kF1},
    {"fmv.x.d", 0xe2000053, Form::r2, kF1},
    {"fmv.d.x", 0xf2000053, Form::r2, kFd},
    {"fcvt.w.d", 0xc2000053, Form::r2_rm, kF1},
    {"fcvt.wu.d", 0xc2100053, Form::r2_rm, kF1},
    {"fcvt.l.d", 0xc2200053, Form::r2_rm, kF1},
    {"fcvt.lu.d", 0xc2300053, Form::r2_rm, kF1},
    {"fcvt.d.w", 0xd2000053, Form::r2_rm, kFd},
    {"fcvt.d.wu", 0xd2100053, Form::r2_rm, kFd},
    {"fcvt.d.l", 0xd2200053, Form::r2_rm, kFd},
    {"fcvt.d.lu", 0xd2300053, Form::r2_rm, kFd},
    {"fcvt.s.d", 0x40100053, Form::r2_rm, kFd1},
    {"fcvt.d.s", 0x42000053, Form::r2_rm, kFd1},
    {"add.uw", 0x0800003b, Form::r},
    {"sh1add", 0x20002033, Form::r},
    {"sh2add", 0x20004033, Form::r},
    {"sh3add", 0x20006033, Form::r},
    {"sh1add.uw", 0x2000203b, Form::r},
    {"sh2add.uw", 0x2000403b, Form::r},
    {"sh3add.uw", 0x2000603b, Form::r},
    {"slli.uw", 0x0800101b, Form::shift6},
    {"andn", 0x40007033, Form::r},
    {"orn", 0x40006033, Form::r},
    {"xnor", 0x40004033, Form::r},
    {"clz", 0x60001013, Form::r2},
    {"clzw", 0x6000101b, Form::r2},
    {"ctz", 0x60101013, Form::r2},
    {"cpop", 0x60201013, Form::r2},
    {"cpopw", 0x6020101b, Form::r2},
    {"max", 0x0a006033, Form::r},
    {"maxu", 0x0a007033, Form::r},
    {"min", 0x0a004033, Form::r},
    {"minu", 0x0a005033, Form::r},
    {"sext.b", 0x60401013, Form::r2},
    {"sext.h", 0x60501013, Form::r2},
    {"zext.h", 0x0800403b, Form::r2},
    {"rol", 0x60001033, Form::r},
    {"rolw", 0x6000103b, Form::r},
    {"ror", 0x60005033, Form::r},
    {"rorw", 0x6000503b, Form::r},
    {"rori", 0x60005013, Form::shift6},
    {"roriw", 0x6000501b, Form::shift5},
    {"orc.b", 0x28705013, Form::r2},
    {"rev8", 0x6b805013, Form::r2},
    {"bclr", 0x48001033, Form::r},
    {"bclri", 0x48001013, Form::shift6},
    {"bext", 0x48005033, Form::r},
    {"bexti", 0x48005013, Form::shift6},
    {"binv", 0x68001033, Form::r},
    {"binvi", 0x68001013, Form::shift6},
    {"bset", 0x28001033, Form::r},
    {"bseti", 0x28001013, Form::shift6},
};

/// Instructions that the qemu-riscv64 of Debian 12 lacks: not for fuzz sequences. Its ctzw counts beyond the
/// low word.
inline constexpr Encoding kNewEncodings[] = {
    {"ctzw", 0x6010101b, Form::r2},
    {"czero.eqz", 0x0e005033, Form::r},
    {"czero.nez", 0x0e007033, Form::r},
    {"pause", 0x0100000f, Form::none},
    {"cbo.clean", 0x0010200f, Form::block},
    {"cbo.flush", 0x0020200f, Form::block},
    {"cbo.zero", 0x0040200f, Form::block},
    {"flh", 0x1007, Form::load, kFd},
    {"fsh", 0x1027, Form::store, kF2},
    {"fmv.x.h", 0xe4000053, Form::r2, kF1},
    {"fmv.h.x", 0xf4000053, Form::r2, kFd},
    {"fcvt.s.h", 0x40200053, Form::r2_rm, kFd1},
    {"fcvt.d.h", 0x42200053, Form::r2_rm, kFd1},
    {"fcvt.h.s", 0x44000053, Form::r2_rm, kFd1},
    {"fcvt.h.d", 0x44100053, Form::r2_rm, kFd1},
    {"fli.s", 0xf0100053, Form::constant, kFd},
    {"fminm.s", 0x28002053, Form::r, kAllF},
    {"fmaxm.s", 0x28003053, Form::r, kAllF},
    {"fround.s", 0x40400053, Form::r2_rm, kFd1},
    {"froundnx.s", 0x40500053, Form::r2_rm, kFd1},
    {"fltq.s", 0xa0005053, Form::r, kF12},
    {"fleq.s", 0xa0004053, Form::r, kF12},
    {"fli.d", 0xf2100053, Form::constant, kFd},
    {"fminm.d", 0x2a002053, Form::r, kAllF},
    {"fmaxm.d", 0x2a003053, Form::r, kAllF},
    {"fround.d", 0x42400053, Form::r2_rm, kFd1},
    {"froundnx.d", 0x42500053, Form::r2_rm, kFd1},
    {"fltq.d", 0xa2005053, Form::r, kF12},
    {"fleq.d", 0xa2004053, Form::r, kF12},
    {"fcvtmod.w.d", 0xc2801053, Form::r2, kF1},
};

inline constexpr auto kAllEncodings = [] {
  std::array<Encoding, std::size(kEncodings) + std::size(kNewEncodings)> all{};
  std::copy(std::begin(kEncodings), std::end(kEncodings), all.begin());
  std::copy(std::begin(kNewEncodings), std::end(kNewEncodings), all.begin() + std::size(kEncodings));
  return all;
}();

constexpr const Encoding& encoding(std::string_view name) {
  for (const Encoding& e : kAllEncodings)
    if (e.name == name) return e;
  throw "no such instruction";
}

/// Operands of an instruction; those that its form does not have are ignored.
struct Operands {
  unsigned rd = 0, rs1 = 0, rs2 = 0, rs3 = 0, rm = 0;
  std::int32_t imm = 0;  ///< immediate, shift amount or CSR number; csr_imm: uimm in rs1
};

constexpr std::uint32_t encode(const Encoding& e, Operands o) {
  const auto imm = static_cast<std::uint32_t>(o.imm);
  const std::uint32_t rd = o.rd << 7, rs1 = o.rs1 << 15, rs2 = o.rs2 << 20, rm = o.rm << 12;
  const auto bits = [imm](unsigned high, unsigned low, unsigned at) {
    return ((imm >> low) & ((1u << (high - low + 1)) - 1)) << at;
  };
  switch (e.form) {
    case Form::r:
    case Form::amo:
      return e.match | rd | rs1 | rs2;
    case Form::i:
    case Form::load:
    case Form::jalr:
    case Form::csr:
    case Form::csr_imm:
      return e.match | rd | rs1 | bits(11, 0, 20);
    case Form::shift6:
      return e.match | rd | rs1 | bits(5, 0, 20);
    case Form::shift5:
      return e.match | rd | rs1 | bits(4, 0, 20);
    case Form::store:
      return e.match | rs1 | rs2 | bits(11, 5, 25) | bits(4, 0, 7);
    case Form::branch:
      return e.match | rs1 | rs2 | bits(12, 12, 31) | bits(10, 5, 25) | bits(4, 1, 8) | bits(11, 11, 7);
    case Form::u:
      return e.match | rd | (imm & 0xfffff000);
    case Form::jal:
      return e.match | rd | bits(20, 20, 31) | bits(10, 1, 21) | bits(11, 11, 20) | bits(19, 12, 12);
    case Form::lr:
    case Form::r2:
    case Form::constant:
      return e.match | rd | rs1;
    case Form::block:
      return e.match | rs1;
    case Form::r2_rm:
      return e.match | rd | rs1 | rm;
    case Form::r_rm:
      return e.match | rd | rs1 | rs2 | rm;
    case Form::r4_rm:
      return e.match | rd | rs1 | rs2 | rm | (o.rs3 << 27);
    case Form::none:
      return e.match;
  }
  return 0;
}
constexpr std::uint32_t encode(std::string_view name, Operands o) { return encode(encoding(name), o); }

}  // namespace rubato::chip::isa::test
