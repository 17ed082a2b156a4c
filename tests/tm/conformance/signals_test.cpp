// Signals that arrive anywhere in a transaction. Their frames may overwrite all of the stack below the red
// zone, so the library reads nothing there (T18). The processor's trap flag raises a signal after each
// instruction; the handler runs on a stack of its own and overwrites what the interrupted code may not use.
// SPDX-License-Identifier: MIT
#include <signal.h>
#include <ucontext.h>

#include <cstring>

#include "library.hpp"

#if defined(__x86_64__)
namespace {

volatile long steps;

constexpr std::size_t kRedZone = 128, kOverwritten = 2048;

void overwrite_what_is_free(int, siginfo_t*, void* context) {
  const auto stack = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP];
  auto* const end = reinterpret_cast<volatile char*>(stack) - kRedZone;
  for (volatile char* byte = end - kOverwritten; byte != end; ++byte) *byte = static_cast<char>(0xa5);
  steps = steps + 1;
}

/// From here on a SIGTRAP comes after each instruction, as long as the flag is set.
void begin_steps() {
  asm volatile("subq $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::
                   : "memory", "cc");
}
void end_steps() {
  asm volatile("subq $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\taddq $128, %%rsp" ::
                   : "memory", "cc");
}

class Signals : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_sigaction = overwrite_what_is_free;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    const stack_t own = {stack_, 0, sizeof stack_};
    ASSERT_EQ(sigaltstack(&own, &stack_before_), 0);
    ASSERT_EQ(sigaction(SIGTRAP, &action, &before_), 0);
    steps = 0;
    begin_steps();
    asm volatile("nop\n\tnop");
    end_steps();
    if (steps == 0) GTEST_SKIP() << "the trap flag raises no signal here";
    steps = 0;
  }
  void TearDown() override {
    sigaction(SIGTRAP, &before_, nullptr);
    sigaltstack(&stack_before_, nullptr);
  }

 private:
  struct sigaction before_;
  stack_t stack_before_;
  alignas(64) char stack_[65536];
};

long x, y, z;

__attribute__((noinline)) void cancel_nested() {
  __transaction_atomic {
    x = x + 1;
    __transaction_atomic {
      y = y + 1;
      if (is_true) __transaction_cancel;
    }
    z = z + 1;
  }
}

TEST_F(Signals, AtEachInstructionOfANestedCancelHarmNothing) {
  SKIP_ON_GCC("a cancel does not restore y after ++y, by any method but ml_wt and gl_wt");
  x = y = z = 0;
  cancel_nested();  // the thread is registered, and functions are bound
  begin_steps();
  cancel_nested();
  end_steps();
  EXPECT_GT(steps, 50);
  EXPECT_EQ(x, 2);
  EXPECT_EQ(y, 0);
  EXPECT_EQ(z, 2);
}

__attribute__((noinline)) void cancel_third_level() {
  __transaction_atomic {
    x = 1;
    __transaction_atomic {
      y = 1;
      __transaction_atomic {
        z = 1;
        if (is_true) __transaction_cancel;
      }
      if (is_true) __transaction_cancel;
    }
  }
}

TEST_F(Signals, AtEachInstructionOfCancelsAtTwoLevelsHarmNothing) {
  x = y = z = 0;
  begin_steps();
  cancel_third_level();
  end_steps();
  EXPECT_EQ(x, 1);
  EXPECT_EQ(y, 0);
  EXPECT_EQ(z, 0);
}

__attribute__((noinline)) void cancel_outermost() {
  __transaction_atomic {
    x = 10;
    y = x + 1;
    if (is_true) __transaction_cancel;
  }
}

TEST_F(Signals, AtEachInstructionOfACancelHarmNothing) {
  x = 1;
  y = 2;
  begin_steps();
  cancel_outermost();
  end_steps();
  EXPECT_EQ(x, 1);
  EXPECT_EQ(y, 2);
}

__attribute__((noinline)) void unsafe() { asm volatile("" : : : "memory"); }

__attribute__((noinline)) void switch_in_flight() {
  __transaction_relaxed {
    x = x + 1;
    if (is_true) unsafe();
    x = x + 1;
  }
}

TEST_F(Signals, AtEachInstructionOfASwitchToSerialHarmNothing) {
  x = 0;
  begin_steps();
  switch_in_flight();
  end_steps();
  EXPECT_EQ(x, 2);
}

}  // namespace
#endif
