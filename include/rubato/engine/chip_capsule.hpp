// Capsules on the simulated chip: the capsule instructions, and how the linker puts a program's capsules
// together (P9, P10, P18 to P20; docs/capsules.md). GNU ld's default script sorts sections
// .text.sorted.* by name, so neither a linker script nor a flag is needed:
//
//   .text.sorted.rubato_capsule.0   rubato_capsules_begin, on a page
//   .text.sorted.rubato_capsule.1   the vector: for each capsule the distance of its stub from the begin
//   .text.sorted.rubato_capsule.2   the stubs
//   .text.sorted.rubato_capsule.3   rubato_capsules_end, on a page
//
// Bodies are ordinary text: rights go with the depth of capsule calls, not with the place.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__riscv)

#include <cstdint>

#include "rubato/engine/chip_instructions.hpp"

namespace rubato::inline v0::engine::instruction {

// funct3
inline constexpr std::uint32_t kCapsuleCall = 5;
inline constexpr std::uint32_t kCapsuleReturn = 6;
inline constexpr std::uint32_t kCapsuleOnAbort = 7;
// imm of read
inline constexpr std::uint32_t kIsDoomed = 9;
inline constexpr std::uint32_t kCapsuleDepth = 10;
inline constexpr std::uint32_t kStackLow = 11;
inline constexpr std::uint32_t kStackHigh = 12;
inline constexpr std::uint32_t kHasCapsules = 13;
inline constexpr std::uint32_t kCallerStack = 14;
inline constexpr std::uint32_t kOwnCore = 15;

/// Reads a value that changes while a task runs.
template <std::uint32_t selector>
inline std::uint64_t read_now() {
  std::uint64_t value;
  asm volatile(".insn i %1, %2, %0, x0, %3" : "=r"(value) : "i"(kOpcode), "i"(kRead), "i"(selector));
  return value;
}

/// `arguments` beyond `count` are not looked at.
template <unsigned count>
inline void on_abort(std::uint64_t function, const std::uint64_t (&arguments)[5]) {
  register std::uint64_t a7 asm("a7") = function;
  register std::uint64_t a0 asm("a0");
  register std::uint64_t a1 asm("a1");
  register std::uint64_t a2 asm("a2");
  register std::uint64_t a3 asm("a3");
  register std::uint64_t a4 asm("a4");
  // The empty asm leaves a register that carries nothing as it is, instead of clearing it, or (volatile) of
  // copying another such to it.
#define RUBATO_HANDLER_ARGUMENT(i) \
  if constexpr (i < count) {       \
    a##i = arguments[i];           \
  } else {                         \
    asm volatile("" : "=r"(a##i)); \
  }
  RUBATO_HANDLER_ARGUMENT(0)
  RUBATO_HANDLER_ARGUMENT(1)
  RUBATO_HANDLER_ARGUMENT(2)
  RUBATO_HANDLER_ARGUMENT(3)
  RUBATO_HANDLER_ARGUMENT(4)
#undef RUBATO_HANDLER_ARGUMENT
  asm volatile(".insn i %0, %1, x0, x0, %2"
               :
               : "i"(kOpcode), "i"(kCapsuleOnAbort), "i"(count << 4), "r"(a7), "r"(a0), "r"(a1), "r"(a2),
                 "r"(a3), "r"(a4)
               : "memory");
}

}  // namespace rubato::inline v0::engine::instruction

asm(R"(
  .pushsection .text.sorted.rubato_capsule.0,"axG",@progbits,rubato_capsules_begin,comdat
  .option push
  .option norelax
  .balign 4096
  .weak rubato_capsules_begin
rubato_capsules_begin:
  .dword 0
  .option pop
  .popsection
  .pushsection .text.sorted.rubato_capsule.3,"axG",@progbits,rubato_capsules_end,comdat
  .option push
  .option norelax
  .balign 4096
  .weak rubato_capsules_end
rubato_capsules_end:
  .option pop
  .popsection
  .pushsection rubato_untracked,"awG",@progbits,rubato_untracked_arena,comdat
  .balign 4096
  .weak rubato_untracked_arena
rubato_untracked_arena:
  .zero 4096
  .popsection
)");

/// The address of a symbol, given as a string, not by way of the global offset table: that is tracked memory,
/// and a task that went wrong may have put anything there.
#define RUBATO_ADDRESS_OF(symbol)                          \
  [] {                                                     \
    std::uintptr_t at;                                     \
    asm(".weak " symbol "\n\tlla %0, " symbol : "=r"(at)); \
    return at;                                             \
  }()

/// Marks a point of the code that uses a lock: 0 has released it, 1 has taken it, 2 waits for it. For
/// run.check_capsules and reports. The mark lies in a section that is not loaded, so it costs no instruction,
/// and it vanishes with the function that it is in.
#define RUBATO_LOCK_MARK(what)                                                                   \
  asm volatile inline("998:\n\t.pushsection rubato_locks,\"?\",@progbits\n\t.dword 998b, " #what \
                      "\n\t.popsection" ::                                                       \
                          : "memory")

// `name` becomes an assembler name: the function that programs call, which returns to its caller's caller.
// The stub restores gp, which a caller that went wrong may have changed, and keeps the stack aligned.
#define RUBATO_CAPSULE_ASSEMBLY(name)                                       \
  asm(".pushsection .text.sorted.rubato_capsule.1,\"ax\",@progbits\n"       \
      ".balign 8\n"                                                         \
      "rubato_capsule_entry_" #name                                         \
      ":\n"                                                                 \
      ".dword rubato_capsule_stub_" #name                                   \
      " - rubato_capsules_begin\n"                                          \
      ".popsection\n"                                                       \
      ".pushsection .text.sorted.rubato_capsule.2,\"ax\",@progbits\n"       \
      ".option push\n"                                                      \
      ".option norelax\n"                                                   \
      ".balign 4\n"                                                         \
      ".globl rubato_capsule_stub_" #name                                   \
      "\n"                                                                  \
      ".type rubato_capsule_stub_" #name                                    \
      ", @function\n"                                                       \
      "rubato_capsule_stub_" #name                                          \
      ":\n"                                                                 \
      "lla gp, __global_pointer$\n"                                         \
      "addi sp, sp, -16\n"                                                  \
      "sd ra, 8(sp)\n"                                                      \
      "call rubato_capsule_body_" #name                                     \
      "\n"                                                                  \
      "ld ra, 8(sp)\n"                                                      \
      "addi sp, sp, 16\n"                                                   \
      ".insn i 0x0b, 6, x0, x0, 0\n"                                        \
      ".size rubato_capsule_stub_" #name ", . - rubato_capsule_stub_" #name \
      "\n"                                                                  \
      ".option pop\n"                                                       \
      ".popsection\n"                                                       \
      ".pushsection .text,\"ax\",@progbits\n"                               \
      ".balign 4\n"                                                         \
      ".globl " #name                                                       \
      "\n"                                                                  \
      ".type " #name ", @function\n" #name                                  \
      ":\n"                                                                 \
      "lla a7, rubato_capsule_entry_" #name                                 \
      "\n"                                                                  \
      ".insn i 0x0b, 5, x0, x0, 0\n"                                        \
      ".size " #name ", . - " #name                                         \
      "\n"                                                                  \
      ".popsection\n")

extern "C" {
extern const char rubato_capsules_begin[], rubato_capsules_end[] __attribute__((weak));
extern char __start_rubato_untracked[] __attribute__((weak)), __stop_rubato_untracked[] __attribute__((weak));
}

namespace rubato::inline v0::engine {

/// Protects pages before the C library is ready: without a call of it.
inline void protect_at_start(const void* begin, const void* end, int protection) {
  if (begin == end) return;
  register std::uint64_t a7 asm("a7") = 226;  // mprotect
  register std::uint64_t a0 asm("a0") = reinterpret_cast<std::uintptr_t>(begin);
  register std::uint64_t a1 asm("a1") = reinterpret_cast<std::uintptr_t>(end) - a0;
  register std::uint64_t a2 asm("a2") = static_cast<std::uint64_t>(protection);
  asm volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
  static constexpr char kFailed[] = "capsules: pages could not be made untracked at the start of the program";
  if (a0 != 0) {
    register const char* sentence asm("a0") = kFailed;
    asm volatile("ebreak" : : "r"(sentence) : "memory");
  }
}

inline constexpr int kProtUntracked = 0x10000000;
inline bool capsules_are_set = false;

/// Called once for each source that includes this; the first call does it.
inline void set_capsules() {
  if (capsules_are_set) return;
  capsules_are_set = true;
  protect_at_start(__start_rubato_untracked, __stop_rubato_untracked, 3 | kProtUntracked);
  protect_at_start(rubato_capsules_begin, rubato_capsules_end, 5 | kProtUntracked);
  register std::uint64_t a0 asm("a0") = reinterpret_cast<std::uintptr_t>(rubato_capsules_begin);
  register std::uint64_t a1 asm("a1") = reinterpret_cast<std::uintptr_t>(rubato_capsules_end) - a0;
  if (a1 != 0) asm volatile(".insn i 0x0b, 5, x0, x0, 1" : : "r"(a0), "r"(a1) : "memory");
}

[[gnu::used, gnu::section(".preinit_array")]] static void (*const set_capsules_first)() = set_capsules;

}  // namespace rubato::inline v0::engine

#endif
