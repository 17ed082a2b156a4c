// A stack of its own for a function, as the explorers of interleavings run threads: swapcontext() without its
// system call, where that is known.
//
// The thread sanitizer keeps a copy of each thread's call stack, and stores it with every allocation. It is
// told of each switch: otherwise the calls of all stacks end up in one copy, which never returns to its
// beginning. Then every allocation stores a stack not seen before (24 GB after minutes).
// SPDX-License-Identifier: MIT
#pragma once

#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#include <cstdint>
#include <vector>

namespace rubato::test {

/// Side of a switch of stacks, for the thread sanitizer. Making one takes the sanitizer about a millisecond.
class SeenStack {
 public:
  SeenStack() = default;
  SeenStack(const SeenStack&) = delete;
  SeenStack& operator=(const SeenStack&) = delete;
#if defined(__SANITIZE_THREAD__)
  ~SeenStack() { forget(); }
  /// For a function that has not begun: the sanitizer forgets what another one has left on the stack.
  void start() {
    forget();
    fiber_ = __tsan_create_fiber(0);
    is_own_ = true;
  }
  static void swap(SeenStack& from, SeenStack& to) {
    from.fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.fiber_, 0);
  }

 private:
  void forget() {
    if (is_own_) __tsan_destroy_fiber(fiber_);
    is_own_ = false;
  }
  void* fiber_ = nullptr;
  bool is_own_ = false;
#else
  void start() {}
  static void swap(SeenStack&, SeenStack&) {}
#endif
};

#if defined(__x86_64__)
/// Saves what a called function must keep, and goes on where `to` did so.
[[gnu::naked, gnu::noinline]] inline void switch_stack(void** /*from: rdi*/, void* /*to: rsi*/) {
  asm("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
      "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
      "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret");
}
/// Side of a switch of stacks.
class Context {
 public:
  /// The first switch to it begins `function`, which must not return, on `stack`.
  void start(std::vector<char>& stack, void (*function)()) {
    seen_.start();
    auto* top = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(stack.data()) + stack.size()) &
                                         ~std::uintptr_t{15});
    *--top = nullptr;  // where `function` would return to
    *--top = reinterpret_cast<void*>(function);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    sp_ = top;
  }
  static void swap(Context& from, Context& to) {
    SeenStack::swap(from.seen_, to.seen_);
    switch_stack(&from.sp_, to.sp_);
  }

 private:
  SeenStack seen_;
  void* sp_ = nullptr;
};
#else
class Context {
 public:
  void start(std::vector<char>& stack, void (*function)()) {
    seen_.start();
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack.data();
    context_.uc_stack.ss_size = stack.size();
    makecontext(&context_, function, 0);
  }
  static void swap(Context& from, Context& to) {
    SeenStack::swap(from.seen_, to.seen_);
    swapcontext(&from.context_, &to.context_);
  }

 private:
  SeenStack seen_;
  ucontext_t context_;
};
#endif

}  // namespace rubato::test
