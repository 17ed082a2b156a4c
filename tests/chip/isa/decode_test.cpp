// The decoder against the manual's encodings (encode.hpp) and against hand-assembled words: operands of every
// form, compressed instructions against their long forms, reserved encodings.
// SPDX-License-Identifier: MIT
#include "chip/isa/decode.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "chip/isa/disassemble.hpp"
#include "chip/isa/task_instructions.hpp"
#include "tests/chip/isa/encode.hpp"

namespace rubato::chip::isa::test {
namespace {

std::string text(std::uint32_t word, Addr pc = 0x1000) { return disassemble(decode(word), pc); }

/// The immediate that survives a form's field.
std::int32_t kept(Form form, std::int32_t imm) {
  switch (form) {
    case Form::i:
    case Form::load:
    case Form::store:
    case Form::jalr:
      return imm << 20 >> 20;
    case Form::branch:
      return (imm << 19 >> 19) & ~1;
    case Form::jal:
      return (imm << 11 >> 11) & ~1;
    case Form::u:
      return imm & ~0xfff;
    case Form::shift6:
      return imm & 63;
    case Form::shift5:
      return imm & 31;
    default:
      return 0;
  }
}

bool writes_integer(const Encoding& e) {
  return !(e.floats & kFd) && e.form != Form::store && e.form != Form::branch && e.form != Form::block &&
         e.form != Form::none;
}

TEST(Decode, EveryInstructionHasItsNameAndOperands) {
  for (const Encoding& e : kAllEncodings) {
    if (e.form == Form::csr || e.form == Form::csr_imm) continue;
    for (const std::int32_t imm : {0, 4, -4, 0x7fe, -0x800, 0x12345678, -0x12345678}) {
      const Operands o{.rd = 11, .rs1 = 12, .rs2 = 13, .rs3 = 14, .rm = 2, .imm = imm};
      const Insn insn = decode(encode(e, o));
      SCOPED_TRACE(e.name);
      ASSERT_EQ(mnemonic(insn.op), e.name);
      EXPECT_EQ(insn.length, 4);
      if (e.form == Form::none) continue;
      const bool has_rd = e.form != Form::store && e.form != Form::branch && e.form != Form::block;
      const bool has_rs1 = e.form != Form::u && e.form != Form::jal && e.form != Form::constant;
      const bool has_rs2 = e.form == Form::r || e.form == Form::amo || e.form == Form::store ||
                           e.form == Form::branch || e.form == Form::r_rm || e.form == Form::r4_rm;
      EXPECT_EQ(insn.rd, has_rd ? 11 + (e.floats & kFd ? 32 : 0) : Insn::kSink);
      EXPECT_EQ(insn.rs1, has_rs1 ? 12 + (e.floats & kF1 ? 32 : 0) : 0);
      EXPECT_EQ(insn.rs2, has_rs2 ? 13 + (e.floats & kF2 ? 32 : 0) : 0);
      EXPECT_EQ(insn.rs3, e.form == Form::r4_rm ? 14 + 32 : 0);
      if (e.form == Form::r2_rm || e.form == Form::r_rm || e.form == Form::r4_rm) {
        EXPECT_EQ(insn.rm, 2);
      } else if (e.form == Form::constant) {
        EXPECT_EQ(insn.rm, 12);
      } else if (e.floats == kInt || e.form == Form::load || e.form == Form::store) {
        EXPECT_EQ(insn.imm, kept(e.form, imm));
      }
    }
  }
}

TEST(Decode, EveryOperationIsReached) {
  std::set<Op> reached;
  for (const Encoding& e : kAllEncodings)
    reached.insert(decode(encode(e, {.rd = 1, .rs1 = 1, .rs2 = 1, .rs3 = 1, .imm = 1})).op);
  for (unsigned i = static_cast<unsigned>(Op::lui); i < static_cast<unsigned>(Op::task_create); ++i)
    EXPECT_TRUE(reached.count(static_cast<Op>(i))) << mnemonic(static_cast<Op>(i));
}

TEST(Decode, AResultInX0GoesToTheSinkAndF0IsARegister) {
  for (const Encoding& e : kAllEncodings)
    if (writes_integer(e)) {
      EXPECT_EQ(decode(encode(e, {.rd = 0, .rs1 = 1, .rs2 = 1, .imm = 1})).rd, Insn::kSink) << e.name;
    }
  EXPECT_EQ(decode(encode("fadd.d", {.rd = 0, .rs1 = 0, .rs2 = 0})).rd, 32);
  EXPECT_EQ(decode(encode("fadd.d", {.rd = 0, .rs1 = 0, .rs2 = 0})).rs2, 32);
}

TEST(Decode, ClassesSizesAndFlagsSayWhatTimingNeeds) {
  const auto info_of = [](std::string_view name) {
    return decode(encode(name, {.rd = 10, .rs1 = 10, .rs2 = 10, .rs3 = 10, .imm = 1}));
  };
  EXPECT_EQ(info_of("addw").cls, InsnClass::int_alu);
  EXPECT_EQ(info_of("mulw").cls, InsnClass::int_mul);
  EXPECT_EQ(info_of("remuw").cls, InsnClass::int_div);
  EXPECT_EQ(info_of("div").cls, InsnClass::int_div);
  EXPECT_EQ(info_of("fadd.s").cls, InsnClass::fp_add);
  EXPECT_EQ(info_of("fsub.d").cls, InsnClass::fp_add);
  EXPECT_EQ(info_of("fmul.d").cls, InsnClass::fp_mul);
  EXPECT_EQ(info_of("fdiv.s").cls, InsnClass::fp_div);
  EXPECT_EQ(info_of("fsqrt.d").cls, InsnClass::fp_sqrt);
  EXPECT_EQ(info_of("fnmsub.d").cls, InsnClass::fp_fma);
  EXPECT_EQ(info_of("fcvt.d.w").cls, InsnClass::fp_misc);
  EXPECT_EQ(info_of("feq.d").cls, InsnClass::fp_misc);
  EXPECT_EQ(info_of("jal").cls, InsnClass::jump);
  EXPECT_EQ(info_of("jalr").cls, InsnClass::jump_indirect);
  EXPECT_EQ(info_of("fence").cls, InsnClass::fence);
  EXPECT_EQ(info_of("ecall").cls, InsnClass::system);
  for (const std::string_view name : {"sh3add.uw", "cpop", "rev8", "bseti", "rori", "czero.eqz", "pause"})
    EXPECT_EQ(info_of(name).cls, InsnClass::int_alu) << name;
  for (const std::string_view name :
       {"fli.d", "fround.s", "fmaxm.d", "fltq.s", "fcvtmod.w.d", "fcvt.h.s", "fmv.x.h"})
    EXPECT_EQ(info_of(name).cls, InsnClass::fp_misc) << name;
  EXPECT_EQ(info_of("flh").cls, InsnClass::load);
  EXPECT_EQ(info_of("fsh").cls, InsnClass::store);
  EXPECT_EQ(info_of("flh").bytes, 2);
  EXPECT_EQ(info_of("fsh").bytes, 2);
  EXPECT_EQ(info_of("cbo.clean").cls, InsnClass::load);
  EXPECT_EQ(info_of("cbo.zero").cls, InsnClass::atomic);
  EXPECT_EQ(info_of("cbo.zero").bytes, 64);
  EXPECT_TRUE(info_of("cbo.zero").is_load() && info_of("cbo.zero").is_store());
  EXPECT_EQ(info_of("flw").bytes, 4);
  EXPECT_EQ(info_of("fsd").bytes, 8);
  EXPECT_EQ(info_of("lbu").bytes, 1);
  EXPECT_EQ(info_of("sh").bytes, 2);
  EXPECT_EQ(info_of("amoadd.w").bytes, 4);
  EXPECT_EQ(info_of("add").bytes, 0);
  EXPECT_TRUE(info_of("lr.d").is_load() && !info_of("lr.d").is_store());
  EXPECT_TRUE(!info_of("sc.d").is_load() && info_of("sc.d").is_store());
  EXPECT_TRUE(info_of("amoor.d").is_load() && info_of("amoor.d").is_store());
  for (const std::string_view name : {"beq", "jal", "jalr", "ecall", "ebreak", "fence.i"})
    EXPECT_TRUE(info_of(name).ends_block()) << name;
  for (const std::string_view name : {"add", "ld", "sd", "amoadd.w", "fence", "fadd.d"})
    EXPECT_FALSE(info_of(name).ends_block()) << name;
  EXPECT_EQ(decode(encode("amoadd.d", {.rd = 1}) | 1u << 26).flags & (Insn::kAcquire | Insn::kRelease),
            Insn::kAcquire);
  EXPECT_EQ(decode(encode("amoadd.d", {.rd = 1}) | 1u << 25).flags & (Insn::kAcquire | Insn::kRelease),
            Insn::kRelease);
}

TEST(Decode, CallsAndReturnsFollowTheLinkRegisterConvention) {
  const auto flags = [](unsigned rd, unsigned rs1) {
    return decode(encode("jalr", {.rd = rd, .rs1 = rs1})).flags & (Insn::kLink | Insn::kReturn);
  };
  EXPECT_EQ(flags(0, 1), Insn::kReturn);
  EXPECT_EQ(flags(0, 5), Insn::kReturn);
  EXPECT_EQ(flags(0, 10), 0);
  EXPECT_EQ(flags(1, 10), Insn::kLink);
  EXPECT_EQ(flags(1, 5), Insn::kLink | Insn::kReturn);
  EXPECT_EQ(flags(1, 1), Insn::kLink);
  EXPECT_TRUE(decode(encode("jal", {.rd = 1})).flags & Insn::kLink);
  EXPECT_FALSE(decode(encode("jal", {.rd = 0})).flags & Insn::kLink);
  EXPECT_EQ(decode(0x8082).flags & Insn::kReturn, Insn::kReturn) << "c.jr ra";
  EXPECT_EQ(decode(0x9502).flags & Insn::kLink, Insn::kLink) << "c.jalr a0";
}

// Half-words and texts as the GNU assembler and objdump of binutils pair them.
TEST(Decode, CompressedInstructionsExpandToTheirLongForms) {
  const std::pair<std::uint32_t, const char*> cases[] = {
      {0x0808, "addi a0, sp, 16"},  // c.addi4spn
      {0x1ffc, "addi a5, sp, 1020"},   {0x2508, "fld fa0, 8(a0)"},
      {0x5d7c, "lw a5, 124(a0)"},      {0x7d7c, "ld a5, 248(a0)"},
      {0xa508, "fsd fa0, 8(a0)"},      {0xc11c, "sw a5, 0(a0)"},
      {0xe11c, "sd a5, 0(a0)"},        {0x0001, "addi zero, zero, 0"},  // c.nop
      {0x157d, "addi a0, a0, -1"},     {0x2505, "addiw a0, a0, 1"},
      {0x557d, "addi a0, zero, -1"},  // c.li
      {0x7179, "addi sp, sp, -48"},   // c.addi16sp
      {0x617d, "addi sp, sp, 496"},    {0x7101, "addi sp, sp, -512"},
      {0x757d, "lui a0, 0xfffff"},     {0x6505, "lui a0, 0x1"},
      {0x917d, "srli a0, a0, 63"},     {0x957d, "srai a0, a0, 63"},
      {0x997d, "andi a0, a0, -1"},     {0x8d0d, "sub a0, a0, a1"},
      {0x8d2d, "xor a0, a0, a1"},      {0x8d4d, "or a0, a0, a1"},
      {0x8d6d, "and a0, a0, a1"},      {0x9d0d, "subw a0, a0, a1"},
      {0x9d2d, "addw a0, a0, a1"},     {0xa001, "jal zero, 0x1000"},  // c.j .
      {0xbffd, "jal zero, 0xffe"},     {0xaffd, "jal zero, 0x17fe"},
      {0xb001, "jal zero, 0x800"},     {0xc101, "beq a0, zero, 0x1000"},
      {0xfd7d, "bne a0, zero, 0xffe"}, {0xed7d, "bne a0, zero, 0x10fe"},
      {0xd101, "beq a0, zero, 0xf00"}, {0x157e, "slli a0, a0, 63"},
      {0x2522, "fld fa0, 8(sp)"},      {0x50fe, "lw ra, 252(sp)"},
      {0x70fe, "ld ra, 504(sp)"},      {0xbfaa, "fsd fa0, 504(sp)"},
      {0xdf86, "sw ra, 252(sp)"},      {0xff86, "sd ra, 504(sp)"},
      {0x8082, "jalr zero, 0(ra)"},    {0x9082, "jalr ra, 0(ra)"},
      {0x852e, "add a0, zero, a1"},  // c.mv
      {0x952e, "add a0, a0, a1"},      {0x9002, "ebreak"},
  };
  for (const auto& [half, expected] : cases) {
    const Insn insn = decode(0xffff0000 | half);  // what follows in memory does not matter
    EXPECT_EQ(disassemble(insn, 0x1000), expected) << std::hex << half;
    EXPECT_EQ(insn.length, 2);
  }
}

TEST(Decode, ReservedCompressedEncodingsAreIllegal) {
  const std::pair<std::uint32_t, const char*> cases[] = {
      {0x0000, "all zero: defined as illegal"},
      {0x0004, "c.addi4spn with 0"},
      {0x8000, "quadrant 0, funct3 4"},
      {0x2001, "c.addiw with rd 0"},
      {0x6101, "c.addi16sp with 0"},
      {0x6501, "c.lui with 0"},
      {0x9c41, "c.subw/addw row, third"},
      {0x9c61, "c.subw/addw row, fourth"},
      {0x4002, "c.lwsp with rd 0"},
      {0x6002, "c.ldsp with rd 0"},
      {0x8002, "c.jr with rs1 0"},
  };
  for (const auto& [half, what] : cases) {
    const Insn insn = decode(half);
    EXPECT_EQ(insn.op, Op::illegal) << what;
    EXPECT_EQ(insn.length, 2) << what;
    EXPECT_EQ(static_cast<std::uint32_t>(insn.imm), half);
  }
}

TEST(Decode, ReservedLongEncodingsAreIllegal) {
  const std::pair<std::uint32_t, const char*> cases[] = {
      {0x00007003, "load funct3 7"},
      {0x00004023, "store funct3 4"},
      {0x00002063, "branch funct3 2"},
      {0x00001067, "jalr funct3 1"},
      {0x04001013, "slli with bit 26"},
      {0x80005013, "srai with bit 31"},
      {0x0200101b, "slliw by 32"},
      {0x0000201b, "op-imm-32 funct3 2"},
      {0x04000033, "add with funct7 2"},
      {0x40001033, "sll with funct7 0x20"},
      {0x0200103b, "mulhw does not exist"},
      {0x0000102f, "amo of 2 bytes"},
      {0x1010202f, "lr with rs2 1"},
      {0x2800202f, "amo funct5 5"},
      {0x00000007, "vector load"},
      {0x00004027, "fsq"},
      {0x08000033, "pack, of Zbkb"},
      {0x0a001033, "clmul, of Zbc"},
      {0x0a003033, "clmulh, of Zbc"},
      {0x0a00503b, "minu of words"},
      {0x0e001033, "funct7 7, funct3 1"},
      {0x0e006033, "funct7 7, funct3 6"},
      {0x20001033, "funct7 0x10, funct3 1"},
      {0x2000003b, "funct7 0x10 of words, funct3 0"},
      {0x0810403b, "packw, of Zbkb: zext.h with rs2 1"},
      {0x6000003b, "funct7 0x30 of words, funct3 0"},
      {0x60301013, "count 3"},
      {0x60601013, "funct7 0x30, immediate 0x606"},
      {0x6040101b, "sext.b of words"},
      {0x28705013 ^ 1 << 20, "orc.b with another shift"},
      {0x69805013, "rev8 of 32 bits"},
      {0x6870501b, "rev8 of words"},
      {0x28005013, "bseti's funct3 is 1"},
      {0x68005013, "binvi's funct3 is 1"},
      {0x40001013, "srai's funct3 is 5"},
      {0x60001013 | 8 << 20, "rotation to the left by an immediate"},
      {0x6200501b, "roriw by 32"},
      {0x0c00101b, "slli.uw by 64"},
      {0x0800501b, "srli.uw"},
      {0x0001200f, "cbo.inval, which user mode has not"},
      {0x0030200f, "cbo 3"},
      {0x0050200f, "cbo 5"},
      {0x0040208f, "cbo.zero with rd"},
      {0x04000053, "fadd.h"},
      {0x06000053, "fadd.q"},
      {0x00005053, "fadd.s with rounding mode 5"},
      {0x02006053, "fadd.d with rounding mode 6"},
      {0x58100053, "fsqrt with rs2 1"},
      {0x20003053, "fsgnj funct3 3"},
      {0x28004053, "fmin funct3 4"},
      {0xa0006053, "fcompare funct3 6"},
      {0x40300053, "fcvt.s from kind 3"},
      {0x40600053, "fround with rs2 6"},
      {0x40405053, "fround.s with rounding mode 5"},
      {0xc0801053, "fcvtmod.w.s"},
      {0xc2800053, "fcvtmod.w.d with another rounding than rtz"},
      {0xf0101053, "fli funct3 1"},
      {0xf0200053, "fmv.w.x with rs2 2"},
      {0x44200053, "fcvt.h.h"},
      {0x44405053, "fround.h"},
      {0x14000053, "fmul.h"},
      {0xf4100053, "fli.h, of Zfh"},
      {0xe4001053, "fclass.h, of Zfh"},
      {0x46000053, "fcvt.q.s"},
      {0xa0003053, "fcompare funct3 3"},
      {0xc0400053, "fcvt to kind 4"},
      {0x40000053, "fcvt.s.s"},
      {0x42100053, "fcvt.d.d"},
      {0xe0002053, "fmv/fclass funct3 2"},
      {0x04000043, "fmadd.h"},
      {0x00005043, "fmadd with rounding mode 5"},
      {0x00200073, "uret"},
      {0x10200073, "sret"},
      {0x30200073, "mret"},
      {0x10500073, "wfi"},
      {0x00004073, "system funct3 4"},
      {0xc0001073, "csrrw cycle"},
      {0xc0206073, "csrrsi instret, 0 reads only"},
      {0x30002073, "csrr mstatus"},
      {0xc0301073, "csrrw hpmcounter3"},
      {0xc2002073, "csrr vl"},
      {0x0000300f, "misc-mem funct3 3"},
      {0xffffffff, "all ones"},
      {0x0000002b, "custom-1"},
      {0x0000006b, "reserved opcode 1a"},
  };
  for (const auto& [word, what] : cases) {
    if (word == 0xc0206073) {
      EXPECT_EQ(decode(word).op, Op::csrrsi) << what;
      EXPECT_EQ(decode(word | 1 << 15).op, Op::illegal) << "csrrsi instret, 1 writes";
      continue;
    }
    const Insn insn = decode(word);
    EXPECT_EQ(insn.op, Op::illegal) << what;
    EXPECT_EQ(insn.length, 4) << what;
    EXPECT_EQ(static_cast<std::uint32_t>(insn.imm), word);
  }
}

TEST(Decode, ControlRegistersOfUserMode) {
  EXPECT_EQ(text(0x00102573), "csrrs a0, fflags, zero");
  EXPECT_EQ(text(0x0025d573), "csrrwi a0, frm, 11");
  EXPECT_EQ(text(0x00359073), "csrrw zero, fcsr, a1");
  EXPECT_EQ(text(0xc0002573), "csrrs a0, cycle, zero");
  EXPECT_EQ(text(0xc0102573), "csrrs a0, time, zero");
  EXPECT_EQ(text(0xc0202573), "csrrs a0, instret, zero");
  EXPECT_EQ(text(0xc0302573), "csrrs a0, hpmcounter3, zero");
  EXPECT_EQ(text(0xc1f02573), "csrrs a0, hpmcounter31, zero");
}

// Words and texts as binutils 2.42 pairs them.
TEST(Decode, TextsOfTheNewerExtensions) {
  const std::pair<std::uint32_t, const char*> cases[] = {{0x20c5a533, "sh1add a0, a1, a2"},
                                                         {0x0bf5951b, "slli.uw a0, a1, 63"},
                                                         {0x60059513, "clz a0, a1"},
                                                         {0x6025951b, "cpopw a0, a1"},
                                                         {0x0805c53b, "zext.h a0, a1"},
                                                         {0x6b85d513, "rev8 a0, a1"},
                                                         {0x63f5d513, "rori a0, a1, 63"},
                                                         {0x61f5d51b, "roriw a0, a1, 31"},
                                                         {0x4bf5d513, "bexti a0, a1, 63"},
                                                         {0x0ec5d533, "czero.eqz a0, a1, a2"},
                                                         {0x0100000f, "pause"},
                                                         {0x0045a00f, "cbo.zero (a1)"},
                                                         {0x0015a00f, "cbo.clean (a1)"},
                                                         {0x00659507, "flh fa0, 6(a1)"},
                                                         {0xfea59f27, "fsh fa0, -2(a1)"},
                                                         {0xf0108553, "fli.s fa0, min"},
                                                         {0xf0138553, "fli.s fa0, 0.125"},
                                                         {0xf21f0553, "fli.d fa0, inf"},
                                                         {0xf21f8553, "fli.d fa0, nan"},
                                                         {0xf2100553, "fli.d fa0, -1"},
                                                         {0x4045a553, "fround.s fa0, fa1, rdn"},
                                                         {0xc2859553, "fcvtmod.w.d a0, fa1, rtz"},
                                                         {0x4405f553, "fcvt.h.s fa0, fa1"}};
  for (const auto& [word, expected] : cases) EXPECT_EQ(text(word), expected) << std::hex << word;
}

constexpr std::uint32_t task_word(TaskOp op, std::uint32_t imm, unsigned rd = 0, unsigned rs1 = 0) {
  return kCustom0 | static_cast<std::uint32_t>(op) << 12 | rd << 7 | rs1 << 15 | imm << 20;
}

TEST(Decode, TaskInstructions) {
  EXPECT_EQ(text(task_word(TaskOp::create, 0x3d)), "task.create nonspec, timestamp, locale, 3");
  EXPECT_EQ(text(task_word(TaskOp::create, 0x50)), "task.create spec, 5");
  EXPECT_EQ(text(task_word(TaskOp::create, 0x322)), "task.create mayspec, named, again, 2");
  EXPECT_EQ(text(task_word(TaskOp::create, 0x416)), "task.create mayspec, timestamp, place, 1");
  EXPECT_EQ(text(task_word(TaskOp::finish, 0)), "task.finish");
  EXPECT_EQ(text(task_word(TaskOp::finish, 1)), "task.finish waits");
  EXPECT_EQ(text(task_word(TaskOp::promote, 0)), "task.promote");
  EXPECT_EQ(text(task_word(TaskOp::read, 0, 10)), "task.read a0, timestamp");
  EXPECT_EQ(text(task_word(TaskOp::read, 6, 10)), "task.read a0, cores");
  EXPECT_EQ(text(task_word(TaskOp::read, 8, 10)), "task.read a0, function");
  EXPECT_EQ(text(task_word(TaskOp::read, 15, 10)), "task.read a0, own_core");
  EXPECT_EQ(text(task_word(TaskOp::region, 1)), "task.region worker");
  EXPECT_EQ(decode(task_word(TaskOp::create, 1)).cls, InsnClass::task);
  EXPECT_TRUE(decode(task_word(TaskOp::read, 0, 10)).ends_block());
}

TEST(Decode, ReservedTaskEncodingsAreIllegal) {
  const auto is_illegal = [](std::uint32_t word) { return decode(word).op == Op::illegal; };
  EXPECT_TRUE(is_illegal(task_word(TaskOp::create, 3))) << "type 3";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::create, 6u << 4))) << "six arguments";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::create, 0x100))) << "named, without an argument";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::create, 0x408))) << "a locale and a place";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::create, 0x800))) << "reserved flag";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::create, 1, 1))) << "rd";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::create, 1, 0, 1))) << "rs1";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::finish, 2)));
  EXPECT_TRUE(is_illegal(task_word(TaskOp::promote, 1)));
  EXPECT_TRUE(is_illegal(task_word(TaskOp::read, 16, 10)));
  EXPECT_TRUE(is_illegal(task_word(TaskOp::region, 2)));
  constexpr std::uint32_t kRa = 1u << 7, kT0 = 5u << 7, kRs1 = 1u << 15;
  EXPECT_EQ(decode(task_word(TaskOp::capsule_call, 0)).op, Op::capsule_call);
  EXPECT_EQ(decode(task_word(TaskOp::capsule_call, 0) | kRa).rd, 1);
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_call, 0) | kT0)) << "links by ra only";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_call, 0) | kRs1));
  EXPECT_EQ(decode(task_word(TaskOp::capsule_call, 1)).op, Op::capsule_vector);
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_call, 1) | kRa));
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_call, 2)));
  EXPECT_EQ(decode(task_word(TaskOp::capsule_return, 0)).op, Op::capsule_return);
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_return, 1)));
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_return, 0) | kRa));
  EXPECT_EQ(decode(task_word(TaskOp::capsule_on_abort, 5 << 4)).op, Op::capsule_on_abort);
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_on_abort, 6 << 4))) << "6 arguments";
  EXPECT_TRUE(is_illegal(task_word(TaskOp::capsule_on_abort, 1))) << "reserved bit";
}

}  // namespace
}  // namespace rubato::chip::isa::test
