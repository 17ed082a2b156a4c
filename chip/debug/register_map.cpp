// SPDX-License-Identifier: MIT
#include "chip/debug/register_map.hpp"

#include <fmt/format.h>

#include <string_view>

namespace rubato::chip {
namespace {

constexpr unsigned kPc = 32, kFloat = 33, kFflags = 65, kFrm = 66;
constexpr std::uint32_t kFflagsMask = 0x1f, kFrmMask = 7;
constexpr unsigned kFrmShift = 5;

constexpr std::string_view kIntegerNames[] = {
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "fp", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
    "a6",   "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
constexpr std::string_view kFloatNames[] = {"ft0", "ft1", "ft2",  "ft3",  "ft4", "ft5", "ft6",  "ft7",
                                            "fs0", "fs1", "fa0",  "fa1",  "fa2", "fa3", "fa4",  "fa5",
                                            "fa6", "fa7", "fs2",  "fs3",  "fs4", "fs5", "fs6",  "fs7",
                                            "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
static_assert(std::size(kIntegerNames) == 32 && std::size(kFloatNames) == 32);

std::string describe() {
  std::string xml =
      "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
      "<architecture>riscv:rv64</architecture><osabi>GNU/Linux</osabi>"
      "<feature name=\"org.gnu.gdb.riscv.cpu\">";
  for (const std::string_view name : kIntegerNames)
    xml += fmt::format("<reg name=\"{}\" bitsize=\"64\" type=\"int\"/>", name);
  xml += "<reg name=\"pc\" bitsize=\"64\" type=\"code_ptr\"/></feature>";
  xml += "<feature name=\"org.gnu.gdb.riscv.fpu\">";
  for (const std::string_view name : kFloatNames)
    xml += fmt::format("<reg name=\"{}\" bitsize=\"64\" type=\"ieee_double\"/>", name);
  for (const std::string_view name : {"fflags", "frm", "fcsr"})
    xml += fmt::format("<reg name=\"{}\" bitsize=\"32\" type=\"int\"/>", name);
  return xml + "</feature></target>";
}

}  // namespace

unsigned register_bytes(unsigned number) { return number < kFflags ? 8 : 4; }

std::uint64_t read_register(const HartState& hart, unsigned number) {
  if (number < kPc) return hart.x[number];
  if (number == kPc) return hart.pc;
  if (number < kFflags) return hart.f[number - kFloat];
  if (number == kFflags) return hart.fcsr & kFflagsMask;
  return number == kFrm ? hart.fcsr >> kFrmShift & kFrmMask : hart.fcsr;
}

void write_register(HartState& hart, unsigned number, std::uint64_t value) {
  const auto word = static_cast<std::uint32_t>(value);
  if (number == 0) return;
  if (number < kPc) {
    hart.x[number] = value;
  } else if (number == kPc) {
    hart.pc = value;
  } else if (number < kFflags) {
    hart.f[number - kFloat] = value;
  } else if (number == kFflags) {
    hart.fcsr = (hart.fcsr & ~kFflagsMask) | (word & kFflagsMask);
  } else if (number == kFrm) {
    hart.fcsr = (hart.fcsr & kFflagsMask) | (word & kFrmMask) << kFrmShift;
  } else {
    hart.fcsr = word & (kFflagsMask | kFrmMask << kFrmShift);
  }
}

const std::string& register_description() {
  static const std::string text = describe();
  return text;
}

}  // namespace rubato::chip
