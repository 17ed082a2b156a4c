// Flat and closed nesting, cancel of the inner and of the outer transaction (T21, T22).
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "library.hpp"

namespace {

int x, y;

TEST(Atomic, StoresWhatItWrote) {
  x = 1;
  __transaction_atomic { x = x + 41; }
  EXPECT_EQ(x, 42);
}

TEST(Cancel, RestoresWhatTheTransactionWrote) {
  x = 1;
  y = 2;
  __transaction_atomic {
    x = 10;
    y = x + 10;
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(x, 1);
  EXPECT_EQ(y, 2);
}

// GCC emits a load "for write", then a store "after a write". The serial methods of its library, which are
// also what its htm takes for transactions that may cancel, log neither.
TEST(Cancel, RestoresWhatWasReadInOrderToBeWritten) {
  const char* const method = std::getenv("ITM_DEFAULT_METHOD");
  const bool has_log =
      method != nullptr && (std::strcmp(method, "ml_wt") == 0 || std::strcmp(method, "gl_wt") == 0);
  if (!has_log) SKIP_ON_GCC("a cancel does not restore x after ++x, by any method but ml_wt and gl_wt");
  x = 1;
  __transaction_atomic {
    ++x;
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(x, 1);
}

TEST(Cancel, RestoresLocalVariables) {
  int local = 5;
  int* const escaped = &local;
  asm volatile("" : : "r"(escaped) : "memory");
  __transaction_atomic {
    local = 6;
    *escaped = *escaped + 1;
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(local, 5);
}

TEST(Cancel, OfTheInnerTransactionKeepsTheOuter) {
  x = y = 0;
  __transaction_atomic {
    x = 1;
    __transaction_atomic {
      y = 1;
      if (is_true) __transaction_cancel;
    }
    x = x + 1;
  }
  EXPECT_EQ(x, 2);
  EXPECT_EQ(y, 0);
}

// GCC emits a store "after a write" in the inner block; its library takes that for written by the same
// transaction.
TEST(Cancel, OfTheInnerTransactionRestoresWhatTheOuterWrote) {
  SKIP_ON_GCC("a nested cancel loses what the outer transaction wrote to the same place");
  x = 0;
  __transaction_atomic {
    x = 1;
    __transaction_atomic {
      x = 2;
      if (is_true) __transaction_cancel;
    }
  }
  EXPECT_EQ(x, 1);
}

TEST(Cancel, OfTheThirdLevelRestoresTheSecond) {
  x = 0;
  int seen = -1;
  __transaction_atomic {
    __transaction_atomic {
      y = 7;
      __transaction_atomic {
        y = 8;
        x = 8;
        if (is_true) __transaction_cancel;
      }
      seen = x;
    }
  }
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(x, 0);
  if (!is_gcc_library()) {
    EXPECT_EQ(y, 7);
  }
}

__attribute__((noinline, transaction_safe)) void put(int* place, int value) { place[40] = value; }

// Jump threading would make the last load plain (T16).
TEST(Cancel, ALoadBehindANestedTransactionSeesWhatIsThere) {
  SKIP_ON_GCC("a nested cancel loses what the outer transaction wrote to the same place");
  static int places[64];
  int wrong = 0;
  for (int i = 0; i < 100; ++i) {
    const bool is_cancelled = i % 2 != 0;
    int off = 0;
    __transaction_atomic {
      put(places, i + 1);
      __transaction_atomic {
        put(places, i + 2);
        if (is_cancelled) __transaction_cancel;
      }
      off = places[40] - (i + (is_cancelled ? 1 : 2));
    }
    wrong += off != 0;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Cancel, OfTheOuterTransactionUndoesCommittedInnerOnes) {
  x = y = 0;
  __transaction_atomic {
    x = 1;
    __transaction_atomic { y = 1; }
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(x, 0);
  EXPECT_EQ(y, 0);
}

__attribute__((noinline, transaction_may_cancel_outer)) void cancel_outer() {
  y = 3;
  __transaction_cancel [[outer]];
}

TEST(Cancel, OfTheOuterTransactionByACalledFunction) {
  x = y = 0;
  __transaction_atomic [[outer]] {
    x = 1;
    __transaction_atomic {
      x = 2;
      if (is_true) cancel_outer();
    }
    x = 3;
  }
  EXPECT_EQ(x, 0);
  EXPECT_EQ(y, 0);
}

__attribute__((noinline, transaction_safe)) int nest(int depth) {
  int result = 0;
  __transaction_atomic {
    x = x + 1;
    if (depth > 0) {
      result = nest(depth - 1);
    } else {
      result = x;
    }
    if (depth == 50 && is_true) __transaction_cancel;
  }
  return result;
}

/// More than malloc() ever keeps: freed memory of this size is unmapped.
struct Block {
  long words[1 << 23];
};
__attribute__((noinline, transaction_safe)) Block* make_block() {
  return static_cast<Block*>(std::calloc(1, sizeof(Block)));
}
std::atomic<int> stage;
/// By a method that runs one transaction at a time the other does not come in.
__attribute__((transaction_pure, noinline)) void let_another_commit() {
  if (stage == 0) stage = 1;
  for (int i = 0; i < 200 && stage != 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

__attribute__((noinline)) int read_around_a_cancel() {
  int seen = 0;
  __transaction_atomic {
    seen = x;
    __transaction_atomic {
      Block* const block = make_block();
      if (block->words[77] == 0) __transaction_cancel;
      std::free(block);
    }
    let_another_commit();
    seen = seen + x;
  }
  return seen;
}

// Reads by value are compared again when the other has committed.
TEST(Cancel, OfTheInnerTransactionFreesNothingThatItsReadsNeed) {
  x = y = 0;
  stage = 0;
  std::thread other([] {
    while (stage != 1) std::this_thread::yield();
    __transaction_atomic { y = y + 1; }
    stage = 2;
  });
  EXPECT_EQ(read_around_a_cancel(), 0);
  other.join();
  EXPECT_EQ(y, 1);
}

TEST(Nesting, GoesAHundredDeep) {
  SKIP_ON_GCC("a nested cancel loses what the outer transaction wrote to the same place");
  x = 0;
  nest(100);
  EXPECT_EQ(x, 50);  // levels 100 to 51; level 50 takes the rest with it
}

// A function without a transactional version calls a transaction: it is nested in an irrevocable one.
__attribute__((noinline)) void unsafe_with_transaction() {
  asm volatile("");
  __transaction_atomic {
    y = y + 1;
    if (is_true) __transaction_cancel;
  }
  __transaction_atomic { x = x + 10; }
}

TEST(Nesting, OfACancellingTransactionInsideAnIrrevocableOne) {
  SKIP_ON_GCC("a cancel anywhere inside an irrevocable transaction aborts the program");
  x = 1;
  y = 1;
  __transaction_relaxed {
    x = x + 1;
    unsafe_with_transaction();
  }
  EXPECT_EQ(x, 12);
  EXPECT_EQ(y, 1);
}

TEST(Relaxed, RunsUnsafeCodeOnce) {
  static int calls = 0;
  x = 0;
  __transaction_relaxed {
    x = 1;
    if (is_true) asm volatile("" : "+m"(calls));
    ++calls;
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(x, 1);
}

TEST(Synchronized, IsATransaction) {
  x = 0;
  __transaction_relaxed { x = x + 1; }
  EXPECT_EQ(x, 1);
}

}  // namespace
