// Which part of the thread's own stack a transaction may write plainly (rule T26).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tm/thread/thread.hpp"

namespace rubato::tm {

/// In a frame that is gone when the innermost checkpoint is gone back to: nothing of it needs to be kept.
[[gnu::always_inline]] inline bool is_dead_on_restart(const void* p, const Thread* thread) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t checkpoint = thread->next_checkpoint[-1].stack;
  return reinterpret_cast<std::uintptr_t>(p) - here < checkpoint - here;
}

}  // namespace rubato::tm
