// Decoded instructions as text: names come from semantics.inc, operands from the class of the operation.
// SPDX-License-Identifier: MIT
#include "chip/isa/disassemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/check.hpp"
#include "chip/isa/fp_more.hpp"
#include "chip/isa/task_instructions.hpp"

namespace rubato::chip::isa {
namespace {

const std::array<std::string, kOpCount>& mnemonics() {
  static const std::array<std::string, kOpCount> names = [] {
    std::array<std::string, kOpCount> all = {
#define RUBATO_INSN(name, ...) #name,
#include "chip/isa/semantics.inc"
#undef RUBATO_INSN
    };
    for (std::string& name : all) {
      if (name.back() == '_') name.pop_back();  // xor_ and friends: keywords of C++
      std::replace(name.begin(), name.end(), '_', '.');
    }
    return all;
  }();
  return names;
}

std::string csr_name(std::int32_t number) {
  switch (static_cast<unsigned>(number)) {
    case csr::fflags:
      return "fflags";
    case csr::frm:
      return "frm";
    case csr::fcsr:
      return "fcsr";
    case csr::cycle:
      return "cycle";
    case csr::time:
      return "time";
    case csr::instret:
      return "instret";
    default:
      return fmt::format("hpmcounter{}", static_cast<unsigned>(number) - csr::cycle);
  }
}

/// ", rtz"; nothing for the dynamic mode, as assemblers have it, or for operations without one.
std::string_view rounding(const Insn& insn) {
  static constexpr std::string_view kRoundings[] = {", rne", ", rtz", ", rdn", ", rup", ", rmm", "", "", ""};
  const std::string_view name = mnemonic(insn.op);
  const bool rounds = insn.cls == InsnClass::fp_add || insn.cls == InsnClass::fp_mul ||
                      insn.cls == InsnClass::fp_fma || insn.cls == InsnClass::fp_div ||
                      insn.cls == InsnClass::fp_sqrt || name.starts_with("fcvt") ||
                      name.starts_with("fround");
  return rounds ? kRoundings[insn.rm & 7] : std::string_view{};
}

/// "fli.s ft0, 0.25", as assemblers have it.
std::string float_constant(const Insn& insn) {
  const std::string value = insn.rm == fp::kSmallestNormal ? "min"
                            : insn.rm == fp::kInfinity     ? "inf"
                            : insn.rm == fp::kNotANumber   ? "nan"
                                                           : fmt::format("{}", fp::kConstants[insn.rm]);
  return fmt::format("{} {}, {}", mnemonic(insn.op), register_name(insn.rd), value);
}

/// Integer instructions without a second source register.
std::string one_source(const Insn& insn, bool has_immediate) {
  const std::string text =
      fmt::format("{} {}, {}", mnemonic(insn.op), register_name(insn.rd), register_name(insn.rs1));
  return has_immediate ? fmt::format("{}, {}", text, insn.imm) : text;
}

std::string int_alu(const Insn& insn) {
  const std::string_view name = mnemonic(insn.op);
  switch (insn.op) {
    case Op::pause:
      return std::string(name);
    case Op::lui:
    case Op::auipc:
      return fmt::format("{} {}, {:#x}", name, register_name(insn.rd),
                         static_cast<std::uint32_t>(insn.imm) >> 12);
    case Op::clz:
    case Op::clzw:
    case Op::ctz:
    case Op::ctzw:
    case Op::cpop:
    case Op::cpopw:
    case Op::sext_b:
    case Op::sext_h:
    case Op::zext_h:
    case Op::orc_b:
    case Op::rev8:
      return one_source(insn, false);
    case Op::slli_uw:
    case Op::rori:
    case Op::roriw:
    case Op::bclri:
    case Op::bexti:
    case Op::binvi:
    case Op::bseti:
      return one_source(insn, true);
    default:
      break;
  }
  if (insn.op < Op::add || (insn.op >= Op::addiw && insn.op <= Op::sraiw)) return one_source(insn, true);
  return fmt::format("{} {}, {}, {}", name, register_name(insn.rd), register_name(insn.rs1),
                     register_name(insn.rs2));
}

std::string task(const Insn& insn) {
  const auto imm = static_cast<std::uint32_t>(insn.imm);
  if (insn.op == Op::task_read) {
    static constexpr std::string_view kSelectors[] = {
        "timestamp",  "is_timestamped", "is_task",      "is_speculative", "core",          "tile",
        "cores",      "workers",        "function",     "is_doomed",      "capsule_depth", "stack_low",
        "stack_high", "has_capsules",   "caller_stack", "own_core"};
    return fmt::format("task.read {}, {}", register_name(insn.rd),
                       imm < std::size(kSelectors) ? kSelectors[imm] : "?");
  }
  if (insn.op == Op::task_region) return imm == 0 ? "task.region enter" : "task.region worker";
  if (insn.op == Op::task_finish) return imm == 0 ? "task.finish" : "task.finish waits";
  if (insn.op == Op::capsule_call) return insn.rd == reg::ra ? "capsule.call ra" : "capsule.call";
  if (insn.op == Op::capsule_on_abort)
    return fmt::format("capsule.on_abort {}", imm >> CreateFlags::kArgumentsShift);
  if (insn.op != Op::task_create) return std::string(mnemonic(insn.op));
  static constexpr std::string_view kTypes[] = {"spec", "nonspec", "mayspec", "?"};
  return fmt::format("task.create {}{}{}{}{}{}{}, {}", kTypes[imm & CreateFlags::kTypeMask],
                     imm & CreateFlags::kHasTimestamp ? ", timestamp" : "",
                     imm & CreateFlags::kHasLocale ? ", locale" : "",
                     imm & CreateFlags::kHasPlace ? ", place" : "",
                     imm & CreateFlags::kReads ? ", reads" : "", imm & CreateFlags::kNamed ? ", named" : "",
                     imm & CreateFlags::kAgain ? ", again" : "", (imm >> CreateFlags::kArgumentsShift) & 7);
}

std::string system(const Insn& insn) {
  const std::string_view name = mnemonic(insn.op);
  if (!name.starts_with("csr")) return std::string(name);
  const bool immediate = name.back() == 'i';
  return fmt::format("{} {}, {}, {}", name, register_name(insn.rd), csr_name(insn.imm),
                     immediate ? std::to_string(insn.rm) : std::string(register_name(insn.rs1)));
}

}  // namespace

std::string_view mnemonic(Op op) { return mnemonics()[static_cast<unsigned>(op)]; }

std::string_view register_name(unsigned number) {
  static constexpr std::array<std::string_view, 65> kRegisters = {
      "zero", "ra",  "sp",  "gp",  "tp",  "t0",  "t1",   "t2",   "s0",  "s1",  "a0",   "a1",   "a2",
      "a3",   "a4",  "a5",  "a6",  "a7",  "s2",  "s3",   "s4",   "s5",  "s6",  "s7",   "s8",   "s9",
      "s10",  "s11", "t3",  "t4",  "t5",  "t6",  "ft0",  "ft1",  "ft2", "ft3", "ft4",  "ft5",  "ft6",
      "ft7",  "fs0", "fs1", "fa0", "fa1", "fa2", "fa3",  "fa4",  "fa5", "fa6", "fa7",  "fs2",  "fs3",
      "fs4",  "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11", "zero"};
  RUBATO_CHECK(number < kRegisters.size());
  return kRegisters[number];
}

std::string disassemble(const Insn& insn, Addr pc) {
  const std::string_view name = mnemonic(insn.op), rd = register_name(insn.rd), rs1 = register_name(insn.rs1),
                         rs2 = register_name(insn.rs2);
  const Addr target = pc + static_cast<std::uint64_t>(static_cast<std::int64_t>(insn.imm));
  switch (insn.cls) {
    case InsnClass::pseudo:
      if (insn.op != Op::illegal) return std::string(name);
      return fmt::format("illegal 0x{:0{}x}", static_cast<std::uint32_t>(insn.imm), 2 * insn.length);
    case InsnClass::task:
      return task(insn);
    case InsnClass::system:
      return system(insn);
    case InsnClass::fence:
      return std::string(name);
    case InsnClass::jump:
      return fmt::format("{} {}, {:#x}", name, rd, target);
    case InsnClass::jump_indirect:
      return fmt::format("{} {}, {}({})", name, rd, insn.imm, rs1);
    case InsnClass::branch:
      return fmt::format("{} {}, {}, {:#x}", name, rs1, rs2, target);
    case InsnClass::load:
      if (insn.op == Op::cbo_clean || insn.op == Op::cbo_flush) return fmt::format("{} ({})", name, rs1);
      return fmt::format("{} {}, {}({})", name, rd, insn.imm, rs1);
    case InsnClass::store:
      return fmt::format("{} {}, {}({})", name, rs2, insn.imm, rs1);
    case InsnClass::atomic:
      if (insn.op == Op::cbo_zero) return fmt::format("{} ({})", name, rs1);
      if (insn.op == Op::lr_w || insn.op == Op::lr_d) return fmt::format("{} {}, ({})", name, rd, rs1);
      return fmt::format("{} {}, {}, ({})", name, rd, rs2, rs1);
    case InsnClass::fp_fma:
      return fmt::format("{} {}, {}, {}, {}{}", name, rd, rs1, rs2, register_name(insn.rs3), rounding(insn));
    case InsnClass::int_alu:
      return int_alu(insn);
    default:
      if (insn.op == Op::fli_s || insn.op == Op::fli_d) return float_constant(insn);
      // An f register 0 as rs2 has number 32, so number 0 means that there is no second source.
      if (insn.cls >= InsnClass::fp_add && insn.rs2 == 0)
        return fmt::format("{} {}, {}{}", name, rd, rs1, rounding(insn));
      return fmt::format("{} {}, {}, {}{}", name, rd, rs1, rs2, rounding(insn));
  }
}

}  // namespace rubato::chip::isa
