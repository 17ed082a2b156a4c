// The chip's task instructions as C++ functions (C6; docs/isa.md): custom-0, I-type, values in fixed
// registers. A test compares the constants with the simulator's own, chip/isa/task_instructions.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0::engine::instruction {

inline constexpr std::uint32_t kOpcode = 0x0b;
// funct3
inline constexpr std::uint32_t kCreate = 0;
inline constexpr std::uint32_t kFinish = 1;
inline constexpr std::uint32_t kPromote = 2;
inline constexpr std::uint32_t kRead = 3;
inline constexpr std::uint32_t kRegion = 4;
// imm of create, besides the task's type in bits 0 and 1
inline constexpr std::uint32_t kHasTimestamp = 1u << 2;
inline constexpr std::uint32_t kHasLocale = 1u << 3;
inline constexpr std::uint32_t kArgumentsShift = 4;
inline constexpr std::uint32_t kReads = 1u << 7;
inline constexpr std::uint32_t kNamed = 1u << 8;
inline constexpr std::uint32_t kAgain = 1u << 9;
inline constexpr std::uint32_t kHasPlace = 1u << 10;
// imm of finish
inline constexpr std::uint32_t kWaits = 1u << 0;
// imm of read
inline constexpr std::uint32_t kTimestamp = 0;
inline constexpr std::uint32_t kIsTimestamped = 1;
inline constexpr std::uint32_t kIsTask = 2;
inline constexpr std::uint32_t kIsSpeculative = 3;
inline constexpr std::uint32_t kCore = 4;
inline constexpr std::uint32_t kTile = 5;
inline constexpr std::uint32_t kCores = 6;
inline constexpr std::uint32_t kWorkers = 7;
inline constexpr std::uint32_t kFunction = 8;
// imm of region
inline constexpr std::uint32_t kEnter = 0;
inline constexpr std::uint32_t kWorker = 1;

#if defined(__riscv)

/// The value may change while a task runs only for is_speculative: all others are pure.
template <std::uint32_t selector>
inline std::uint64_t read() {
  std::uint64_t value;
  if constexpr (selector == kIsSpeculative) {
    asm volatile(".insn i %1, %2, %0, x0, %3" : "=r"(value) : "i"(kOpcode), "i"(kRead), "i"(selector));
  } else {
    asm(".insn i %1, %2, %0, x0, %3" : "=r"(value) : "i"(kOpcode), "i"(kRead), "i"(selector));
  }
  return value;
}

/// Operands of create besides its flags. `at` and `on` are looked at only if the flags say so. `on`: the
/// locale, or the place.
struct CreateOperands {
  std::uint64_t function;
  std::uint64_t at;
  std::uint64_t on;
  std::uint64_t arguments[5];
};

/// Single create instruction; `flags` without the number of arguments. The memory clobber makes the creator's
/// writes precede the task.
template <std::uint32_t flags, unsigned count>
[[gnu::always_inline]] inline void create(const CreateOperands& operands) {
  constexpr std::uint32_t imm = flags | count << kArgumentsShift;
  // The empty asm leaves a register that carries nothing as it is, instead of clearing it.
  register std::uint64_t a7 asm("a7") = operands.function;
  register std::uint64_t a5 asm("a5");
  register std::uint64_t a6 asm("a6");
  if constexpr ((flags & kHasTimestamp) != 0) {
    a5 = operands.at;
  } else {
    asm("" : "=r"(a5));
  }
  if constexpr ((flags & (kHasLocale | kHasPlace)) != 0) {
    a6 = operands.on;
  } else {
    asm("" : "=r"(a6));
  }
#define RUBATO_CREATE ".insn i %[opcode], %[funct3], x0, x0, %[imm]"
#define RUBATO_OPERANDS \
  [opcode] "i"(kOpcode), [funct3] "i"(kCreate), [imm] "i"(imm), "r"(a7), "r"(a5), "r"(a6)
  if constexpr (count == 0) {
    asm volatile(RUBATO_CREATE : : RUBATO_OPERANDS : "memory");
  } else {
    register std::uint64_t a0 asm("a0") = operands.arguments[0];
    if constexpr (count == 1) {
      asm volatile(RUBATO_CREATE : : RUBATO_OPERANDS, "r"(a0) : "memory");
    } else {
      register std::uint64_t a1 asm("a1") = operands.arguments[1];
      if constexpr (count == 2) {
        asm volatile(RUBATO_CREATE : : RUBATO_OPERANDS, "r"(a0), "r"(a1) : "memory");
      } else {
        register std::uint64_t a2 asm("a2") = operands.arguments[2];
        if constexpr (count == 3) {
          asm volatile(RUBATO_CREATE : : RUBATO_OPERANDS, "r"(a0), "r"(a1), "r"(a2) : "memory");
        } else {
          register std::uint64_t a3 asm("a3") = operands.arguments[3];
          if constexpr (count == 4) {
            asm volatile(RUBATO_CREATE : : RUBATO_OPERANDS, "r"(a0), "r"(a1), "r"(a2), "r"(a3) : "memory");
          } else {
            register std::uint64_t a4 asm("a4") = operands.arguments[4];
            asm volatile(RUBATO_CREATE
                         :
                         : RUBATO_OPERANDS, "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(a4)
                         : "memory");
          }
        }
      }
    }
  }
#undef RUBATO_CREATE
#undef RUBATO_OPERANDS
}

/// Ends the running task, which found that it must wait: it is created again, with kAgain.
[[noreturn]] inline void finish_waiting() {
  asm volatile(".insn i %0, %1, x0, x0, %2" : : "i"(kOpcode), "i"(kFinish), "i"(kWaits) : "memory");
  __builtin_unreachable();
}

/// Ends speculation of the running task: it stops and runs again, alone among non-speculative tasks (C18).
inline void promote() {
  asm volatile(".insn i %0, %1, x0, x0, 0" : : "i"(kOpcode), "i"(kPromote) : "memory");
}

#endif

}  // namespace rubato::inline v0::engine::instruction
