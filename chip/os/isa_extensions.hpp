// The extensions of user mode that the chip executes besides rv64imafdc, once for /proc/cpuinfo and
// riscv_hwprobe: in the order of Linux, with the bit of RISCV_HWPROBE_KEY_IMA_EXT_0.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rubato::chip {

struct IsaExtension {
  std::string_view name;
  int bit;  ///< -1: riscv_hwprobe has none
};

inline constexpr IsaExtension kIsaExtensions[] = {
    {"zicbom", 55}, {"zicbop", 60},   {"zicboz", 6},       {"zicntr", 50}, {"zicond", 35},
    {"zicsr", -1},  {"zifencei", -1}, {"zihintpause", 36}, {"zihpm", 51},  {"zaamo", 56},
    {"zalrsc", 57}, {"zfa", 32},      {"zfhmin", 28},      {"zca", 43},    {"zcd", 45},
    {"zba", 3},     {"zbb", 4},       {"zbs", 5},          {"zkt", 16},
};

/// As /proc/cpuinfo has it.
inline std::string isa_string() {
  std::string text = "rv64imafdc";
  for (const IsaExtension& extension : kIsaExtensions) text += "_" + std::string(extension.name);
  return text;
}

/// The value of RISCV_HWPROBE_KEY_IMA_EXT_0.
constexpr std::uint64_t hwprobe_extensions() {
  std::uint64_t bits = 1 | 2;  // F and D; C
  for (const IsaExtension& extension : kIsaExtensions)
    if (extension.bit >= 0) bits |= std::uint64_t{1} << extension.bit;
  return bits;
}

}  // namespace rubato::chip
