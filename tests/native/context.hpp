// A stack of its own for a function, as the explorers of interleavings run threads: swapcontext() without its
// system call, where that is known.
// SPDX-License-Identifier: MIT
#pragma once

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <cstdint>
#include <vector>

namespace rubato::runtime::test {

#if defined(__x86_64__)
/// Saves what a called function must keep, and goes on where `to` did so.
[[gnu::naked, gnu::noinline]] inline void switch_stack(void** /*from: rdi*/, void* /*to: rsi*/) {
  asm("push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
      "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
      "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret");
}
/// One side of a switch.
class Context {
 public:
  /// The first switch to it begins `function`, which must not return, on `stack`.
  void start(std::vector<char>& stack, void (*function)()) {
    auto* top = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(stack.data()) + stack.size()) &
                                         ~std::uintptr_t{15});
    *--top = nullptr;  // where `function` would return to
    *--top = reinterpret_cast<void*>(function);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    sp_ = top;
  }
  static void swap(Context& from, Context& to) { switch_stack(&from.sp_, to.sp_); }

 private:
  void* sp_ = nullptr;
};
#else
class Context {
 public:
  void start(std::vector<char>& stack, void (*function)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack.data();
    context_.uc_stack.ss_size = stack.size();
    makecontext(&context_, function, 0);
  }
  static void swap(Context& from, Context& to) { swapcontext(&from.context_, &to.context_); }

 private:
  ucontext_t context_;
};
#endif

}  // namespace rubato::runtime::test
