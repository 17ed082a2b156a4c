// The part of the thread's own stack that a transaction may write plainly or in place (T26). Invariant:
// no other thread sees a frame below the outermost checkpoint before the transaction has committed. Frames
// above it may be shared, and are locked as other memory is.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tm/thread/thread.hpp"

namespace rubato::tm {

constexpr std::uintptr_t kUsualFrames = 1 << 20;

/// Is `p` between the caller's frame and `end`?
[[gnu::always_inline]] inline bool is_on_stack_below(const void* p, std::uintptr_t end) {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return reinterpret_cast<std::uintptr_t>(p) - here < end - here;
}

/// In a frame that is gone when the innermost checkpoint is gone back to: nothing of it needs to be kept.
[[gnu::always_inline]] inline bool is_dead_on_restart(const void* p, const Thread* thread) {
  return is_on_stack_below(p, thread->next_checkpoint[-1].stack);
}

/// In a frame that only this transaction can know: loads are plain.
[[gnu::always_inline]] inline bool is_own_frame(const void* p, const Thread* thread) {
  return is_on_stack_below(p, thread->checkpoints[0].stack);
}

/// Is `p` perhaps in such a frame, or in an exception of the transaction? A question for barriers, since it
/// needs no frame itself. The frames of most transactions take less than kUsualFrames; what is further down
/// is read as other memory, which costs a restart at worst.
[[gnu::always_inline]] inline bool may_be_own(const void* p, const Thread* thread) {
  return reinterpret_cast<std::uintptr_t>(p) - thread->perhaps_own.first < thread->perhaps_own.bytes;
}
/// At the begin of a transaction that needs may_be_own().
inline void note_own_frames(Thread& thread) {
  thread.perhaps_own = {thread.checkpoints[0].stack - kUsualFrames, kUsualFrames};
}

/// In any frame of the stack on which the transaction began, as far as note_stack() knows it.
[[gnu::always_inline]] inline bool is_on_own_stack(const void* p, const Thread* thread) {
  return is_on_stack_below(p, thread->stack_end);
}

/// Asks the system for the bounds of the thread's stack.
void ask_for_stack(Thread& thread);

/// At the begin of a transaction that needs is_on_own_stack(). On a stack that is not the thread's (of a
/// coroutine, of a signal handler) the end is unknown: a megabyte is taken for it. Memory that is taken for
/// stack by mistake is treated rightly, and costs only time.
inline void note_stack(Thread& thread) {
  constexpr std::uintptr_t kAssumed = 1 << 20;
  if (__builtin_expect(thread.stack_last == 0, false)) ask_for_stack(thread);
  const std::uintptr_t stack = thread.checkpoints[0].stack;
  const bool is_own = stack - thread.stack_first < thread.stack_last - thread.stack_first;
  thread.stack_end = is_own ? thread.stack_last : stack + kAssumed;
}

}  // namespace rubato::tm
