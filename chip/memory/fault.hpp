// Faults of guest programs, with the facts a user needs to find the cause: pc, address, kind.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

enum class FaultKind : std::uint8_t {
  none,
  illegal_instruction,
  breakpoint,   ///< ebreak
  load_access,  ///< unmapped or unreadable data
  store_access,
  fetch_access,  ///< wild jump
  misaligned_atomic,
  misaligned_fetch,
  task_error,  ///< a rule of the task model was broken; `sentence` says which
};

struct Fault {
  FaultKind kind = FaultKind::none;
  Addr pc = 0;
  Addr address = 0;         ///< data address, or the instruction word for illegal_instruction
  std::string sentence;     ///< of a task_error
  bool is_of_task = false;  ///< of a task_error in a capsule: its caller may be to blame, not its code
};

}  // namespace rubato::chip
