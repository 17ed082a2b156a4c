// The registers with which a transaction's begin returns again. x86_64.S knows this layout.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubato::tm {

struct Checkpoint {
  std::uintptr_t rbx, rbp, r12, r13, r14, r15;
  std::uintptr_t stack;         ///< the stack pointer after the return
  std::uintptr_t return_to;     ///< the return address
  std::uintptr_t shadow_stack;  ///< 0 without CET
};
static_assert(sizeof(Checkpoint) == 72 && offsetof(Checkpoint, stack) == 48);

}  // namespace rubato::tm

/// Goes back to a checkpoint: begin returns `actions` there (x86_64.S).
extern "C" [[noreturn]] void rubato_tm_resume(const rubato::tm::Checkpoint* checkpoint,
                                              std::uint32_t actions);
